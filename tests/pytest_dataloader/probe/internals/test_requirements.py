"""Private names of torch are looked up; whatever differs is seen and named."""

from __future__ import annotations

import functools
import sys
import types
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

from pytest_dataloader.probe.internals import requirements
from pytest_dataloader.probe.internals.requirements import Accepts, Exists, HasFields, Requirement, Stores, Takes


class Iterator:
    def __init__(self, loader: Any) -> None:
        self._tasks = loader

    def get(self, timeout: float, *, retry: bool = False) -> tuple[float, bool]:
        return timeout, retry


@dataclass
class Epoch:
    seed: int


class Ended(NamedTuple):
    worker_id: int


@pytest.fixture
def torch_like(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = types.ModuleType("torch_like")
    module.Iterator, module.Epoch, module.Ended, module.none = Iterator, Epoch, Ended, None
    monkeypatch.setitem(sys.modules, "torch_like", module)


@pytest.mark.usefixtures("torch_like")
@pytest.mark.parametrize(
    ("row", "mismatch"),
    [
        (Exists("torch_like.Iterator.get"), ""),
        (Exists("torch_like.none"), ""),
        (Exists("torch_like.Iterator.put"), "is missing"),
        (Exists("no_such_torch.Iterator"), "is missing"),
        (Takes("torch_like.Iterator.get", ("self, timeout", "self, timeout, retry")), ""),
        (Takes("torch_like.Iterator.get", ("self, timeout",)), "takes retry"),
        (Takes("torch_like.Iterator.get", ("self, timeout, retry, block",)), "takes no block"),
        (Takes("torch_like.Iterator.get", ("self, deadline, retry",)), "takes timeout and takes no deadline"),
        (Takes("torch_like.Iterator.get", ("self, retry, timeout",)), "takes its parameters in another order"),
        (Takes("torch_like.Iterator.put", ("self",)), "is missing"),
        (Stores("torch_like.Iterator", "__init__", ("_tasks",)), ""),
        (Stores("torch_like.Iterator", "__init__", ("_tasks", "_workers")), "has no _workers"),
        (Stores("torch_like.Iterator", "_reset", ("_tasks",)), "has no _reset"),
        (Stores("torch_like.Gone", "_reset", ("_tasks",)), "has no _reset"),
        (HasFields("torch_like.Epoch", ("seed",)), ""),
        (HasFields("torch_like.Ended", ("worker_id",)), ""),
        (HasFields("torch_like.Epoch", ("shared_seed",)), "has the fields (seed)"),
        (HasFields("torch_like.Gone", ("seed",)), "is missing"),
        (Accepts("torch_like.Epoch", ("seed",)), ""),
        (Accepts("torch_like.Epoch", ("id",)), "cannot be called with (id): missing a required argument: 'seed'"),
        (Accepts("torch_like.Gone", ("id",)), "is missing"),
    ],
)
def test_what_differs_is_named(row: Requirement, mismatch: str) -> None:
    assert row.mismatch() == mismatch


@pytest.mark.parametrize("part", requirements.ROWS)
def test_the_torch_of_the_development_is_as_required(part: requirements.Part) -> None:
    assert requirements.mismatches(part) == ()


@pytest.mark.parametrize("tidy", [True, False])
def test_what_somebody_wrapped_is_looked_at_as_it_was(monkeypatch: pytest.MonkeyPatch, tidy: bool) -> None:
    """This package does so while it watches iterators, and trainers do with loaders."""
    from torch.utils.data.dataloader import _BaseDataLoaderIter

    original = _BaseDataLoaderIter.__init__

    def watched(*arguments: Any, **options: Any) -> None:
        original(*arguments, **options)

    monkeypatch.setattr(_BaseDataLoaderIter, "__init__", functools.wraps(original)(watched) if tidy else watched)
    for row in requirements.ROWS["torch_private"]:
        assert row.mismatch() == ""


@pytest.mark.parametrize(
    ("version", "tried"),
    [("2.3.1", False), ("2.4.0", True), ("2.15.1+cu132", True), ("2.16.0a0", False), ("3.0", False), ("main", False)],
)
def test_releases_that_were_tried_are_known(version: str, tried: bool) -> None:
    assert requirements.was_tried(version) is tried
