"""What is around a DataLoader: batches lost or overwritten, changed modes, threads and processes left behind."""

from __future__ import annotations

import multiprocessing
import queue
import threading
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from pytest_dataloader import checks
from pytest_dataloader.checks import Setting, streams
from pytest_dataloader.checks.streams import is_of_inner
from pytest_dataloader.probe.loader.stream import Stream, stream_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_dataloader.verdict import Verdict

SETTING = Setting(seconds=30.0, bench=True)


class Around:
    """Iterates a DataLoader in its own way."""

    def __init__(self, iterate: Callable[[Any], Iterator[Any]]) -> None:
        self.loader = DataLoader(TensorDataset(torch.randn(64, 4)), 8, shuffle=True)
        self.iterate = iterate

    def __len__(self) -> int:
        return len(self.loader)

    def __iter__(self) -> Iterator[Any]:
        return self.iterate(self.loader)


def verdict_of(check: str, iterate: Callable[[Any], Iterator[Any]]) -> Verdict:
    stream = stream_of(Around(iterate), "Around")
    assert isinstance(stream, Stream)
    seen = streams.measure(check, stream, setting=SETTING, limits={})
    return checks.judge(check, seen, limits={}) if is_of_inner(check, stream, {}) else streams.judge(seen, {})


def without_gradients(loader: Any) -> Iterator[Any]:
    with torch.no_grad():
        yield from loader


def with_gradients_again(loader: Any) -> Iterator[Any]:
    for batch in loader:
        with torch.no_grad():
            batch[0].mul_(2)
        yield batch


def losing(loader: Any) -> Iterator[Any]:
    ahead, *others = loader
    for batch in others:
        yield ahead
        ahead = batch


def holding_back(loader: Any) -> Iterator[Any]:
    ahead, *others = loader
    for batch in others:
        yield ahead
        ahead = batch
    yield ahead


def into_one_buffer(loader: Any) -> Iterator[Any]:
    buffer = torch.empty(8, 4)
    for (rows,) in loader:
        yield buffer.copy_(rows)


def into_new_buffers(loader: Any) -> Iterator[Any]:
    for (rows,) in loader:
        yield torch.empty(8, 4).copy_(rows)


def by_a_thread(loader: Any, *, ends: bool) -> Iterator[Any]:
    made: queue.Queue[Any] = queue.Queue(maxsize=1)
    over = threading.Event()

    def run() -> None:
        for batch in (*loader, None):
            while not over.is_set():
                try:
                    made.put(batch, timeout=0.05)
                    break
                except queue.Full:
                    continue

    threading.Thread(target=run, daemon=True, name="ahead").start()
    try:
        while (batch := made.get()) is not None:
            yield batch
    finally:
        if ends:
            over.set()
        else:
            LEFT.append(over)


def beside_a_process(loader: Any, *, ends: bool) -> Iterator[Any]:
    over = multiprocessing.Event()
    process = multiprocessing.Process(target=over.wait, daemon=True)
    process.start()
    LEFT.append(over)
    try:
        yield from loader
    finally:
        if ends:
            over.set()
            process.join()


LEFT: list[Any] = []


@pytest.fixture(autouse=True)
def _end_what_is_left() -> Iterator[None]:
    yield
    while LEFT:
        LEFT.pop().set()
    for process in multiprocessing.active_children():
        process.join(10)


@pytest.mark.parametrize(
    ("iterate", "outcome", "words"),
    [
        (without_gradients, "inconclusive", "Around: changes for the loop that iterates it: gradients from on to off"),
        (with_gradients_again, "passed", "64 samples: no duplicates, none missing"),
        (losing, "failed", "Around: drops 1 of 8 batches\nits epoch has 7, the DataLoader inside gives 8"),
        (holding_back, "passed", "64 samples: no duplicates, none missing"),
        (into_one_buffer, "inconclusive", "Around: 7 of 7 batches changed when the next came"),
        (into_new_buffers, "passed", "64 samples: no duplicates, none missing"),
    ],
)
def test_what_is_done_to_batches_is_named(iterate: Callable[[Any], Iterator[Any]], outcome: str, words: str) -> None:
    verdict = verdict_of("order", iterate)
    assert (verdict.outcome, words in verdict.reason) == (outcome, True), verdict.reason


@pytest.mark.parametrize(
    ("iterate", "ends", "words"),
    [
        (by_a_thread, False, "each epoch that is left early leaves 1 thread behind (ahead)"),
        (by_a_thread, True, ""),
        (beside_a_process, False, "each epoch that is read to its end leaves 1 process behind ("),
        (beside_a_process, True, ""),
    ],
)
def test_what_epochs_leave_behind_is_named(iterate: Callable[..., Iterator[Any]], ends: bool, words: str) -> None:
    verdict = verdict_of("workers", lambda loader: iterate(loader, ends=ends))
    assert (verdict.outcome, words in verdict.reason) == ("failed" if words else "passed", True), verdict.reason
