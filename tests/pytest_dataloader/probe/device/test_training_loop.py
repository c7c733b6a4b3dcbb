"""A training loop and its remedies, with the CPU in the place of a device: streams and events that do nothing."""

from __future__ import annotations

import contextlib
import itertools
import time
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from pytest_dataloader.errors import NothingSeen
from pytest_dataloader.probe.device import remedies, training_loop
from pytest_dataloader.probe.device.evidence import DeviceUse, StepUse
from pytest_dataloader.probe.device.remedies import LoadingMode, gain, gains, way_of
from pytest_dataloader.probe.device.training_loop import Copying, TrainingLoop, stand_in
from pytest_dataloader.probe.loader.settings import LoaderSettings
from pytest_dataloader.probe.tuning.trial import borrow_with

if TYPE_CHECKING:
    from collections.abc import Iterator

KIND: Any = "cpu"


class Event:
    """Notes what is asked of it."""

    def __init__(self, log: list[str]) -> None:
        self.log = log

    def record(self) -> None:
        self.log.append("step")

    def synchronize(self) -> None:
        self.log.append("wait")


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a loop asks of its streams."""
    log: list[str] = []

    class Stream:
        def record_event(self) -> Event:
            log.append("copied")
            return Event(log)

        def wait_event(self, _event: Event) -> None:
            log.append("arrived")

    fake = SimpleNamespace(
        Event=lambda: Event(log),
        Stream=Stream,
        current_stream=Stream,
        stream=lambda _stream: contextlib.nullcontext(),
        synchronize=lambda: log.append("all"),
    )
    monkeypatch.setattr(training_loop, "streams_of", lambda _kind: fake)
    monkeypatch.setattr(torch.Tensor, "record_stream", lambda _self, _stream: log.append("kept"))
    return log


class Numbers(Dataset[Any]):
    def __init__(self, length: int = 12) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        return {"number": torch.tensor([index]), "name": "text"}


@contextlib.contextmanager
def loop_over(loader: DataLoader[Any], copying: Copying | None) -> Iterator[tuple[TrainingLoop, list[Any]]]:
    seen: list[Any] = []
    with borrow_with(loader, LoaderSettings(loader.num_workers)) as borrowed:
        yield TrainingLoop(borrowed, KIND, seen.append, copying), seen


def numbers(batches: list[Any]) -> list[int]:
    return [int(tensor) for batch in batches for tensor in batch]


@pytest.mark.usefixtures("log")
@pytest.mark.parametrize("copying", [Copying(), Copying(non_blocking=True), Copying(True, True)])
def test_each_batch_is_trained_on_once_and_in_order_epoch_after_epoch(copying: Copying) -> None:
    with loop_over(DataLoader(Numbers()), copying) as (loop, seen):
        for _ in range(20):
            loop.take()
    assert numbers(seen) == list(itertools.islice(itertools.cycle(range(12)), 20))


@pytest.mark.usefixtures("log")
def test_a_step_of_ones_own_gets_the_batch_as_it_is() -> None:
    with loop_over(DataLoader(Numbers()), None) as (loop, seen):
        loop.take()
    assert seen[0]["name"] == ["text"]


def test_the_host_is_one_step_ahead_of_the_device(log: list[str]) -> None:
    with loop_over(DataLoader(Numbers()), Copying()) as (loop, _):
        for _ in range(3):
            loop.take()
        loop.wait()
    assert log == ["step", "step", "wait", "step", "wait", "all"]


def test_the_next_batch_is_copied_before_the_step_of_this_one(log: list[str]) -> None:
    with loop_over(DataLoader(Numbers()), Copying(prefetched=True)) as (loop, _):
        loop.take()
    assert log == ["copied", "copied", "arrived", "kept", "step"]


@pytest.mark.usefixtures("log")
def test_a_loader_without_a_batch_is_told() -> None:
    with loop_over(DataLoader(Numbers(0)), Copying()) as (loop, _), pytest.raises(NothingSeen, match="epoch is empty"):
        loop.warm_up()


@pytest.mark.usefixtures("log")
@pytest.mark.parametrize(("product_ms", "products"), [(0.5, 40), (5.0, 4), (30.0, 1)])
def test_a_stand_in_takes_about_its_time(monkeypatch: pytest.MonkeyPatch, product_ms: float, products: int) -> None:
    taken: list[Any] = []
    monkeypatch.setattr(torch, "mm", lambda matrix, _other: taken.append(matrix))
    monkeypatch.setattr(time, "perf_counter", lambda: len(taken) * product_ms / 1e3)
    step = stand_in(KIND, 20.0)
    taken.clear()
    step(None)
    assert len(taken) == products


def use(*, waiting: float, copying: float) -> DeviceUse:
    steps = (StepUse("step", 100, 100 - waiting - copying, copying, waiting, 0, waiting),) * 3
    return DeviceUse("", 1, None, "annotation", steps, 3, None, (), ())


NOW = LoadingMode(LoaderSettings(), False, Copying())
HERS = replace(NOW, copying=None)
PINNED = "num_workers=0, pin_memory=True, non_blocking=True"


@pytest.mark.parametrize(
    ("now", "seen", "tried"),
    [
        (NOW, use(waiting=0, copying=0), []),
        (NOW, use(waiting=2, copying=2), []),
        (NOW, use(waiting=30, copying=0), ["num_workers=2, pin_memory=False"]),
        (NOW, use(waiting=0, copying=20), [PINNED, f"{PINNED}, copied on a stream of its own"]),
        (HERS, use(waiting=0, copying=20), ["num_workers=0, pin_memory=True"]),
        (replace(HERS, pinned=True), use(waiting=0, copying=20), []),
        (replace(NOW, pinned=True), use(waiting=0, copying=20), [f"{PINNED}, copied on a stream of its own"]),
        (
            NOW,
            use(waiting=20, copying=20),
            [
                "num_workers=2, pin_memory=False",
                "num_workers=2, pin_memory=True, non_blocking=True",
                "num_workers=2, pin_memory=True, non_blocking=True, copied on a stream of its own",
            ],
        ),
        (replace(NOW, settings=LoaderSettings(4)), use(waiting=30, copying=0), ["num_workers=8, pin_memory=False"]),
        (replace(NOW, settings=LoaderSettings(8)), use(waiting=30, copying=0), []),
    ],
)
def test_what_could_shorten_a_step_is_tried(
    monkeypatch: pytest.MonkeyPatch, now: LoadingMode, seen: DeviceUse, tried: list[str]
) -> None:
    monkeypatch.setattr("pytest_dataloader.probe.host.clocks.cpus_allowed", lambda: 8.0)
    assert [each.text for each in remedies.remedies(DataLoader(Numbers()), now, seen)] == tried


def test_a_loader_that_pins_copies_without_blocking() -> None:
    assert way_of(DataLoader(Numbers()), copies=True).copying == Copying()
    loader = DataLoader(Numbers())
    vars(loader)["pin_memory"] = True
    assert way_of(loader, copies=True).copying == Copying(non_blocking=True)
    assert way_of(loader, copies=False).copying is None


@pytest.mark.usefixtures("log")
def test_a_gain_is_a_share_of_the_step_with_an_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = iter([10.0, 5.0, 5.5, 10.5, 10.0, 4.9, 5.2, 10.2])
    monkeypatch.setattr(TrainingLoop, "time", lambda _self, _seconds: next(lengths))
    other = replace(NOW, settings=LoaderSettings(1))
    found = gain(DataLoader(Numbers()), NOW, other, kind=KIND, step=lambda _: None, seconds=0.01, rounds=4)
    assert found.way == "num_workers=1, pin_memory=False"
    assert (found.ms_now, found.ms) == pytest.approx((10.175, 5.15))
    assert found.saved == pytest.approx(0.49, abs=0.02)
    assert found.interval[0] < found.saved < found.interval[1]
    assert found.certain
    assert found.code == "DL207"


@pytest.mark.usefixtures("log")
def test_real_loops_are_timed() -> None:
    seen = use(waiting=30, copying=0)
    loader = DataLoader(Numbers())
    found = list(gains(loader, NOW, seen, kind=KIND, step=lambda _: None, seconds=0.1, quick=True))
    assert len(found) == 1
    assert found[0].ms_now > 0
    assert found[0].ms > 0
