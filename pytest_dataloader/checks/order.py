"""Order: is every sample seen once per epoch, reshuffled by epoch, and the same with 0 and N workers?"""

from __future__ import annotations

import math
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_dataloader.advice import order as sentences
from pytest_dataloader.errors import EmptyEpoch
from pytest_dataloader.probe.host.process_state import changes_since, process_state
from pytest_dataloader.probe.internals import torch_private
from pytest_dataloader.probe.loader import sampling
from pytest_dataloader.probe.loader.positions import length_of
from pytest_dataloader.probe.samples.evidence import Order
from pytest_dataloader.probe.samples.fields import fields_of, schema_faults
from pytest_dataloader.probe.samples.provenance import TracedEpoch, traced
from pytest_dataloader.probe.samples.reference import Reference, random_among, read_alone
from pytest_dataloader.probe.samples.sequence import (
    UNSURE_ORDERS,
    LoaderFacts,
    OrderFault,
    by_worker,
    dropped_of_stream,
    flat,
    indexed_faults,
    indices_unlike_alone,
    is_endless,
    is_whole,
    iterable_faults,
    loader_facts,
    passes_in,
    recurring_share,
)
from pytest_dataloader.probe.samples.side_effects import find_side_effect
from pytest_dataloader.probe.samples.worker_counts import counts_by_workers
from pytest_dataloader.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_dataloader.checks import Setting
    from pytest_dataloader.verdict import Outcome

NEEDS_BENCH = False

_EPOCHS = 2
_SECONDS = 1.0
"""Budget of an epoch, of the sampler alone, and of reading in one process; ``--dataloader-bench`` may give more."""
_STREAM_SECONDS = 0.5
"""For a stream that has a len(), quick or not: what comes against it is known at the end of an epoch alone."""
_MOST = 100_000
_ALONE_SECONDS = 60.0
"""For one process to read what workers have read in a whole epoch, however long that took."""


def measure(loader: Any, *, setting: Setting) -> Order:
    """Trace two epochs of a copy, its sampler's whole epoch, and the dataset read by one process.

    The user's errors come out as they are; raises NotMeasured for a loader that hangs, gives no batch or
    can be iterated only once.
    """
    started = time.monotonic()
    seconds = math.inf if setting.whole_epoch else setting.budget(_SECONDS, share=1 / 3)
    most = sys.maxsize if setting.whole_epoch else _MOST
    iterable = torch_private.reads_by_iteration(loader)
    if iterable and length_of(loader.dataset):
        seconds = max(seconds, _STREAM_SECONDS)
    before = process_state()
    with traced(loader, fields=True, shallow=setting.quick) as run, sampling.epochs_told(loader) as tell:
        for number in range(_EPOCHS):
            setting.progress("tracing an epoch", number / _EPOCHS)
            tell(number)
            run.epoch(seconds=seconds, most=most)
        first, second = run.epochs
        given, given_all = flat(first.given.indices), first.given.exhausted
        if not iterable and not given_all:
            again, to_its_end = run.given_in_full(seconds)
            if len(again) >= len(given):  # else it can be asked only once
                given, given_all = again, to_its_end
        setting.progress("reading in one process", 0.8)
        indices = None if iterable else list(dict.fromkeys(flat(first.given.indices)))
        singly = iterable or torch_private.reads_batches(loader) or all(len(each) == 1 for each in first.given.indices)
        compares = loader.num_workers and singly
        effect = find_side_effect(loader, indices, seconds=min(seconds, _SECONDS)) if indices and singly else None
        alone = read_alone(loader, indices, most=most, seconds=min(seconds, _ALONE_SECONDS)) if compares else None
        if alone is not None and indices and (unlike := indices_unlike_alone(run.epochs, alone)):
            random = random_among(loader, unlike, seconds=min(seconds, _ALONE_SECONDS))
            alone = replace(alone, random=random)
    about = loader_facts(loader, given, given_all, run.borrowed.keeps_iterator, setting.ranks)
    if iterable:
        faults = tuple(iterable_faults((first, second), about, alone))
    else:
        faults = tuple(indexed_faults((first, second), about, alone, effect))
    faults += tuple(schema_faults(first.entries, about.collate, about.dataset))
    if changes := changes_since(before):
        detail = f"changes for the loop that iterates it: {', '.join(changes)}"
        faults = (*faults, OrderFault("process_changed", about.dataset, detail, first.batches))
    if not (first.batches or faults):
        raise EmptyEpoch
    found = _evidence(loader, about, (first, second), alone, faults, time.monotonic() - started)
    if faults or not found.compared or not iterable or torch_private.iterates_batches(loader):
        return found
    setting.progress("counting with fewer workers", 0.9)
    fewer = counts_by_workers(loader, range(1, loader.num_workers), seconds=min(seconds, _SECONDS))
    return replace(found, fewer_workers=fewer, seconds=round(time.monotonic() - started, 3))


def _evidence(
    loader: Any, about: LoaderFacts, epochs: tuple[TracedEpoch, ...], alone: Reference | None,
    faults: tuple[OrderFault, ...], seconds: float,
) -> Order:  # fmt: skip
    iterable = torch_private.reads_by_iteration(loader)
    whole, read = is_whole(epochs[0]), _samples_in(epochs[0], about)
    cut = not whole if iterable else epochs[0].cut
    part = [f"the first {read:,} samples of an epoch were read"] if cut else []
    if iterable and cut and about.size and read > about.size + about.slack:
        part.append(f"its len() says {about.size:,}: an epoch ends there only where the training loop counts")
    if not iterable and not about.given_all:
        part.append(f"the first {len(about.given):,} indices of the sampler were seen")
    seen = len(set(about.given))
    orders = [flat(epoch.given.indices) for epoch in epochs]
    shared = min(map(len, orders))
    told_apart = about.shuffles or (orders[0] != orders[1] and not cut)
    held = not iterable or (whole and alone is not None and alone.complete)
    return Order(
        faults=faults,
        iterable=iterable,
        sampler=about.sampler,
        size=about.size,
        samples=tuple(_samples_in(epoch, about) for epoch in epochs),
        repeated=0 if iterable or not about.given_all else len(about.given) - seen,
        left_out=about.size - seen if about.given_all and not iterable and about.size else 0,
        dropped_last=dropped_of_stream(epochs[0], about) if iterable else sampling.dropped_last(loader),
        reshuffled=orders[0][:shared] != orders[1][:shared] if told_apart and not iterable else None,
        compared=len(alone.first) if alone is not None and alone.steady and held else 0,
        samples_per_worker=tuple(len(made) for _, made in sorted(by_worker(epochs[0]).items())),
        workers=about.workers,
        persistent_workers=about.persistent,
        partly=tuple(part),
        seconds=round(seconds, 3),
        unseen_batches=0 if iterable or cut else max(0, about.batches - epochs[0].batches),
        passes=1 if cut else passes_in(epochs[0], about),
        batches=epochs[0].batches,
        batches_told=about.batches,
        recurring=recurring_share(epochs, about.batch_size) if iterable else 0.0,
        fields=fields_of(epochs[0].entries),
        last_batch=0 if iterable or not about.given_all else sampling.last_batch(loader, len(about.given)),
        batch_size=about.batch_size,
        shuffles=about.shuffles,
        endless=is_endless(epochs[0], about) and not iterable,
        never_read=0 if iterable or cut or sampling.is_of_torch(loader) else _never_read(about, orders),
    )


def _never_read(about: LoaderFacts, orders: Sequence[Sequence[Any]]) -> int:
    """Samples at the end that both epochs leave out, where these are no whole batch and the others are shuffled."""
    first, second = orders
    left = about.size - len(first)
    alike = about.given_all and first != second and set(first) == set(second) == set(range(len(first)))
    return left if alike and 0 < left < about.batch_size else 0


def _samples_in(epoch: TracedEpoch, about: LoaderFacts) -> int:
    """Samples that were made for an epoch; workers of a kept iterator make those of the next one meanwhile."""
    return len(flat(epoch.given.indices)) if about.keeps_iterator else sum(len(each.digests) for each in epoch.samples)


def judge(evidence: Order) -> Verdict:
    """Fail for samples that are lost, doubled, wrong or never reshuffled; what a sampler may mean is told."""
    if evidence.faults:
        sure = any(fault.kind not in UNSURE_ORDERS for fault in evidence.faults)
        outcome: Outcome = "failed" if sure else "inconclusive"
        return Verdict(outcome, sentences.describe_order_faults(evidence), sentences.advice(evidence))
    if not evidence.samples[0]:
        return Verdict("not_measured", "no sample came: the loader reads no dataset of its own", vacuous=True)
    return Verdict("passed", sentences.describe_order(evidence), sentences.field_advice(evidence))
