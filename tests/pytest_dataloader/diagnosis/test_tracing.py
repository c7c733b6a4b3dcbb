"""``trace`` around loops of the user's own: what it tells of them, and that they do not notice."""

from __future__ import annotations

import json
import multiprocessing
import os
import time
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

import pytest_dataloader
from pytest_dataloader import DataLoaderWarning
from pytest_dataloader.errors import BadTarget
from tests.pytest_dataloader.probe.internals.test_envelopes import OTHERS, plain
from tests.pytest_dataloader.probe.loader.test_borrowing import KINDS, STATEFUL, end, kinds, seed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.xdist_group("cpu")


class Rows(Dataset[Any]):
    def __init__(self, length: int) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        time.sleep(0.0005)
        return torch.tensor([index])


def load(length: int = 80, **settings: Any) -> DataLoader[Any]:
    return DataLoader(Rows(length), batch_size=4, **settings)


def traced(path: Path, loader: Any, epochs: int = 1, step: Callable[[], object] = lambda: None) -> dict[str, list[Any]]:
    """The slices of a loop by name, each in order of time."""
    with pytest_dataloader.trace(loader, path, name="train"):
        for _ in range(epochs):
            for _batch in loader:
                step()
    return slices(path)


def slices(path: Path) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for event in json.loads(path.read_text())["traceEvents"]:
        if event["ph"] == "X":
            found.setdefault(event["name"], []).append(event)
    return found


@pytest.mark.parametrize("workers", [0, 2])
def test_every_batch_and_the_steps_between_them_are_told(workers: int, tmp_path: Path) -> None:
    found = traced(tmp_path / "ours.json", load(num_workers=workers), step=lambda: time.sleep(0.002))
    waits, steps = found["wait"], found["step"]
    assert [wait["args"]["batch"] for wait in waits] == [step["args"]["batch"] for step in steps] == list(range(20))
    assert all(step["dur"] >= 2000 for step in steps)
    for wait, step, following in zip(waits, steps, waits[1:], strict=False):
        assert wait["ts"] + wait["dur"] == step["ts"]
        assert step["ts"] + step["dur"] == following["ts"]
    assert len(found["load"]) == len(found["collate"]) == 20
    assert ("send" in found, "receive" in found) == (workers > 0, workers > 0)
    assert {read["pid"] == os.getpid() for read in found["load"]} == {workers == 0}


@pytest.mark.parametrize(
    ("settings", "processes"),
    [({}, 1), ({"num_workers": 2}, 6), ({"num_workers": 2, "persistent_workers": True}, 2)],
)
def test_epochs_follow_each_other(settings: dict[str, Any], processes: int, tmp_path: Path) -> None:
    loader = load(16, **settings)
    found = traced(tmp_path / "ours.json", loader, epochs=3)
    waits = [(wait["args"]["epoch"], wait["args"]["batch"]) for wait in found["wait"]]
    assert waits == [(epoch, number) for epoch in (1, 2, 3) for number in range(4)]
    assert len({read["pid"] for read in found["load"]}) == processes
    end(loader)


@pytest.mark.parametrize("workers", [0, 2])
def test_after_a_hundred_batches_the_loader_is_torch_s_own_again(workers: int, tmp_path: Path) -> None:
    loader = load(800, num_workers=workers, persistent_workers=workers > 0)
    with pytest_dataloader.trace(loader, tmp_path / "ours.json"):
        batches = iter(loader)
        for _ in range(99):
            next(batches)
        assert {"_next_data", "_next_index"} <= set(vars(batches))
        next(batches)
        assert not {"_next_data", "_next_index", "_reset"} & set(vars(batches))
        assert "_get_iterator" not in vars(loader)
        assert len(list(batches)) == 100
    assert len(slices(tmp_path / "ours.json")["wait"]) == 100
    assert len(list(loader)) == 200
    end(loader)


@STATEFUL
@kinds({name: make for name, make in KINDS.items() if name != "endless"}, OTHERS)
def test_a_loop_gets_the_same_batches_to_the_bit(make: Any, tmp_path: Path) -> None:
    seed()
    loader = make()
    expected = [plain(batch) for _ in range(2) for batch in loader]
    end(loader)
    seed()
    loader = make()
    before = {name: id(value) for name, value in vars(loader).items()}
    with pytest_dataloader.trace(loader, tmp_path / "ours.json"):
        seen = [plain(batch) for _ in range(2) for batch in loader]
    if getattr(loader, "in_order", True):
        assert seen == expected
    else:
        assert sorted(seen) == sorted(expected)
    assert set(vars(loader)) == set(before)
    assert len(slices(tmp_path / "ours.json")["load"]) >= len(expected) / 2
    end(loader)


def test_workers_of_an_epoch_that_is_left_end_with_it(tmp_path: Path) -> None:
    loader = load(num_workers=2)
    with pytest_dataloader.trace(loader, tmp_path / "ours.json"):
        for _ in range(2):
            for _batch in loader:
                assert len(multiprocessing.active_children()) == 2
                break
            assert not multiprocessing.active_children()
    assert [wait["args"]["epoch"] for wait in slices(tmp_path / "ours.json")["wait"]] == [1, 2]


class SlowFirst(Rows):
    """Its first batch is made while another worker makes the second and the fourth."""

    def __getitem__(self, index: int) -> Any:
        time.sleep(0.3 if index < 4 else 0)
        return super().__getitem__(index)


def test_an_epoch_that_is_left_with_a_batch_missing_does_not_end_the_trace(tmp_path: Path) -> None:
    loader = DataLoader(SlowFirst(80), batch_size=4, num_workers=2)
    with pytest_dataloader.trace(loader, tmp_path / "ours.json"):
        for _ in range(2):
            for _batch in loader:
                break
    assert [wait["args"]["epoch"] for wait in slices(tmp_path / "ours.json")["wait"]] == [1, 2]


def test_a_loop_that_raises_has_its_file_written(tmp_path: Path) -> None:
    loader = load(num_workers=2)

    def loop() -> None:
        with pytest_dataloader.trace(loader, tmp_path / "ours.json"):
            for number, _batch in enumerate(loader):
                if number == 5:
                    raise RuntimeError("loss is NaN")

    with pytest.raises(RuntimeError, match="loss is NaN"):
        loop()
    assert len(slices(tmp_path / "ours.json")["wait"]) == 6
    assert "_get_iterator" not in vars(loader)


@pytest.mark.parametrize("kind", ["persistent", "endless"])
def test_workers_that_were_started_before_are_not_seen_and_that_is_said(kind: str, tmp_path: Path) -> None:
    make: Any = KINDS["endless"] if kind == "endless" else load
    loader = make() if kind == "endless" else make(num_workers=2, persistent_workers=True)
    assert len(list(loader)) > 2
    with pytest.warns(DataLoaderWarning, match="no batch of the loader was seen"):
        traced(tmp_path / "ours.json", loader)
    assert slices(tmp_path / "ours.json") == {}
    end(loader)


def test_of_a_wrapper_the_loader_inside_is_traced(tmp_path: Path) -> None:
    class Mover:
        def __init__(self, loader: DataLoader[Any]) -> None:
            self.loader = loader

        def __iter__(self) -> Any:
            yield from self.loader

    assert len(traced(tmp_path / "ours.json", Mover(load()))["wait"]) == 20


def test_what_is_no_loader_is_refused(tmp_path: Path) -> None:
    for other in (3, [1, 2], Rows(3)):
        with (
            pytest.raises(BadTarget, match=r"expected a torch\.utils\.data\.DataLoader"),
            pytest_dataloader.trace(other, tmp_path / "no.json"),
        ):
            pass
    assert not list(tmp_path.iterdir())


def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="is a directory"), pytest_dataloader.trace(load(), tmp_path):
        pass
