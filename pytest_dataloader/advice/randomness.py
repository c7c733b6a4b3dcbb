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
    return "\n".join(
        f"{fault.source} {_SAYS[fault.kind].format(' and '.join(fault.shared_by))}"
        f"{f'{chr(10)}{fault.detail}' if fault.detail else ''}"
        for fault in evidence.faults
    )


def describe_draws(evidence: Randomness) -> str:
    """What was seen of draws that all differ."""
    seen = f"{counted(evidence.samples_read, 'sample')} in {counted(evidence.epochs, 'epoch')}"
    where = f"of {counted(evidence.workers, 'worker')}" if evidence.workers else "without workers"
    part = coverage(evidence.partly)
    if evidence.drawn:
        differing = [name for name in evidence.drawn if name not in evidence.alike]
        draws = [f"{' and '.join(differing)}: all draws differ"] if differing else []
        draws += [f"{name}: same draws {when}" for name, when in evidence.alike.items()]
        headline, *facts = draws
        if evidence.seeds_process:
            facts.append(f"reading re-seeds {' and '.join(evidence.seeds_process)}, from which training draws, too")
        return "\n".join([f"{headline} ({seen} {where})", *facts]) + part
    if evidence.changed_by_reading:
        why = f"reading changes {evidence.changed_by_reading}: see the order check"
        return f"samples differ when read again ({seen} {where})\n{why}{part}"
    if evidence.varies:
        return f"samples differ when read again ({seen} {where})\nno generator was found that they come from{part}"
    return f"no persistent random generator is used ({seen} {where}){part}"


def advice(evidence: Randomness) -> tuple[Advice, ...]:
    """What to change, for each fault."""
    return tuple(Advice(*_REMEDIES[fault.kind]) for fault in evidence.faults)


def process_advice(evidence: Randomness) -> tuple[Advice, ...]:
    """What to change where reading seeds the generators of the process that trains."""
    own = "draw from a generator of the dataset, random.Random(seed): dropout draws from the global one"
    return (Advice("DL407", own),) if evidence.seeds_process else ()


_SAYS = {
    "frozen_generator": "draws identical numbers in all {}",
    "constant_seed": "gives all {} the same seed",
    "epoch_repeating_seed": "gives all {} the same seed",
    "repeating_loader_seed": "draws the same random numbers in all {}",
    "reseeding_per_sample": "draws identical numbers in all {}",
    "seeded_alike_by_iteration": "gets the same seed in all {}, in __iter__",
    "shared_draws": "draws identical numbers in all {}\nwhether for samples or for their order is not known",
    "same_content": "makes random samples, the same in all {}",
    "same_seed_on_ranks": "gives all {} the same seed",
    "same_draws_on_ranks": "draws identical numbers on {}",
}
_SEED = "torch.initial_seed() % 2**32, which differs by worker and epoch"
_BY_PURPOSE = (
    f"if it augments, seed it in __iter__ with {_SEED}. If it shuffles what workers then divide, seed it with the "
    "epoch: all workers need the same order"
)
_RANK = "add the rank to the seed, or to the loader's generator"
_REMEDIES = {
    "frozen_generator": ("DL402", f"make the generator in worker_init_fn or __iter__, seeded with {_SEED}"),
    "constant_seed": ("DL403", f"remove worker_init_fn (torch seeds random, numpy and torch), or seed with {_SEED}"),
    "epoch_repeating_seed": ("DL404", f"seed with {_SEED}, or remove worker_init_fn"),
    "repeating_loader_seed": (
        "",
        "seed torch and the loader's generator once, before the first epoch, not in each",
    ),
    "reseeding_per_sample": (
        "DL407",
        "remove the seed: torch seeds each worker. Or seed with (torch.initial_seed() + index) % 2**32",
    ),
    "seeded_alike_by_iteration": ("", _BY_PURPOSE),
    "shared_draws": ("", _BY_PURPOSE),
    "same_content": (
        "DL402",
        f"draw from a generator that is seeded in the worker with {_SEED}",
    ),
    "same_seed_on_ranks": ("", _RANK),
    "same_draws_on_ranks": ("", _RANK),
}
