"""Randomness: do two workers, two epochs or two ranks draw the same random numbers?"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.internals import torch_private
from pytest_dataloader.probe.loader import repeated_reads
from pytest_dataloader.probe.loader.sampling import shuffles
from pytest_dataloader.probe.loader.settings import start_method_of
from pytest_dataloader.probe.samples.draws import Draws, Fault, same_on_ranks
from pytest_dataloader.probe.samples.generators import idiom_stream
from pytest_dataloader.probe.samples.provenance import traced
from pytest_dataloader.probe.samples.rank_simulation import Simulation, rank_arguments
from pytest_dataloader.verdict import Advice, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_dataloader.checks import Setting

NEEDS_BENCH = False

_WORKERS = 2
"""All workers begin in the same way: two show what any number has in common."""
_EPOCHS = 2
_SECONDS = 4.0
"""Budget of an epoch; a dataset of 0.1 s a sample takes 1.6 s with two workers."""


@dataclass(frozen=True, slots=True)
class Randomness:
    """Which random draws two workers, epochs or ranks have in common.

    ``drawn`` are the generators that made samples draw from; ``varies`` says whether a sample read again in the same
    worker was another one (None where samples cannot be asked for again).
    """

    faults: tuple[Fault, ...]
    drawn: tuple[str, ...]
    varies: bool | None
    workers: int
    epochs: int
    samples_read: int
    ranks: int
    start_method: str
    persistent_workers: bool
    partly: tuple[str, ...]
    seconds: float


def measure(loader: Any, *, setting: Setting) -> Randomness:
    """Have two workers read the same few samples twice in two epochs, the second time with every generator displaced.

    The user's errors come out as they are; raises NotMeasured for a loader that hangs or can be iterated only once.
    """
    started = time.monotonic()
    iterable = torch_private.reads_by_iteration(loader)
    workers = min(_WORKERS, loader.num_workers)
    natural = repeated_reads.natural(loader)

    def plan(copy: Any) -> list[Any]:
        return repeated_reads.plan(copy, max(1, workers))

    with traced(loader, generators=True, displaced_from=natural, plan=plan, workers=workers) as run:
        for number in range(_EPOCHS):
            setting.progress("reading the same samples again", number / _EPOCHS)
            run.epoch(seconds=_SECONDS, most=10**9)
        entries = [entry for epoch in run.epochs for entry in epoch.entries]
        cut = any(epoch.given.cut for epoch in run.epochs)
    draws = Draws(entries, natural, not iterable, {worker: idiom_stream(worker) for worker in range(workers)})
    setting.tell(json.dumps(draws.begun_from()))
    ranks, of_ranks = _ranks(loader, setting) if draws.drawn else (1, ())
    return Randomness(
        faults=draws.faults(shuffles=shuffles(loader), functions=repeated_reads.functions(loader)) + of_ranks,
        drawn=draws.drawn,
        varies=None if iterable else draws.varies,
        workers=workers,
        epochs=_EPOCHS,
        samples_read=sum(len(entry.digests) for entry in entries if entry.kind == "sample"),
        ranks=ranks,
        start_method=start_method_of(loader),
        persistent_workers=bool(loader.persistent_workers),
        partly=("slow samples: not all that were planned were read",) if cut else (),
        seconds=round(time.monotonic() - started, 3),
    )


def beside(evidence: Randomness, told: Mapping[int, str], world_size: int) -> Randomness:
    """The evidence with the draws that the ranks of a job really have in common."""
    found = same_on_ranks({rank: json.loads(text) for rank, text in told.items()})
    known = {fault.source for fault in evidence.faults}
    more = tuple(fault for fault in found if fault.source not in known)
    return replace(evidence, faults=evidence.faults + more, ranks=world_size)


def _ranks(loader: Any, setting: Setting) -> tuple[int, tuple[Fault, ...]]:
    """How many ranks were compared, and whether what makes their loaders seeds their workers alike."""
    if setting.ranks > 1 or setting.build is None or rank_arguments(setting.build, 0, 1) is None:
        return 1, ()
    seeds = Simulation(loader, setting.build, "arguments").base_seeds(2)
    alike = seeds[0] is not None and seeds[0] == seeds[1]
    name = getattr(setting.build, "__qualname__", type(setting.build).__name__)
    detail = "the seed of the workers does not depend on the rank"
    return 2, (Fault("same_seed_on_ranks", name, ("ranks",), detail),) if alike else ()


def judge(evidence: Randomness) -> Verdict:
    """Fail for every pair of places that draw the same numbers; a dataset that draws none passes."""
    told = "; ".join(f"{fault.source} {_SAYS[fault.kind].format(' and '.join(fault.shared_by))}"
                     f"{f' ({fault.detail})' if fault.detail else ''}" for fault in evidence.faults)  # fmt: skip
    if any(fault.kind != "same_content" for fault in evidence.faults):
        return Verdict("failed", told, tuple(Advice(*_REMEDIES[fault.kind]) for fault in evidence.faults))
    if evidence.faults:
        return Verdict("inconclusive", told, (Advice(*_REMEDIES["same_content"]),))
    if not evidence.samples_read:
        return Verdict("not_measured", "the loader's own iteration reads no sample of its dataset")
    seen = f"{evidence.samples_read} samples in {evidence.epochs} epochs"
    where = f"of {evidence.workers} workers" if evidence.workers else "without workers"
    part = "".join(f"; {each}" for each in evidence.partly)
    if evidence.drawn:
        return Verdict("passed", f"{' and '.join(evidence.drawn)}: all draws differ ({seen} {where}){part}")
    return Verdict("passed", f"no random generator is drawn from ({seen} {where}){part}")


_SAYS = {
    "frozen_generator": "gives the same numbers to all {}",
    "constant_seed": "seeds all {} alike",
    "epoch_repeating_seed": "seeds all {} alike",
    "repeating_loader_seed": "repeats in all {}",
    "reseeding_per_sample": "gives the same numbers to all {}",
    "same_content": "makes the same changing samples in all {}, from a generator that was not found",
    "same_seed_on_ranks": "seeds all {} alike",
    "same_draws_on_ranks": "gave the same numbers to all {}",
}
_SEED = "torch.initial_seed() % 2**32, which torch makes differ by worker and epoch"
_RANK = "add the rank to the seed, or to the loader's generator"
_REMEDIES = {
    "frozen_generator": ("DL402", f"make the generator in the worker, from {_SEED}"),
    "constant_seed": ("DL403", f"seed from {_SEED}, or leave worker_init_fn out: torch seeds random, numpy and torch"),
    "epoch_repeating_seed": ("DL404", f"seed from {_SEED}, or leave worker_init_fn out"),
    "repeating_loader_seed": ("", "do not seed torch, or the loader's generator, anew in every epoch"),
    "reseeding_per_sample": ("DL407", "seed once in the worker, or from the sample's index"),
    "same_content": ("DL402", f"draw from a generator that is seeded in the worker from {_SEED}"),
    "same_seed_on_ranks": ("", _RANK),
    "same_draws_on_ranks": ("", _RANK),
}
