"""What to say of the random draws of a loader, and what to change; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_dataloader.advice.coverage import coverage
from pytest_dataloader.quantities import counted
from pytest_dataloader.verdict import Advice

if TYPE_CHECKING:
    from pytest_dataloader.probe.samples.evidence import Randomness


def describe_draw_faults(evidence: Randomness) -> str:
    """Each generator that gives the same numbers twice, and to whom."""
    return "; ".join(f"{fault.source} {_SAYS[fault.kind].format(' and '.join(fault.shared_by))}"
                     f"{f' ({fault.detail})' if fault.detail else ''}" for fault in evidence.faults)  # fmt: skip


def describe_draws(evidence: Randomness) -> str:
    """What was seen of draws that all differ."""
    seen = f"{counted(evidence.samples_read, 'sample')} in {counted(evidence.epochs, 'epoch')}"
    where = f"of {counted(evidence.workers, 'worker')}" if evidence.workers else "without workers"
    part = coverage(evidence.partly)
    if evidence.drawn:
        differing = [name for name in evidence.drawn if name not in evidence.alike]
        told = [f"{' and '.join(differing)}: all draws differ"] if differing else []
        told += [f"{name}: draws alike {when}" for name, when in evidence.alike.items()]
        if evidence.seeds_process:
            told.append(
                f"reading seeds {' and '.join(evidence.seeds_process)} of this process, from which training draws"
            )
        return f"{'; '.join(told)} ({seen} {where}){part}"
    if evidence.changed_by_reading:
        return f"samples change because reading changes {evidence.changed_by_reading}: see order ({seen} {where}){part}"
    if evidence.varies:
        changing = "samples change when they are read again, by no generator that was found, and all differ"
        return f"{changing} ({seen} {where}){part}"
    return f"no persistent random generator is used ({seen} {where}){part}"


def advice(evidence: Randomness) -> tuple[Advice, ...]:
    """What to change, for each fault."""
    return tuple(Advice(*_REMEDIES[fault.kind]) for fault in evidence.faults)


def process_advice(evidence: Randomness) -> tuple[Advice, ...]:
    """What to change where reading seeds the generators of the process that trains."""
    own = (
        "draw from a generator of the dataset's own (torch.Generator, random.Random): dropout draws from the global one"
    )
    return (Advice("DL407", own),) if evidence.seeds_process else ()


_SAYS = {
    "frozen_generator": "draws identical numbers in all {}",
    "constant_seed": "seeds all {} alike",
    "epoch_repeating_seed": "seeds all {} alike",
    "repeating_loader_seed": "repeats in all {}",
    "reseeding_per_sample": "draws identical numbers in all {}",
    "seeded_alike_by_iteration": "is seeded alike in all {}, when the iteration begins",
    "shared_draws": "draws identical numbers in all {}: whether in samples or in their order was not seen",
    "same_content": "makes samples that change when they are read again, and change alike in all {}",
    "same_seed_on_ranks": "seeds all {} alike",
    "same_draws_on_ranks": "gave the same numbers to all {}",
}
_SEED = "torch.initial_seed() % 2**32, which torch makes differ by worker and epoch"
_DIVIDING = "one seed for all is right for an order that workers divide among them"
_RANK = "add the rank to the seed, or to the loader's generator"
_REMEDIES = {
    "frozen_generator": ("DL402", f"make the generator in the worker, from {_SEED}"),
    "constant_seed": ("DL403", f"seed from {_SEED}, or leave worker_init_fn out: torch seeds random, numpy and torch"),
    "epoch_repeating_seed": ("DL404", f"seed from {_SEED}, or leave worker_init_fn out"),
    "repeating_loader_seed": ("", "do not seed torch, or the loader's generator, anew in every epoch"),
    "reseeding_per_sample": ("DL407", "seed once in the worker, or from the sample's index"),
    "seeded_alike_by_iteration": ("", f"seed it from {_SEED}; {_DIVIDING}"),
    "shared_draws": ("", f"seed it from {_SEED}; {_DIVIDING}"),
    "same_content": (
        "DL402",
        f"draw from a generator that is seeded in the worker from {_SEED}",
    ),
    "same_seed_on_ranks": ("", _RANK),
    "same_draws_on_ranks": ("", _RANK),
}
