"""Order: is every sample seen once per epoch, reshuffled by epoch, and the same with 0 and N workers?"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.internals import torch_private
from pytest_dataloader.probe.loader import sampling
from pytest_dataloader.probe.samples.provenance import Epoch, traced
from pytest_dataloader.probe.samples.reference import Reference, read_alone
from pytest_dataloader.probe.samples.sequence import (
    UNSURE,
    OrderFault,
    Subject,
    by_worker,
    flat,
    indexed_faults,
    iterable_faults,
    subject_of,
)
from pytest_dataloader.verdict import Advice, Verdict

if TYPE_CHECKING:
    from pytest_dataloader.checks import Setting

NEEDS_BENCH = False

_EPOCHS = 2
_SECONDS = 1.0
"""Budget of an epoch, of the sampler alone, and of reading in one process; ``--dataloader-bench`` may give more."""
_MOST = 100_000


@dataclass(frozen=True, slots=True)
class Order:
    """What came in two epochs. ``repeated`` and ``left_out`` are of the sampler's whole epoch, in samples.

    ``reshuffled`` is None where nothing shuffles, or too little was seen; ``compared`` counts the samples that were
    held against those of one process.
    """

    faults: tuple[OrderFault, ...]
    iterable: bool
    sampler: str
    size: int
    samples: tuple[int, ...]
    repeated: int
    left_out: int
    dropped_last: int
    reshuffled: bool | None
    compared: int
    samples_per_worker: tuple[int, ...]
    workers: int
    persistent_workers: bool
    partly: tuple[str, ...]
    seconds: float


def measure(loader: Any, *, setting: Setting) -> Order:
    """Trace two epochs of a copy, its sampler's whole epoch, and the dataset read by one process.

    The user's errors come out as they are; raises NotMeasured for a loader that hangs or can be iterated only once.
    """
    started = time.monotonic()
    seconds = max(_SECONDS, setting.seconds / 3) if setting.bench else _SECONDS
    iterable = torch_private.reads_by_iteration(loader)
    with traced(loader) as run, sampling.epochs_told(loader) as tell:
        for number in range(_EPOCHS):
            setting.progress("tracing an epoch", number / _EPOCHS)
            tell(number)
            run.epoch(seconds=seconds, most=_MOST)
        first, second = run.epochs
        given, given_all = flat(first.given.indices), first.given.exhausted
        if not iterable and not given_all:
            given, given_all = run.given_in_full(seconds)
        setting.progress("reading in one process", 0.8)
        indices = None if iterable else list(dict.fromkeys(flat(first.given.indices)))
        alone = read_alone(loader, indices, most=_MOST, seconds=seconds) if loader.num_workers else None
    about = subject_of(loader, given, given_all, run.borrowed.keeps_iterator)
    faults = tuple((iterable_faults if iterable else indexed_faults)((first, second), about, alone))
    return _evidence(loader, about, (first, second), alone, faults, time.monotonic() - started)


def _evidence(
    loader: Any, about: Subject, epochs: tuple[Epoch, ...], alone: Reference | None, faults: tuple[OrderFault, ...],
    seconds: float,
) -> Order:  # fmt: skip
    iterable = torch_private.reads_by_iteration(loader)
    cut = epochs[0].given.cut
    part = [f"the first {len(flat(epochs[0].given.indices)):,} samples of an epoch were read"] if cut else []
    if not iterable and not about.given_all:
        part.append(f"the first {len(about.given):,} indices of the sampler were seen")
    seen = len(set(about.given))
    orders = [flat(epoch.given.indices) for epoch in epochs]
    return Order(
        faults=faults,
        iterable=iterable,
        sampler=about.sampler,
        size=about.size,
        samples=tuple(sum(len(entry.digests) for entry in epoch.samples) for epoch in epochs),
        repeated=0 if iterable else len(about.given) - seen,
        left_out=about.size - seen if about.given_all and not iterable and about.size else 0,
        dropped_last=sampling.dropped_last(loader),
        reshuffled=orders[0] != orders[1] if about.shuffles and not iterable else None,
        compared=len(alone.first) if alone is not None and alone.steady else 0,
        samples_per_worker=tuple(len(made) for _, made in sorted(by_worker(epochs[0]).items())),
        workers=about.workers,
        persistent_workers=about.persistent,
        partly=tuple(part),
        seconds=round(seconds, 3),
    )


def judge(evidence: Order) -> Verdict:
    """Fail for samples that are lost, doubled, wrong or never reshuffled; what a sampler may mean is told."""
    part = "".join(f"; {each}" for each in evidence.partly)
    if evidence.faults:
        sure = any(fault.kind not in UNSURE for fault in evidence.faults)
        told = "; ".join(f"{fault.source}: {fault.detail}" for fault in evidence.faults)
        advice = tuple(Advice(*_REMEDIES[fault.kind]) for fault in evidence.faults)
        return Verdict("failed" if sure else "inconclusive", f"{told}{part}", advice)
    if not evidence.samples[0]:
        return Verdict("not_measured", "no sample came: the epoch is empty, or the loader reads no dataset of its own")
    told = f"{evidence.samples[0]:,} samples, none lost or doubled by the loader"
    if evidence.repeated or evidence.left_out > evidence.dropped_last:
        told += f"; {evidence.sampler} repeats {evidence.repeated:,} and leaves out {evidence.left_out:,} of its own"
    if evidence.dropped_last:
        told += f"; drop_last leaves out {evidence.dropped_last:,} of {evidence.size:,} in every epoch"
    told += {True: "; reshuffled", False: "; too few to see them reshuffled", None: ""}[evidence.reshuffled]
    if evidence.compared:
        told += f"; {evidence.compared:,} are those that one process reads"
    return Verdict("passed", told + part)


_REMEDIES = {
    "truncated": ("DL309", "give next() a default, or raise another error: StopIteration ends the epoch silently"),
    "lost": ("", "make one sample for each index that is asked for"),
    "duplicated": ("", "let each worker, and each index, give its own samples once"),
    "unsharded": ("DL405", "split the dataset by torch.utils.data.get_worker_info()"),
    "starved": ("", "use no more workers than shards, or split finer"),
    "not_reshuffled": ("", "do not seed torch, or the loader's generator, anew in every epoch"),
    "stale": ("DL308", "leave persistent_workers out, or share the epoch with the workers (a shared tensor)"),
    "differs_with_workers": ("DL303", "open files in the worker, on first use: forked workers share their position"),
    "uneven_sampler": ("", "if the sampler means it, leave order out of this loader's checks"),
    "unlike": ("", "if content may depend on the worker, nothing is wrong; else compare num_workers=0 by hand"),
}
