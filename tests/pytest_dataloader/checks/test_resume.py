"""The resume check on real loaders of torchdata and others: inexact resumption is found, exact ones pass."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import torch

pytest.importorskip("torchdata", reason="torchdata is not installed")
pytestmark = pytest.mark.filterwarnings("ignore:'set_vital' is deprecated")  # by torchdata 0.11, at construction

from pytest_dataloader.checks import Setting  # noqa: E402  # after torchdata is known to be there
from pytest_dataloader.checks.resume import judge, measure  # noqa: E402
from pytest_dataloader.errors import NotMeasured  # noqa: E402
from pytest_dataloader.probe.samples.continuation import Resumption, continued  # noqa: E402
from pytest_dataloader.probe.samples.evidence import Resume  # noqa: E402
from pytest_dataloader.probe.samples.resumption import Overhead, Resumed, Stop, Uninterrupted  # noqa: E402
from tests.variants import first_of_each, named  # noqa: E402
from tests.zoo.resume import CLEAN, FAULTS, UNTOLD  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch.utils.data import DataLoader

QUICK = Setting()


@pytest.fixture(autouse=True)
def _time_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine the budget of a quick check does not reach the next epoch."""
    monkeypatch.setattr("pytest_dataloader.checks.resume._SECONDS", 12.0)


@pytest.mark.parametrize("name", named(FAULTS, first_of_each(FAULTS, lambda case: case.outcome)))
def test_a_loader_that_does_not_resume_is_found(name: str) -> None:
    case = FAULTS[name]
    seen = measure(case.make(), setting=QUICK)
    assert judge(seen).outcome == "failed"
    assert case.outcome in {stop.outcome for stop in seen.stops}


TWINS = ("augmented", "stream without a state", "stream with a state", "a count of its own")


@pytest.mark.parametrize("name", named(CLEAN, TWINS))
def test_a_loader_that_resumes_exactly_passes(name: str) -> None:
    seen = measure(CLEAN[name].make(), setting=QUICK)
    assert judge(seen).outcome == "passed", judge(seen).reason
    assert seen.stops


class Moved:
    """A wrapper that moves batches, and keeps no state of its own."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self.loader = loader

    def __iter__(self) -> Iterator[Any]:
        return iter(self.loader)


@pytest.mark.parametrize(("cases", "outcome"), [(CLEAN, "passed"), (FAULTS, "failed")])
def test_the_loader_in_a_wrapper_is_resumed(cases: Any, outcome: str) -> None:
    case = next(iter(cases.values()))

    def make() -> Moved:
        return Moved(case.make())

    seen = measure(make().loader, setting=replace(QUICK, build=make))
    assert judge(seen).outcome == outcome, judge(seen).reason
    assert "raises" not in {stop.outcome for stop in seen.stops}


def test_what_a_callable_raises_when_it_is_called_again_is_told() -> None:
    def make() -> Any:
        raise OSError("the file is gone")

    verdict = judge(measure(CLEAN["in order"].make(), setting=replace(QUICK, build=make)))
    assert (verdict.outcome, "OSError: the file is gone" in verdict.reason) == ("failed", True), verdict.reason


@pytest.mark.parametrize("name", UNTOLD)
def test_what_cannot_be_told_is_not_measured(name: str) -> None:
    make: Any
    make, reason = UNTOLD[name]
    with pytest.raises(NotMeasured, match=reason):
        measure(make(), setting=QUICK)


def test_a_loader_of_which_no_stop_was_resumed_is_not_passed() -> None:
    verdict = judge(Resume((), 1, 1, None, 0, False, ("0 of 1 stops were resumed",), 1.0))
    assert (verdict.outcome, verdict.vacuous) == ("not_measured", True)


class SlowToBegin(torch.utils.data.IterableDataset[Any]):
    def __iter__(self) -> Iterator[int]:
        time.sleep(0.6)
        yield from range(16)


def test_starting_takes_no_part_of_the_time_for_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_dataloader.checks.resume._SECONDS", 0.1)
    from torchdata.stateful_dataloader import StatefulDataLoader  # type: ignore[import-untyped]  # no py.typed

    seen = measure(StatefulDataLoader(SlowToBegin(), batch_size=1), setting=QUICK)
    assert seen.batches > 1
    assert seen.stops


def test_the_loader_and_random_states_are_as_they_were() -> None:
    loader = CLEAN["shuffled, persistent"].make()
    attributes, state, python = dict(vars(loader)), torch.get_rng_state(), random.getstate()
    measure(loader, setting=QUICK)
    assert vars(loader) == attributes
    assert torch.equal(state, torch.get_rng_state())
    assert python == random.getstate()


def test_snapshots_are_timed_where_a_limit_asks() -> None:
    seen = measure(CLEAN["in order"].make(), setting=QUICK, max_snapshot_overhead=1.0)
    assert seen.overhead is not None
    assert seen.overhead.every_n_steps == 1


@pytest.mark.parametrize(
    ("share", "least", "outcome"), [(0.1, 0.05, "passed"), (0.4, 0.1, "inconclusive"), (0.9, 0.5, "failed")]
)
def test_an_overhead_fails_only_if_it_is_certain(share: float, least: float, outcome: str) -> None:
    stops = (Resumption("after batch 1", "exact"),)
    seen = Resume(stops, 10, 1, Overhead(1, share, least), 0, False, (), 1.0)
    assert judge(seen, max_snapshot_overhead=0.2).outcome == outcome


RUN = Uninterrupted(
    (tuple({"": str(at)} for at in range(6)), tuple({"": f"b{at}"} for at in range(6))), (True, False), (), 0.1
)


@pytest.mark.parametrize(
    ("batches", "got", "outcome", "off_by"),
    [
        (2, ["2", "3", "4", "5"], "exact", 0),
        (2, ["1", "2"], "repeats", 1),
        (2, ["4", "5"], "skips", 2),
        (2, ["b1", "7"], "differs", 0),
        (6, ["b0", "b1"], "exact", 0),
    ],
)
def test_a_shift_is_told_in_batches(batches: int, got: list[str], outcome: str, off_by: int) -> None:
    resumed = Resumed((tuple({"": each} for each in got),))
    seen = continued(RUN, Stop(0, batches, b""), resumed, frozenset({""}))
    assert (seen.outcome, seen.off_by) == (outcome, off_by)
