"""Loaders are found as they are iterated: by name and place, however they are made, once each."""

from __future__ import annotations

import functools
import gc
import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from torch.utils.data import DataLoader

from pytest_dataloader import diagnose
from pytest_dataloader.probe.internals import torch_private
from pytest_dataloader.probe.training.discovery import Discovery, _AfterImport

if TYPE_CHECKING:
    from collections.abc import Iterator

NUMBERS: Any = list(range(8))


@pytest.fixture
def discovery() -> Iterator[Discovery]:
    found = Discovery(keeps_copies=True)
    found.start()
    yield found
    found.stop()


def make() -> Any:
    return DataLoader(NUMBERS, batch_size=2)


def called(discovery: Discovery) -> list[str]:
    return [each.called[0] for each in discovery.loaders]


def test_a_loader_is_called_what_the_users_code_calls_it(discovery: Discovery) -> None:
    train = DataLoader(NUMBERS)
    validation = make()
    unused = make()
    for loader in (train, validation, train, make()):
        list(loader)
    assert called(discovery) == ["train", "validation", "loader"]
    made, by_make = (each.made_at[0] for each in discovery.loaders[:2])
    here = Path(__file__).read_text().splitlines()
    assert "train = DataLoader" in here[made.line - 1]
    assert "return DataLoader" in here[by_make.line - 1]
    assert Path(made.file).name == Path(__file__).name
    del unused


def test_loaders_that_follow_each_other_at_one_place_are_one(discovery: Discovery) -> None:
    for _fold in range(3):
        loader = make()
        list(loader)
        del loader
        gc.collect()
    pair = [make() for _ in range(2)]
    for each in pair:
        list(each)
    assert [each.meter.loaders for each in discovery.loaders] == [3, 1, 1]
    assert discovery.loaders[0].meter.totals.epochs == 3


def test_a_copy_stays_when_the_loader_goes_and_its_workers_go_with_it(discovery: Discovery) -> None:
    loader = DataLoader(NUMBERS, num_workers=1, persistent_workers=True)
    list(loader)
    (process,) = torch_private.worker_processes(loader._iterator)
    del loader
    gc.collect()
    assert not process.is_alive()
    (found,) = discovery.loaders
    assert found.alive is None
    assert found.copy.dataset is NUMBERS


def test_a_loader_that_is_never_iterated_is_not_found(discovery: Discovery) -> None:
    assert len(make()) == 4
    assert not discovery.loaders


def test_copies_that_this_package_iterates_are_left_out(discovery: Discovery) -> None:
    loader = make()
    diagnose(loader, checks=["fds"], quick=True)
    assert not discovery.loaders
    list(loader)
    assert called(discovery) == ["loader"]


def test_loaders_made_before_are_found_too() -> None:
    loader = make()
    discovery = Discovery()
    discovery.start()
    try:
        list(loader)
    finally:
        discovery.stop()
    (found,) = discovery.loaders
    assert (found.called[0], found.made_at, found.copy) == ("loader", (), None)
    assert found.iterated_at is not None


def test_a_loader_with_a_way_of_its_own_to_make_iterators_is_found_once(discovery: Discovery) -> None:
    class Own(DataLoader[Any]):
        def _get_iterator(self) -> Any:
            return super()._get_iterator()

    list(Own(NUMBERS))
    assert [each.meter.totals.epochs for each in discovery.loaders] == [1]


def test_torch_is_as_it_was_afterwards() -> None:
    kept = dict(vars(DataLoader))
    discovery = Discovery()
    discovery.start()
    assert vars(DataLoader)["__init__"] is not kept["__init__"]
    discovery.stop()
    assert dict(vars(DataLoader)) == kept


def test_a_torch_that_is_not_as_known_is_left_alone(discovery: Discovery, monkeypatch: pytest.MonkeyPatch) -> None:
    from pytest_dataloader.probe.internals import requirements

    monkeypatch.setattr(requirements, "mismatches", lambda part: (f"{part}.name is missing",))
    assert len(list(make())) == 4
    assert (discovery.loaders, discovery.unsupported) == ([], "torch_private.name is missing")


def test_a_module_is_met_as_soon_as_it_is_executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.joinpath("found_late.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    seen: list[int] = []
    finder = _AfterImport("found_late", lambda: seen.append(sys.modules["found_late"].value))
    sys.meta_path.insert(0, finder)
    try:
        importlib.import_module("colorsys")
        assert finder in sys.meta_path
        importlib.import_module("found_late")
    finally:
        finder.leave()
        sys.modules.pop("found_late", None)
    assert (seen, finder in sys.meta_path) == ([1], False)


def test_what_is_wanted_can_be_said() -> None:
    wanted, other = make(), make()
    discovery = Discovery(wanted=functools.partial(lambda one, loader: loader is one, wanted))
    discovery.start()
    try:
        list(other)
        list(wanted)
    finally:
        discovery.stop()
    assert len(discovery.loaders) == 1
