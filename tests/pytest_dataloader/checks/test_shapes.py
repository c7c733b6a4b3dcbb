"""Loaders with the shapes that libraries give them, under every check that reads batches: none is accused."""

from __future__ import annotations

import threading
import time
from multiprocessing import shared_memory
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info
from torch.utils.data._utils import worker

from pytest_dataloader import checks
from pytest_dataloader.advice.hang import hung
from pytest_dataloader.errors import NotMeasured
from pytest_dataloader.probe.loader.borrowing import borrow
from pytest_dataloader.probe.loader.coordination import workers_meet, workers_told
from pytest_dataloader.probe.loader.counting import samples_in
from pytest_dataloader.probe.loader.shortening import can_be_shortened
from pytest_dataloader.probe.timing import sequential
from pytest_dataloader.probe.timing.rate_meter import RateMeter
from tests.variants import variants
from tests.zoo.shapes import (
    BATCH,
    HEALTHY,
    SIZE,
    CountsItself,
    Noise,
    OneIterator,
    TakenAhead,
    WholeBatches,
    let_threads_end,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_dataloader.verdict import Verdict

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")  # more workers than this machine's CPUs

QUICK = (
    ("order", "one iterator, made late"), ("order", "one iterator, drop_last"), ("order", "sampler of batches"),
    ("order", "batches of arrays"), ("order", "cuts as indices"), ("randomness", "one iterator"),
    ("randomness", "cuts as indices"), ("randomness", "counts its batches itself"), ("fds", "taken ahead by a thread"),
    ("workers", "workers are threads"), ("order", "collates its batches itself"),
    ("fds", "remembers its iterator"), ("order", "whole batches"),
    ("order", "holds a missing library and a store"),
)  # fmt: skip
ROWS = {
    f"{check}: {shape}": (check, shape)
    for check in ("order", "randomness", "workers", "fds", "shm", "throughput", "stages")
    for shape in HEALTHY
    # What it keeps of an epoch that is left early is found below; threads draw from one generator.
    if (check, shape) not in (("shm", "taken ahead by a thread"), ("randomness", "workers are threads"))
}


@pytest.fixture(autouse=True)
def no_thread_stays_a_worker() -> Iterator[None]:
    """Workers that are threads tell the whole process that it is one, as torch keeps that in a global; and those that
    take batches ahead of an epoch that is left early keep them for all later tests."""
    yield
    worker._worker_info = None
    let_threads_end()


def verdict_of(check: str, loader: Any, seconds: float = 1.0) -> tuple[Any, Verdict]:
    seen = checks.measure(check, loader, setting=checks.Setting(seconds, bench=True), limits={})
    return seen, checks.judge(check, seen, limits={})


@pytest.mark.parametrize(("check", "shape"), variants(ROWS, [f"{check}: {shape}" for check, shape in QUICK]))
def test_a_shape_is_not_accused(check: str, shape: str) -> None:
    loader = HEALTHY[shape]()
    # Ample for what is counted; a rate takes the time that it gets.
    _, verdict = verdict_of(check, loader, 20.0 if check in ("fds", "shm") else 1.0)
    # No clock goes with a batch that a thread hands over.
    expected = "not_measured" if (check, shape) == ("stages", "workers are threads") else "passed"
    too_busy = check == "throughput" and "too noisy" in verdict.reason
    assert verdict.outcome == ("inconclusive" if too_busy else expected), verdict.reason


def test_an_epoch_of_a_kept_iterator_is_what_the_loader_counts() -> None:
    seen, verdict = verdict_of("order", OneIterator(eager=True), seconds=60)  # it ends once all samples were read
    assert (seen.samples, seen.repeated, seen.left_out, seen.reshuffled) == ((SIZE, SIZE), 0, 0, True)
    assert "indices of the sampler" not in verdict.reason


def test_starting_a_kept_iterator_counts_as_its_start() -> None:
    with borrow(OneIterator(eager=True)) as borrowed:
        assert borrowed.keeps_iterator
        assert borrowed.started_seconds > 0


def test_samples_that_come_twice_in_whole_batches_are_seen() -> None:
    loader = DataLoader(WholeBatches(shared=True), batch_size=None, num_workers=2)
    _, verdict = verdict_of("order", loader, seconds=60)  # it ends once all samples were read
    assert (verdict.outcome, verdict.reason) == ("failed", "WholeBatches: each sample comes 2 times")
    assert verdict.advice[0].code == "DL405"


def test_whole_batches_are_taken_apart_along_their_first_dimension() -> None:
    batch = {"x": torch.arange(6).reshape(2, 3), "name": ["a", "b"], "more": {"y": torch.arange(2)}}
    first, second = samples_in(batch)
    assert (first["x"].tolist(), first["name"], int(second["more"]["y"])) == ([0, 1, 2], "a", 1)
    assert samples_in([{"x": 1}, {"x": 2}]) == [{"x": 1}, {"x": 2}]
    assert samples_in("text") == ["text"]
    assert len(samples_in({"x": torch.zeros(2), "y": torch.zeros(3)})) == 1


def test_what_an_epoch_left_early_keeps_is_told_as_that() -> None:
    _, verdict = verdict_of("shm", TakenAhead(Noise(), BATCH, shuffle=True, num_workers=2))
    assert verdict.outcome == "failed"
    assert "per epoch that is left early, in the main process" in verdict.reason
    assert "stop the prefetcher" in verdict.advice[0].text


def test_threads_that_draw_alike_cannot_be_told_apart() -> None:
    with pytest.raises(NotMeasured, match="workers are threads"):
        verdict_of("randomness", HEALTHY["workers are threads"]())


@pytest.mark.parametrize(
    ("make", "ends"),
    [
        (lambda: DataLoader(Noise(), BATCH), True),
        (lambda: TakenAhead(Noise(), BATCH, num_workers=2), True),
        (lambda: CountsItself(Noise(), BATCH, num_workers=2), False),
        (lambda: OneIterator(eager=False), False),
    ],
)
def test_whether_an_epoch_ends_with_its_sampler(make: Any, ends: bool) -> None:
    assert can_be_shortened(make()) is ends


class Meeting(IterableDataset[Any]):
    """Each worker waits until all have come, through memory that they share."""

    def __init__(self) -> None:
        self.memory = shared_memory.SharedMemory(create=True, size=8)
        self.memory.buf[:8] = bytes(8)  # type: ignore[index]  # it is open

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        worker, workers = (info.id, info.num_workers) if info else (0, 1)
        came: Any = self.memory.buf
        came[worker] += workers > 1
        while min(came[:workers]) < came[worker]:
            time.sleep(0.001)
        yield from torch.arange(SIZE)[worker::workers]


@pytest.fixture
def meeting() -> Iterator[DataLoader[Any]]:
    dataset = Meeting()
    yield DataLoader(dataset, BATCH, num_workers=2)
    dataset.memory.close()
    dataset.memory.unlink()


def test_no_lone_reader_stands_in_for_a_worker_that_meets_others(meeting: DataLoader[Any]) -> None:
    assert (workers_meet(meeting), workers_told(meeting)) == (True, 1)
    _, verdict = verdict_of("fds", meeting)
    assert verdict.outcome == "passed", verdict.reason
    with pytest.raises(NotMeasured, match="wait for each other"):
        verdict_of("shards", meeting)


def test_what_a_thread_of_the_loader_raises_is_a_fault() -> None:
    class Breaks(Noise):
        def __getitem__(self, index: Any) -> torch.Tensor:
            if index == SIZE - 1:
                raise ValueError("row 95")
            return super().__getitem__(index)

    previous, threading.excepthook = threading.excepthook, lambda _raised: None
    try:
        loader = Ends(Breaks(), BATCH, num_workers=2)
        _, verdict = verdict_of("workers", loader)
    finally:
        threading.excepthook = previous
    assert verdict.outcome == "failed"
    assert "ValueError: row 95" in verdict.reason


class Ends(DataLoader[Any]):
    """A thread stop the prefetcher; its loop ends with it, whatever it ends of."""

    def __iter__(self) -> Any:
        taken: list[Any] = []
        thread = threading.Thread(target=lambda: taken.extend(super(Ends, self).__iter__()))
        thread.start()
        thread.join()
        yield from taken


@pytest.mark.parametrize(("at_work", "way"), [(False, "hung"), (True, "unclear")])
def test_a_hang_is_told_only_where_nothing_moves(at_work: bool, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sequential, "STILL_SECONDS", 0.5)

    class Waits(Noise):
        def __getitem__(self, index: Any) -> torch.Tensor:
            if index == SIZE // 2:
                until = time.monotonic() + 30
                while at_work and time.monotonic() < until:
                    sum(range(1000))
                time.sleep(30)
            return super().__getitem__(index)

    with borrow(DataLoader(Waits(), BATCH, num_workers=1)) as borrowed:
        found = sequential.measure_until_decided(
            RateMeter(borrowed, 30.0), seconds=30.0, wait=2.0, progress=lambda _what, _spent: None,
            clear=lambda _spent: False, narrow=lambda: False,
        )  # fmt: skip
    assert found == way
    assert hung(6, 60.0, at_work=at_work).outcome == ("inconclusive" if at_work else "failed")
