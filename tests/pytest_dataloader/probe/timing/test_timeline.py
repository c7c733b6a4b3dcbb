"""The timeline of real loaders: which batches it holds, and that what happened to each is told in its order."""

from __future__ import annotations

import itertools
import json
import os
import statistics
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset

from pytest_dataloader.probe.loader.borrowing import borrow_as
from pytest_dataloader.probe.timing import instrumented_run
from pytest_dataloader.probe.timing.instrumented_run import InstrumentedLoader
from pytest_dataloader.probe.timing.timeline import MAIN, Timeline, timeline
from pytest_dataloader.record import plain
from tests.pytest_dataloader.probe.loader.test_borrowing import Endless

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.xdist_group("cpu")

SLEEP = 0.002


class Rows(Dataset[Any]):
    def __init__(self, length: int = 4000) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        time.sleep(SLEEP)
        return torch.tensor([index])


class Counting(IterableDataset[Any]):
    def __iter__(self) -> Iterator[Any]:
        yield from (torch.tensor([number]) for number in itertools.count())


def run(loader: DataLoader[Any], batches: int, epochs: int = 1, **given: Any) -> tuple[Timeline, InstrumentedLoader]:
    """The timeline of some batches of each epoch."""
    with borrow_as(lambda each: InstrumentedLoader(each, **given), loader) as instrumented:
        for _ in range(epochs):
            instrumented.begin_epoch()
            for _ in range(batches):
                if not instrumented.pull(1)[0]:
                    break
        found = timeline(instrumented)
        assert found is not None
        return found, instrumented


def load(length: int = 4000, **settings: Any) -> DataLoader[Any]:
    return DataLoader(Rows(length), batch_size=2, **settings)


def places(found: Timeline) -> list[tuple[int, int]]:
    return [(one.epoch, one.number) for one in found.batches]


def test_every_batch_goes_its_way_in_order() -> None:
    found, _ = run(load(num_workers=2), 24)
    assert found.main_pid == os.getpid()
    assert [each.worker for each in found.workers] == [0, 1]
    pids = {each.worker: each.pid for each in found.workers}
    for one in found.batches:
        assert one.pid == pids[one.worker] != os.getpid()
        assert one.indices == (2 * one.number, 2 * one.number + 1)
        way = [one.index_ms, one.fetched_ms, one.collated_ms, one.packing_ms, one.packed_ms, one.unpacking_ms]
        assert way == sorted(way)
        assert all(way)
        assert way[-1] < one.unpacked_ms
        if one.number < 24:  # a later one may have come before its turn
            assert one.unpacked_ms < one.got_ms > one.asked_ms > 0
        assert one.fetched_ms - one.index_ms >= one.read_waiting_ms
    assert statistics.median(one.read_waiting_ms for one in found.batches) >= 1.9e3 * SLEEP
    assert all(each.started_ms < min(one.index_ms for one in found.batches) for each in found.workers)


def test_without_workers_the_main_process_makes_them_while_it_is_asked() -> None:
    found, _ = run(load(), 12)
    assert found.workers == ()
    for one in found.batches:
        assert (one.worker, one.pid, one.unpacked_ms) == (MAIN, os.getpid(), 0.0)
        assert one.asked_ms < one.index_ms < one.fetched_ms <= one.collated_ms < one.got_ms


def test_the_origin_is_a_moment_of_the_wall_clock() -> None:
    before = time.time_ns()
    found, _ = run(load(), 4)
    after = time.time_ns()
    assert found.started_unix_ns % 1000 == 0
    first, last = found.batches[0].asked_ms * 1e6, found.batches[-1].got_ms * 1e6
    assert before - 1e6 < found.started_unix_ns + first < found.started_unix_ns + last < after + 1e6


@pytest.mark.parametrize("workers", [0, 2])
def test_it_holds_the_batches_that_follow_each_other(workers: int) -> None:
    found, instrumented = run(load(num_workers=workers), 300)
    assert instrumented.stride > 1
    assert len(instrumented.stamp_log.batch_stamps) > len(found.batches)  # later ones, here and there, are left out
    assert sorted(places(found)) == [(1, number) for number in range(len(found.batches))]
    assert 12 * max(1, workers) <= len(found.batches) < 60
    assert found.resident == ()


@pytest.mark.parametrize("workers", [0, 2])
def test_for_a_trace_it_holds_a_hundred_and_the_memory_of_every_process(workers: int) -> None:
    found, _ = run(load(num_workers=workers), 150, traced=True)
    assert sorted(places(found)) == [(1, number) for number in range(len(found.batches))]
    assert 100 <= len(found.batches) <= 100 + 2 * workers + workers
    assert all(one.asked_ms < one.got_ms for one in found.batches)
    pids = {os.getpid(), *(each.pid for each in found.workers)}
    assert {seen.pid for seen in found.resident} == pids
    assert all(seen.bytes > 1e6 for seen in found.resident)
    last = max(one.got_ms for one in found.batches)
    assert all(0 < seen.at_ms <= last for seen in found.resident)


def test_short_epochs_follow_each_other_until_batches_are_left_out() -> None:
    found, instrumented = run(load(16), 9, epochs=6)
    assert instrumented.sparse_from is not None
    held = sorted(places(found))
    assert held[:9] == [*((1, number) for number in range(8)), (2, 0)]
    assert held[-1][0] <= instrumented.sparse_from < 6
    epochs = {epoch: [number for each, number in held if each == epoch] for epoch, _ in held}
    assert all(numbers == list(range(len(numbers))) for numbers in epochs.values())


def test_each_set_of_workers_has_processes_of_its_own() -> None:
    found, _ = run(load(16, num_workers=2), 9, epochs=2)
    assert [each.worker for each in found.workers] == [0, 1, 0, 1]
    assert len({each.pid for each in found.workers}) == 4
    started = [each.started_ms for each in found.workers]
    assert started[0] == started[1] < started[2] == started[3]


def test_persistent_workers_are_started_once() -> None:
    found, _ = run(load(16, num_workers=2, persistent_workers=True), 9, epochs=2)
    assert [each.worker for each in found.workers] == [0, 1]
    assert {one.epoch for one in found.batches} == {1, 2}


def test_a_loader_that_keeps_its_iterator_numbers_its_batches_on() -> None:
    found, _ = run(Endless(Rows(16), batch_size=2, num_workers=1), 9, epochs=2)
    numbers = [one.number for one in sorted(found.batches, key=lambda one: one.number)]
    assert numbers == list(range(len(numbers)))
    assert len(numbers) > 12
    first = found.batches[0]
    assert (first.epoch, first.number) == (0, 0)  # it was asked for before there was an epoch
    assert 0 < first.index_ms < first.got_ms


@pytest.mark.parametrize("given", [{"step_ms": 3.0}, {"step": lambda _batch: time.sleep(0.003)}])
def test_steps_lie_between_waits(given: dict[str, Any]) -> None:
    found, _ = run(load(num_workers=2), 20, **given)
    waits = {(one.epoch, one.number): one for one in found.batches}
    assert [step.number for step in found.steps] == list(range(19))
    for step in found.steps:
        assert waits[1, step.number].got_ms <= step.began_ms
        assert step.ended_ms - step.began_ms >= 2.9
        assert step.ended_ms <= waits[1, step.number + 1].asked_ms


def test_batches_that_come_as_they_are_ready_are_found_in_the_wait_that_they_came_in() -> None:
    found, _ = run(load(40, num_workers=2, in_order=False), 20)  # all of an epoch: what is behind a gap is left out
    handed = [one for one in found.batches if one.got_ms]
    assert len(handed) >= 19
    assert all(one.asked_ms <= one.unpacking_ms < one.unpacked_ms <= one.got_ms for one in handed[1:])


def test_an_iterable_dataset_has_no_samples_to_name() -> None:
    found, _ = run(DataLoader(Counting(), batch_size=4, num_workers=2), 10)
    assert {one.indices for one in found.batches} == {()}


def test_a_loader_that_gives_nothing_has_no_timeline() -> None:
    with borrow_as(InstrumentedLoader, load(0)) as instrumented:
        instrumented.begin_epoch()
        assert instrumented.pull(1) == (0, 0)
        assert timeline(instrumented) is None


def test_it_stays_small_enough_for_a_property_of_a_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instrumented_run, "TRACED", 1000)
    found, instrumented = run(DataLoader(Counting(), batch_size=4, num_workers=2), 260, traced=True, step_ms=0.01)
    assert len(instrumented.stamp_log.batch_stamps) > 250
    assert (len(found.batches), len(found.steps)) == (200, 200)
    assert all(one.got_ms for one in found.batches)
    assert len(json.dumps(plain(asdict(found)))) < 120_000
