"""Clocks on the batches of every kind of loader: what it gives is what it gives without, to the bit."""

from __future__ import annotations

import functools
import multiprocessing
import os
import pickle
import queue
import threading
import time
from collections import namedtuple
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset, WeightedRandomSampler, get_worker_info

from pytest_dataloader.probe.internals import envelopes
from pytest_dataloader.probe.internals.envelopes import (
    PROCESS_CPU,
    WALL,
    BatchId,
    StampedCollate,
    StampedIndex,
    StampLog,
)
from pytest_dataloader.probe.loader.borrowing import borrow_as
from pytest_dataloader.probe.timing.instrumented_run import InstrumentedLoader
from tests.pytest_dataloader.probe.loader.test_borrowing import KINDS, SLOW_STARTS, STATEFUL, Numbers, end, kinds, seed

if TYPE_CHECKING:
    from collections.abc import Iterator

Pair = namedtuple("Pair", "number name")


class Mixed(Numbers):
    """Samples of many parts: text, arrays, a strided tensor."""

    def __getitem__(self, index: int) -> Any:
        plane = torch.arange(12.0).reshape(3, 4).T + index
        return {"pair": Pair(index, f"n{index}"), "plane": plane, "array": np.full((3,), index), "flag": index > 4}


class Batch:
    """A batch type of the user's own."""

    def __init__(self, samples: list[Any]) -> None:
        self.numbers = torch.stack(samples)
        self.lengths = [len(sample) for sample in samples]


def arrays(samples: list[Any]) -> list[Any]:
    return [np.asarray(sample) for sample in samples]


def check_dataset(_worker: int) -> None:
    """Type-checks what it finds, and changes it."""
    info = get_worker_info()
    assert info is not None
    assert type(info.dataset) is Numbers
    info.dataset.opened = True  # type: ignore[attr-defined]


OTHERS = {
    "mixed": lambda: DataLoader(Mixed(), batch_size=4, num_workers=2),
    "mixed, here": lambda: DataLoader(Mixed(), batch_size=4),
    "custom collate": lambda: DataLoader(Numbers(), batch_size=4, num_workers=2, collate_fn=arrays),
    "lambda collate": lambda: DataLoader(
        Numbers(), batch_size=4, num_workers=1, collate_fn=lambda samples: tuple(samples)
    ),
    "batch class": lambda: DataLoader(Numbers(), batch_size=4, num_workers=2, collate_fn=Batch),
    "worker_init_fn": lambda: DataLoader(Numbers(), batch_size=4, num_workers=2, worker_init_fn=check_dataset),
    "weighted": lambda: DataLoader(
        Numbers(), batch_size=4, num_workers=2, sampler=WeightedRandomSampler([1.0, 2.0] * 5, 10)
    ),
    "single samples": lambda: DataLoader(Numbers(), batch_size=None, num_workers=2),
}


def plain(value: Any) -> Any:
    """A batch as values that compare, with everything that can be told of its tensors."""
    if isinstance(value, torch.Tensor):
        shared = value.is_shared()  # type: ignore[no-untyped-call]  # torch's
        return (str(value.dtype), value.stride(), shared, value.numpy().tobytes())
    if isinstance(value, np.ndarray):
        return (str(value.dtype), value.strides, value.tobytes())
    if isinstance(value, Batch):
        return plain(vars(value))
    if isinstance(value, dict):
        return (type(value).__name__, [(key, plain(item)) for key, item in value.items()])
    if isinstance(value, list | tuple):
        return (type(value).__name__, [plain(item) for item in value])
    return (type(value).__name__, value)


@pytest.fixture(autouse=True)
def no_worker_is_left() -> Iterator[None]:
    before = set(multiprocessing.active_children())
    yield
    assert not set(multiprocessing.active_children()) - before


def keep(batches: Iterator[Any], kept: list[Any]) -> Iterator[Any]:
    for batch in batches:
        kept.append(plain(batch))
        yield batch


def epochs_stamped(loader: Any, strides: tuple[int, ...] = (1, 2)) -> tuple[list[Any], InstrumentedLoader]:
    """Epochs of an instrumented loader, the first with clocks on every batch, the other with clocks on every second."""
    seen: list[Any] = []
    with borrow_as(InstrumentedLoader, loader) as instrumented:
        for stride in strides:
            instrumented.begin_epoch()
            instrumented._batches = keep(instrumented._batches, seen)  # type: ignore[arg-type]  # it is there once begun
            while instrumented.pull(1)[0]:
                instrumented.stride = stride
    return seen, instrumented


@STATEFUL
@kinds(KINDS, OTHERS)
def test_the_batches_are_the_same_to_the_bit(make: Any) -> None:
    seed()
    loader = make()
    expected = [plain(batch) for _ in range(2) for batch in loader]
    end(loader)
    seed()
    loader = make()
    if "iterator" in vars(loader):  # which has drawn the seed of its workers already
        seed()
    before = {name: id(value) for name, value in vars(loader).items()}
    dataset = {name: id(value) for name, value in vars(loader.dataset).items()}
    seen, instrumented = epochs_stamped(loader)
    if getattr(loader, "in_order", True):
        assert seen == expected
    else:
        assert sorted(seen) == sorted(expected)
    assert {name: id(value) for name, value in vars(loader).items()} == before
    assert {name: id(value) for name, value in vars(loader.dataset).items()} == dataset
    assert len(instrumented.stamp_log.batch_stamps) >= len(expected) / 2
    assert {type(iterator).__name__ for iterator in instrumented._made} <= {"_SingleProcessDataLoaderIter"}
    end(loader)


@kinds(SLOW_STARTS)
def test_workers_that_start_anew_take_clocks_along(make: Any) -> None:
    seed()
    expected = [plain(batch) for batch in make()]
    seed()
    loader = make()
    seen, instrumented = epochs_stamped(loader, (1,))
    assert seen == expected
    assert {one.worker for one in instrumented.stamp_log.batch_stamps} == {0}
    assert all(one.index[WALL] < one.fetched[WALL] < one.unpacked[WALL] for one in instrumented.stamp_log.batch_stamps)


class Busy(Dataset[Any]):
    """Computes for a millisecond without the GIL, so that two workers on one CPU keep it from each other's threads."""

    def __len__(self) -> int:
        return 120

    def __getitem__(self, index: int) -> Any:
        end = time.thread_time_ns() + 1_000_000
        while time.thread_time_ns() < end:
            np.sort(np.arange(20_000.0)[::-1])
        return {str(key): torch.full((4,), index) for key in range(8)}


@pytest.mark.filterwarnings("ignore:This DataLoader will create 2 worker processes")
def test_a_thread_that_hands_tensors_over_tells_how_long_it_waited_for_a_cpu() -> None:
    cpus = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cpus)})
    try:
        with borrow_as(InstrumentedLoader, DataLoader(Busy(), batch_size=8, num_workers=2)) as instrumented:
            instrumented.begin_epoch()
            while instrumented.pull(1)[0]:
                pass
    finally:
        os.sched_setaffinity(0, cpus)
    batch_stamps = instrumented.stamp_log.batch_stamps
    assert {one.worker for one in batch_stamps} == {0, 1}
    assert sum(one.handing_delay for one in batch_stamps) > 100_000
    assert all(one.handing_delay <= one.unpacked[WALL] - one.unpacking[WALL] + 1_000_000 for one in batch_stamps)
    assert all(one.packed[PROCESS_CPU] > 0 for one in batch_stamps if one.made), (
        "the thread is there from the second batch"
    )


def test_what_goes_to_a_worker_and_back_is_the_bare_thing() -> None:
    """Through the pickles of a queue, with this process as the worker."""
    stamp_log = StampLog(len)
    stamp_log.open()
    index = pickle.loads(pickle.dumps((7, StampedIndex([3, 1, 2], BatchId(stamp_log.number, 1, 7, 5, 4)))))
    assert index == (7, [3, 1, 2])
    batch = StampedCollate(list)((1, 2, 3))
    assert pickle.loads(pickle.dumps((7, batch))) == (7, [1, 2, 3])
    [seen] = stamp_log.batch_stamps
    assert seen.batch_id == BatchId(stamp_log.number, 1, 7, 5, 4)
    moments = [seen.index, seen.fetched, seen.collated, seen.packing, seen.packed, seen.unpacking, seen.unpacked]
    assert [moment[WALL] for moment in moments] == sorted(moment[WALL] for moment in moments)
    assert seen.in_main_thread
    stamp_log.close()
    again = StampedCollate(list)
    assert again((1, 2)) == [1, 2], "only the batch of a timed index is timed"


def test_a_collate_function_keeps_its_attributes_and_pickles() -> None:
    wrapped = StampedCollate(functools.partial(sorted, reverse=True))
    assert wrapped.keywords == {"reverse": True}
    assert pickle.loads(pickle.dumps(wrapped))([1, 2]) == [2, 1]
    assert not hasattr(wrapped, "tokenizer")


def test_batches_that_arrive_after_measuring_are_let_go() -> None:
    stamp_log = StampLog(len)
    stamp_log.open()
    pickle.loads(pickle.dumps(StampedIndex(0, BatchId(stamp_log.number, 1, 0, 0, 0))))
    late = pickle.dumps(StampedCollate(list)([1]))
    stamp_log.close()
    assert pickle.loads(late) == [1]
    assert not stamp_log.batch_stamps


class Threads(Dataset[Any]):
    """Stands for a release of torch whose workers are threads: nothing is pickled on the way."""

    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> int:
        return index


def test_workers_that_are_threads_get_bare_indices() -> None:
    with borrow_as(InstrumentedLoader, DataLoader(Threads(), batch_size=2, num_workers=1)) as instrumented:
        instrumented.begin_epoch()
        [iterator] = instrumented._made
        iterator._index_queues[0:0] = [queue.Queue()]
        assert iterator._next_index() == [4, 5]
        del iterator._index_queues[0]


class FakeAccelerator:
    """Enough of an accelerator for the pinning thread: copies take a moment and stay in ordinary memory."""

    type = "cuda"

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        patch.setattr(torch.accelerator, "is_available", lambda: True)
        patch.setattr(torch.accelerator, "current_accelerator", lambda: self)
        patch.setattr(torch.accelerator, "current_device_index", lambda: 0)
        patch.setattr(torch.accelerator, "set_device_index", lambda _: None)
        patch.setattr(torch.Tensor, "pin_memory", lambda tensor: tensor.clone())


def test_batches_collated_in_the_main_process_are_none_of_a_worker_forked_later() -> None:
    StampedCollate(list)([1])  # as a worker does that is a thread
    _, instrumented = epochs_stamped(DataLoader(Numbers(), batch_size=4, num_workers=1))
    batch_stamps = instrumented.stamp_log.batch_stamps
    assert min(one.made for one in batch_stamps) == 0
    assert all(one.free_ns == 0 for one in batch_stamps if one.made == 0)


@pytest.mark.parametrize("workers", [0, 2])
def test_pinning_is_timed_in_its_own_thread(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    FakeAccelerator(monkeypatch)
    loader = DataLoader(Numbers(), batch_size=2, num_workers=workers, pin_memory=True)
    expected = [int(number) for batch in loader for number in batch[:, 0]]
    seen, instrumented = epochs_stamped(loader)
    assert [int(np.frombuffer(batch[3], np.float32)[0]) for batch in seen[:5]] == expected[::2]
    assert instrumented.pins is False, "its iterators are gone"
    if workers:
        pinned = [one for one in instrumented.stamp_log.batch_stamps if not one.in_main_thread]
        assert pinned
        assert all(one.unpacked[WALL] < one.pinned[WALL] for one in pinned if one.pinned[WALL])
        assert any(one.pinned[WALL] for one in pinned)


def test_a_thread_closes_what_it_read_its_delay_from() -> None:
    def descriptors() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before = descriptors()
    for _ in range(20):
        thread = threading.Thread(target=envelopes.stamp_before)
        thread.start()
        thread.join()
    with borrow_as(InstrumentedLoader, DataLoader(Numbers(), batch_size=2)) as instrumented:
        instrumented.begin_epoch()
        instrumented.pull(5)
    assert descriptors() <= before


@pytest.mark.parametrize("stamp", [envelopes.stamp_before, envelopes.stamp_after])
def test_clocks_that_others_interrupt_are_read_again(stamp: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """5 ms pass between the readings, for which the thread waits for a CPU: they are in both clocks, or in neither."""
    now, waited, interruptions = 1_000_000_000, 0, [5_000_000]

    def tick() -> int:
        nonlocal now
        now += 1_000
        return now

    def cpu() -> int:
        nonlocal now, waited
        lost = interruptions.pop() if interruptions else 0
        now, waited = now + lost, waited + lost
        return 7

    monkeypatch.setattr(envelopes, "wall_ns", tick)
    monkeypatch.setattr(envelopes, "thread_cpu_ns", cpu)
    monkeypatch.setattr(envelopes, "process_cpu_ns", lambda: 8)
    monkeypatch.setattr(envelopes, "read_kept_delay_ns", lambda: waited)
    wall, thread, process, delay = stamp()
    assert (thread, process) == (7, 8)
    assert wall - delay < 1_000_010_000
    assert delay == 5_000_000
