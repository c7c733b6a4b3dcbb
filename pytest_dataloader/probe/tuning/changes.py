"""Changes of a loader that may make it faster, tried: the loader as it is and with the change, in turn."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_dataloader.errors import NotMeasured
from pytest_dataloader.probe.host import capacity, child_process, clocks
from pytest_dataloader.probe.internals import torch_private
from pytest_dataloader.probe.loader.batch_storages import CompactCollate, Uint8Collate, tensors
from pytest_dataloader.probe.loader.settings import settings_of
from pytest_dataloader.probe.timing.bottleneck import MUCH_BYTES, cost_more, is_by_sampler, suits_uint8
from pytest_dataloader.probe.timing.evidence import TriedChange
from pytest_dataloader.probe.timing.stragglers import STRAGGLES
from pytest_dataloader.probe.tuning.batch_indexing import indexed_by_batch
from pytest_dataloader.probe.tuning.batch_sizes import hindrance, resized
from pytest_dataloader.probe.tuning.trial import LEAST_SECONDS, ROOM, Trial, measure_trial

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_dataloader.probe.loader.settings import LoaderSettings
    from pytest_dataloader.probe.timing.evidence import Stages

FASTER = 1.1
"""Times as many samples, its slowest round against the fastest without it, from which a change is worth advising."""
COMBINED = "one tensor for each dtype"
_ROUNDS = 3
_WORTH_A_TRIAL_MS = 1.0
"""Loaders without workers whose batches take less to make got 0.1 to 1.0 times the rate with two workers
(benchmarks/workers_gain.py)."""
_FEW_WORKERS = 2
_MOST_WAITING = 8
"""Workers that wait need no CPU: so many are tried on any machine."""
_LARGER = 4
_LARGE_BYTES = 2_000_000
"""Batches of so much are not to become larger. Four times as large, those of one tensor of up to 131 kB gave 3.0 to 5.6
times as many samples a second, of 0.5 MB 1.6 to 3.6, of 1 MB 1.3 to 1.7, of 4 MB 1.1 to 1.5, of 8 MB 0.8 to 1.0 times
(benchmarks/batch_bytes.py, two runs)."""
_CHILD_SECONDS = 10.0
"""A trial in a child may take so much longer than it measures."""
_LONG_START_SECONDS = 1.0
"""No change is tried where the first batch takes longer: each trial starts anew."""


class _Combined:
    """A collate function whose batches have one tensor for each type of number: what crosses is as large."""

    def __init__(self, collate: Callable[[Any], Any]) -> None:
        self.collate = collate

    def __call__(self, samples: Any) -> Any:
        import torch

        parts: dict[Any, list[Any]] = {}
        for tensor in tensors(self.collate(samples)):
            parts.setdefault(tensor.dtype, []).append(tensor.reshape(-1))
        return {str(kind): torch.cat(each) for kind, each in parts.items()}


def try_changes(loader: Any, seen: Stages, *, seconds: float, came: Callable[[str], None]) -> tuple[TriedChange, ...]:
    """What the changes that the bottleneck suggests bring, each tried for about ``seconds``.

    A change that the loader does not take, or with which it gives nothing, is left out.
    """
    if seen.seconds_to_first_batch > _LONG_START_SECONDS:
        return ()
    found = (_try(loader, text, changed, settings, seconds, came) for text, changed, settings in _changes(loader, seen))
    return tuple(each for each in found if each is not None)


def _changes(loader: Any, seen: Stages) -> Iterator[tuple[str, Any, LoaderSettings]]:
    """Each in words or as code, with the loader and the settings to try it with."""
    now, stage = settings_of(loader), seen.bottleneck
    if by_batch := indexed_by_batch(loader):
        yield *by_batch, now
    if seen.workers and seen.array_bytes_per_batch >= MUCH_BYTES:
        yield "torch.from_numpy() of the arrays in a batch", compact(loader), now
    elif seen.workers and seen.unshown_bytes_per_batch >= MUCH_BYTES:
        yield "clone() of the views in a batch", compact(loader), now
    if suits_uint8(seen):
        path = max(seen.eight_bit_fields, key=lambda each: each.bytes).path
        yield f"{path or 'a batch'} as uint8, converted on the device,", as_uint8(loader, seen), now
    if cost_more(seen):
        yield "num_workers=0", loader, replace(now, num_workers=0, persistent_workers=False)
    elif stage in ("read", "fetch", "collate"):
        number = _workers(seen)
        if number > seen.workers:
            yield f"num_workers={number}", loader, replace(now, num_workers=number)
        if seen.workers and seen.straggler_factor >= STRAGGLES and now.in_order:
            yield "in_order=False", loader, replace(now, in_order=False)
    elif stage in ("send", "receive") and not is_by_sampler(seen):
        if seen.workers and seen.tensors_per_batch > 1:
            yield COMBINED, combined(loader), now
        if seen.crossing_bytes_per_batch < _LARGE_BYTES and not hindrance(loader):
            size = _LARGER * loader.batch_sampler.batch_size
            yield f"batch_size={size}", resized(loader, size), now


def combined(loader: Any) -> Any:
    """A shallow copy of a loader whose batches have one tensor for each type of number."""
    return torch_private.shallow_copy(loader, collate_fn=_Combined(loader.collate_fn))


def compact(loader: Any) -> Any:
    """A shallow copy of a loader whose batches have tensors in place of arrays, and copies in place of views."""
    return torch_private.shallow_copy(loader, collate_fn=CompactCollate(loader.collate_fn))


def as_uint8(loader: Any, seen: Stages) -> Any:
    """A shallow copy of a loader whose batches have uint8 in the fields whose values it would hold."""
    paths = frozenset(field.path for field in seen.eight_bit_fields)
    return torch_private.shallow_copy(loader, collate_fn=Uint8Collate(loader.collate_fn, paths))


def _workers(seen: Stages) -> int:
    """The number of workers to try; 0 where no other is worth a trial."""
    if seen.workers:
        return min(seen.helpful_workers, max(_MOST_WAITING, 2 * int(seen.cpus)))
    made = seen.samples_per_batch * sum(seen.ms_per_sample[stage] for stage in ("read", "fetch", "collate"))
    return max(_FEW_WORKERS, min(4, int(clocks.cpus_allowed()))) if made >= _WORTH_A_TRIAL_MS else 0


def _try(
    loader: Any, text: str, changed: Any, settings: LoaderSettings, seconds: float, came: Callable[[str], None]
) -> TriedChange | None:
    """The gain of the slowest round with the change over the fastest without; None where the change cannot be tried.

    Rounds begin with the loader as it is and with the change in turn: a load that comes or goes favours the later run.
    They end with the first that saw no gain.
    """
    each = max(LEAST_SECONDS, seconds / _ROUNDS / 2)
    without: list[float] = []
    rates: list[float] = []
    now = settings_of(loader)

    def trial(which: Any, given: LoaderSettings) -> Trial:
        run = functools.partial(measure_trial, which, given, each, lambda _spent: None)
        return run() if given.num_workers or not now.num_workers else _in_a_child(run, each)

    try:
        for number in range(_ROUNDS):
            came(text)
            if number % 2:
                after, before = trial(changed, settings), trial(loader, now)
            else:
                before = trial(loader, now)
                if not _fits(before, settings):
                    return None
                after = trial(changed, settings)
            if text == COMBINED or changed.batch_size is None:  # samples are not to be counted in such a batch
                gain = before.batch_seconds / after.batch_seconds
                after = replace(after, samples_per_second=before.samples_per_second * gain)
            without.append(before.samples_per_second)
            rates.append(after.samples_per_second)
            if min(rates) / max(without) < FASTER:
                break
    except Exception:  # as it is the loader works: whatever this is, the change brings it
        return None
    return TriedChange(text, min(rates) / max(without), max(rates))


def _in_a_child(run: Callable[[], Trial], seconds: float) -> Trial:
    """A trial without workers of a loader that has some, in a fork of this process: reading may change the dataset.

    Raises NotMeasured where it gave nothing.
    """

    def alone() -> Trial:
        import torch

        torch.set_num_threads(1)  # the threads of the parent were not forked
        return run()

    found = child_process.ask(alone, seconds + _CHILD_SECONDS)
    if not isinstance(found, Trial):
        raise NotMeasured("the trial without workers gave nothing")
    return found


def _fits(before: Trial, settings: LoaderSettings) -> bool:
    """Whether as many workers and their batches leave half of what is free."""
    shared = capacity.shared_memory_bytes()
    queue = settings.num_workers * settings.prefetch_factor * before.batch_bytes * _LARGER
    room = ROOM * capacity.available_bytes()
    return settings.num_workers * before.worker_bytes <= room and (shared is None or queue <= ROOM * shared)
