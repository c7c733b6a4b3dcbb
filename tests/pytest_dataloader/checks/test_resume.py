"""The resume check: its judgement over made-up evidence, and real loaders of torchdata and others."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import torch

pytest.importorskip("torchdata", reason="torchdata is not installed")
pytestmark = pytest.mark.filterwarnings("ignore:'set_vital' is deprecated")  # by torchdata 0.11, at construction

from pytest_dataloader import checks  # noqa: E402  # as the next
from pytest_dataloader.checks import Setting  # noqa: E402  # after torchdata is known to be there
from pytest_dataloader.checks.resume import judge, measure  # noqa: E402
from pytest_dataloader.errors import NotMeasured  # noqa: E402
from pytest_dataloader.loaders import measurable  # noqa: E402
from pytest_dataloader.probe.loader.stream import stream_of  # noqa: E402
from pytest_dataloader.probe.samples.continuation import Resumption  # noqa: E402
from pytest_dataloader.probe.samples.resumption import Overhead  # noqa: E402
from tests.judgement import Judgement  # noqa: E402
from tests.variants import first_of_each, named  # noqa: E402
from tests.zoo import evidence  # noqa: E402
from tests.zoo.resume import CLEAN, FAULTS, LONG, NAMED, RELOADED, UNSURE, UNTOLD  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch.utils.data import DataLoader

    from pytest_dataloader.probe.samples.evidence import Resume

QUICK = Setting()


SEEN = evidence.RESUME
DEAR = replace(SEEN, overhead=Overhead(4, 0.1, 0.05))
SHIFTED = Resumption("after batch 6", "repeats", 1)


def stopped(*stops: Resumption) -> Resume:
    return replace(SEEN, stops=stops)


def reloaded(*stops: Resumption) -> Resume:
    return replace(SEEN, reloading_workers=3, reloaded=stops)


LOST = Resumption("after batch 6", "twice", twice=4, never=5)
EXACT = "resumes exactly after 2 stops in 24 batches"
COST = "snapshots cost 10 % of CPU time, one every 4 steps"
LOST_WITH_3 = "resumed after batch 6 with 3 workers instead of 2: 4 samples duplicated and 5 samples missing"
REFUSED = Resumption("after batch 1", "raises", detail="AssertionError")
REFUSED_WITH_3 = "the state is refused with 3 workers instead of 2: AssertionError"
RELOADED_EXACTLY = reloaded(Resumption("after batch 1", "exact"))
WITH_3: dict[str, float] = {"resume_workers": 3}


def at_most(share: float) -> dict[str, float]:
    return {"max_snapshot_overhead": share}


VERDICTS = {
    "exact": Judgement(SEEN, "passed", "resumes exactly after 2 stops in 24 batches", in_full=True),
    "exact once": Judgement(
        replace(SEEN, stops=SEEN.stops[:1], batches=1), "passed",
        "resumes exactly after 1 stop in 1 batch", in_full=True
    ),
    "exact, in part": Judgement(
        replace(SEEN, partly=("2 of 3 stops were resumed",)), "passed",
        "resumes exactly after 2 stops in 24 batches\n"
        "2 of 3 stops were resumed",
        in_full=True,
    ),
    "exact, and then another order": Judgement(
        stopped(*SEEN.stops, replace(SEEN.stops[0], next_epoch=False), replace(SEEN.stops[0], next_epoch=True)),
        "passed",
        "resumes exactly after 4 stops in 24 batches\n"
        "the next epoch has another order after 1",
        in_full=True,
    ),
    "no stop": Judgement(
        replace(stopped(), partly=("0 of 1 stops were resumed",)), "not_measured",
        "no stop was tried\n0 of 1 stops were resumed", vacuous=True, in_full=True,
    ),
    "nothing twice, and another order": Judgement(
        stopped(SEEN.stops[0], Resumption("after batch 6", "reordered")), "passed",
        "no duplicates, none missing after 2 stops in 24 batches\n"
        "the rest of the epoch came in another order after 1",
        in_full=True,
    ),
    "samples twice and never": Judgement(
        replace(
            stopped(Resumption("after batch 6", "twice", twice=65, never=64)), follows_random_state=True,
            orders="RandomSampler",
        ), "failed",
        "resumed after batch 6: 65 samples duplicated and 64 samples missing\n"
        "the order of RandomSampler depends on the random state, which its state lacks", ("",), in_full=True,
    ),
    "a sample twice": Judgement(
        stopped(Resumption("after batch 6", "twice", twice=1)), "failed",
        "resumed after batch 6: 1 sample duplicated", ("",), in_full=True,
    ),
    "right with its random states": Judgement(
        stopped(Resumption("after batch 6", "random_states", never=2)), "inconclusive",
        "resumed after batch 6: 2 samples missing, unless the random states are restored, too", ("",), in_full=True,
    ),
    "right with its random states, and wrong": Judgement(
        stopped(Resumption("after batch 6", "random_states", never=2), SHIFTED), "failed", "resumed after batch 6",
        ("",),
    ),
    "wrong in the second epoch": Judgement(
        stopped(
            SEEN.stops[0],
            Resumption(
                "after batch 6 of epoch 2", "differs", 0, "other batches come", epoch=1, twice=2, never=3
            ),
        ), "failed",
        "resumed after batch 6 of epoch 2: other batches come: 2 samples duplicated and 3 samples missing\n"
        "the first epoch is resumed exactly", ("",), in_full=True,
    ),
    "wrong when it is resumed again": Judgement(
        stopped(SEEN.stops[0], Resumption("twice, after batch 1 and after batch 6", "skips", 1, again=True)), "failed",
        "resumed twice, after batch 1 and after batch 6: skips 1 batch\n"
        "a run that is resumed once goes on exactly", ("",),
        in_full=True,
    ),
    "repeats": Judgement(
        stopped(SHIFTED), "failed", "resumed after batch 6: repeats 1 batch", ("",), in_full=True
    ),
    "skips": Judgement(
        stopped(Resumption("after batch 6", "skips", 2)), "failed",
        "resumed after batch 6: skips 2 batches",
        ("",), in_full=True,
    ),
    "ends too soon": Judgement(
        stopped(Resumption("after batch 6", "short", 3, "3 batches of 6")), "failed",
        "resumed after batch 6: the epoch ends early (3 batches of 6)", ("",), in_full=True,
    ),
    "gives others": Judgement(
        stopped(Resumption("after batch 6", "differs", detail="other batches come")), "failed",
        "resumed after batch 6: other batches come", ("",), in_full=True,
    ),
    "raises": Judgement(
        stopped(Resumption("after batch 6", "raises", detail="OSError: gone")), "failed",
        "resumed after batch 6: raises OSError: gone", ("",), in_full=True,
    ),
    "one wrong stop of two, in part": Judgement(
        replace(stopped(SEEN.stops[0], SHIFTED), partly=("its end was not run",)), "failed",
        "resumed after batch 6: repeats 1 batch\nits end was not run", ("",), in_full=True,
    ),
    "two wrong stops of three": Judgement(
        stopped(SHIFTED, SEEN.stops[0], replace(SHIFTED, place="after batch 8", off_by=2)), "failed",
        "resumed after batch 6: repeats 1 batch\nwrong at 2 of 3 stops\n"
        "  after batch 8: repeats 2 batches", ("",), in_full=True,
    ),
    "wrong, however cheap": Judgement(
        replace(DEAR, stops=(SHIFTED,)), "failed", "resumed after batch 6", ("",), at_most(1.0)
    ),
    "a cost without a limit": Judgement(
        DEAR, "passed",
        "resumes exactly after 2 stops in 24 batches\n"
        "snapshots cost 10 % of CPU time, one every 4 steps", in_full=True,
    ),
    "a cost below nothing": Judgement(
        replace(SEEN, overhead=Overhead(1, -0.02, -0.05)), "passed",
        "resumes exactly after 2 stops in 24 batches\n"
        "snapshots cost 0 % of CPU time, one every 1 steps\n"
        "limit 0 % of CPU time for snapshots", (), at_most(0.0),
        in_full=True,
    ),
    "a cost at the limit": Judgement(
        DEAR, "passed",
        "resumes exactly after 2 stops in 24 batches\n"
        "snapshots cost 10 % of CPU time, one every 4 steps\n"
        "limit 10 % of CPU time for snapshots", (), at_most(0.1), in_full=True
    ),
    "a cost that may be above the limit": Judgement(
        DEAR, "inconclusive",
        "10 % of CPU time goes into snapshots, limit 5 %\n"
        "too close to call\nresumes exactly after 2 stops in 24 batches\n"
        "snapshots cost 10 % of CPU time, one every 4 steps", (), at_most(0.05), in_full=True
    ),
    "a cost that is above the limit": Judgement(
        replace(DEAR, partly=("its end was not run",)), "failed",
        "10 % of CPU time goes into snapshots, limit 4 %\n"
        "resumes exactly after 2 stops in 24 batches\n"
        "snapshots cost 10 % of CPU time, one every 4 steps\n"
        "its end was not run", ("",), at_most(0.04), in_full=True,
    ),
    "exact with other workers": Judgement(RELOADED_EXACTLY, "passed", EXACT, in_full=True),
    "exact with the workers that are asked for": Judgement(
        RELOADED_EXACTLY, "passed", EXACT, (), WITH_3, in_full=True
    ),
    "exact with its own workers, which are asked for": Judgement(SEEN, "passed", EXACT, (), {"resume_workers": 2}),
    "samples twice with other workers": Judgement(
        reloaded(Resumption("after batch 1", "twice", twice=1), LOST), "passed", f"{EXACT}\n  {LOST_WITH_3}", ("",),
        in_full=True,
    ),
    "samples twice with the workers that are asked for": Judgement(
        reloaded(LOST), "failed", LOST_WITH_3, ("",), WITH_3, in_full=True
    ),
    "a state that is refused": Judgement(
        reloaded(REFUSED, REFUSED), "passed", f"{EXACT}\n  {REFUSED_WITH_3}", in_full=True
    ),
    "a state that is refused by the workers that are asked for": Judgement(
        reloaded(REFUSED), "failed", REFUSED_WITH_3, (), WITH_3, in_full=True
    ),
    "no state that was loaded with the workers that are asked for": Judgement(
        replace(SEEN, partly=("its end was not run",)), "not_measured",
        "no state was loaded with 3 workers\nits end was not run", (), WITH_3, in_full=True,
    ),
    "samples twice with other workers, and a cost at the limit": Judgement(
        replace(reloaded(LOST), overhead=DEAR.overhead), "passed",
        f"{EXACT}\n{COST}\nlimit 10 % of CPU time for snapshots\n  {LOST_WITH_3}", ("",), at_most(0.1), in_full=True,
    ),
    "a cost that was not measured": Judgement(
        replace(SEEN, partly=("its end was not run",)), "not_measured",
        "the cost of snapshots could not be measured\n"
        "resumes exactly after 2 stops in 24 batches\n"
        "its end was not run", (), at_most(0.1), in_full=True,
    ),
}  # fmt: skip


@pytest.mark.parametrize("row", VERDICTS.values(), ids=VERDICTS)
def test_the_verdict_follows_from_the_evidence(row: Judgement) -> None:
    assert row.of(judge) == row


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


TWINS = (
    "augmented", "stream with a state", "a count of its own", "a shuffle of what is left",
    "nodes in order", "a pipeline of its own", "shuffled by the epoch",
)  # fmt: skip


@pytest.mark.parametrize("name", named(CLEAN, TWINS))
def test_a_loader_that_resumes_exactly_passes(name: str) -> None:
    seen = measure(CLEAN[name].make(), setting=QUICK)
    assert judge(seen).outcome == "passed", judge(seen).reason
    assert seen.stops


def test_an_order_that_follows_the_random_state_is_judged_by_its_samples() -> None:
    seen = measure(CLEAN["a shuffle of what is left"].make(), setting=QUICK)
    assert seen.follows_random_state
    assert {stop.outcome for stop in seen.stops} == {"reordered"}
    case = FAULTS["a count of another shuffle"]
    seen = measure(case.make(), setting=QUICK)
    assert all(stop.twice and stop.never for stop in seen.stops if stop.place == "after batch 5"), seen.stops
    assert "the order of RandomSampler depends on the random state" in judge(seen).reason


def test_a_part_of_an_epoch_shows_samples_that_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_dataloader.checks.resume._MOST_WHOLE", 60)
    seen = measure(LONG.make(), setting=QUICK)
    verdict = judge(seen)
    assert verdict.outcome == "failed"
    assert "samples duplicated\nthe order of RandomSampler" in verdict.reason
    assert "the first 60 batches of an epoch were run" in verdict.reason


def test_what_only_its_random_states_make_right_is_inconclusive() -> None:
    verdict = judge(measure(UNSURE["by torch's first seed"].make(), setting=QUICK))
    assert (verdict.outcome, "restored, too" in verdict.reason) == ("inconclusive", True), verdict.reason


def test_a_stop_of_a_resumed_run_is_resumed_too() -> None:
    seen = measure(FAULTS["a count that begins anew"].make(), setting=QUICK)
    assert {stop.outcome for stop in seen.stops if not stop.again} == {"exact"}
    assert {stop.outcome for stop in seen.stops if stop.again} == {"repeats"}


@pytest.mark.parametrize(
    ("cases", "name", "outcome"),
    [(CLEAN, "a pipeline of its own", "passed"), (FAULTS, "a pipeline that forgets the epoch", "failed")],
)
def test_what_is_no_dataloader_is_resumed_where_it_keeps_a_state(cases: Any, name: str, outcome: str) -> None:
    stream = stream_of(cases[name].make(), "pipeline")
    assert stream is not None
    assert checks.applies("resume", stream, None)
    seen = checks.measure("resume", stream, setting=QUICK, limits={})
    assert checks.judge("resume", seen, limits={}).outcome == outcome


@pytest.mark.parametrize("name", NAMED)
def test_the_methods_are_those_that_are_named(name: str) -> None:
    case, state, load = NAMED[name]
    made: Any = case.make()
    limits = checks.read_limits("resume", {"state": state, "load": load})
    assert checks.call_for(limits)
    seen = checks.measure("resume", measurable(made), setting=QUICK, limits=limits)
    verdict = checks.judge("resume", seen, limits=limits)
    assert verdict.outcome == ("failed" if case.outcome else "passed"), verdict.reason
    assert case.outcome in {stop.outcome for stop in seen.stops} | {""}


def test_methods_that_are_not_there_are_named() -> None:
    with pytest.raises(NotMeasured, match=r"DataLoader has no sampler\.position and sampler\.gone$"):
        measure(NAMED["a sampler that skips"][0].make(), setting=QUICK, state="sampler.position", load="sampler.gone")


@pytest.mark.parametrize("name", named(RELOADED, first_of_each(RELOADED, lambda case: case.outcome)))
def test_a_state_is_loaded_with_another_number_of_workers(name: str) -> None:
    loader = RELOADED[name].make()
    seen = measure(loader, setting=QUICK)
    assert (seen.workers, seen.reloading_workers) in {(2, 1), (1, 2)}
    assert {stop.outcome for stop in seen.reloaded} == {RELOADED[name].outcome or "exact"}
    verdict = judge(seen)
    differs = f"with {seen.reloading_workers} worker" in verdict.reason
    assert (verdict.outcome, differs) == ("passed", bool(RELOADED[name].outcome)), verdict.reason
    assert loader.num_workers == seen.workers


def test_a_state_is_loaded_with_the_workers_that_are_asked_for() -> None:
    lost, whole = (RELOADED[name].make() for name in ("a count of a stream", "a count of rows"))
    for loader, outcome in ((lost, "failed"), (whole, "passed")):
        seen = measure(loader, setting=QUICK, resume_workers=3)
        assert seen.reloading_workers == 3
        assert judge(seen, resume_workers=3).outcome == outcome


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


class SlowToBegin(torch.utils.data.IterableDataset[Any]):
    def __iter__(self) -> Iterator[int]:
        time.sleep(0.6)
        yield from range(16)


def test_starting_takes_no_part_of_the_time_for_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_dataloader.checks.resume._SECONDS", 0.5)
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
