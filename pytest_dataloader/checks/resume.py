"""Resume: does a stopped loader go on exactly where it was, in a fresh process, and what do snapshots cost?"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_dataloader.advice import resume as sentences
from pytest_dataloader.advice.coverage import coverage
from pytest_dataloader.errors import NothingSeen, NotMeasured
from pytest_dataloader.probe.internals import torch_private
from pytest_dataloader.probe.loader import sampling
from pytest_dataloader.probe.loader.recognition import is_dataloader
from pytest_dataloader.probe.samples.continuation import (
    RIGHT,
    UNSURE_STOPS,
    Resumption,
    chosen_stops,
    chosen_whole,
    completed,
    continued,
    continued_with_workers,
    distinct_parts,
    identifying_parts,
    overlapping,
    stable_parts,
)
from pytest_dataloader.probe.samples.evidence import Resume
from pytest_dataloader.probe.samples.rank_simulation import rank_arguments
from pytest_dataloader.probe.samples.resumption import Resumable, StateMethods, Stop, Uninterrupted, snapshot_overhead
from pytest_dataloader.quantities import counted
from pytest_dataloader.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_dataloader.checks import Setting
    from pytest_dataloader.settings.limits import Count, Method, Share

NEEDS_BENCH = False

_SECONDS = 2.0
"""Budget of the uninterrupted run; the resumed ones take what is left of three times as much."""
_MOST = 48
_TAIL = 12
"""Batches compared after a stop, and two more of the next epoch where that comes first."""
_MOST_WHOLE = 2000
"""Batches of an epoch that is run to its end."""
_TWICE = 2
"""Resumed runs that are stopped once more."""
_LEAST = 2
"""Stops that are resumed in any case: one of each epoch, where two were run."""
_MORE = 2
"""Workers with which a state of one worker is loaded."""
_FOLLOWS = "batches depend on the random state {}: a resumed run cannot be compared"
_RUN_SECONDS = 0.4
_MOST_TIMED = 2000


def applies(loader: Any, _build: Any) -> bool:
    """Whether a state can be taken of the loader, and of those inside it, and loaded again."""
    return keeps_state(loader, {})


def keeps_state(loader: Any, limits: Mapping[str, Any]) -> bool:
    """The same by the names that limits give."""
    return not _without_state(loader, _methods(limits.get("state"), limits.get("load")))


def _methods(state: str | None, load: str | None) -> StateMethods:
    usual = StateMethods()
    return StateMethods(state or usual.state, load or usual.load)


def _without_state(loader: Any, methods: StateMethods) -> list[Any]:
    """The loader, and those inside it, of which no state can be taken; names of the user's are of the loader alone."""
    inside = sampling.loaders_inside(loader) if is_dataloader(loader) and methods == StateMethods() else []
    return [each for each in (loader, *inside) if not methods.are_of(each)]


def measure(
    loader: Any,
    *,
    setting: Setting,
    max_snapshot_overhead: float | None = None,
    state: str | None = None,
    load: str | None = None,
    resume_workers: Count | None = None,
) -> Resume:
    """Run two epochs in a child, taking a state after each batch; load some of the states in fresh processes.

    Where the order follows the random state, samples are counted instead, of epochs that are run to their ends. Raises
    NotMeasured for loaders without ``state_dict`` and ``load_state_dict``, and for samples that are random throughout,
    which cannot be told apart.
    """
    started = time.monotonic()
    methods = _methods(state, load)
    if without := _without_state(loader, methods):
        usual = ": see StatefulDataLoader of torchdata" if methods == StateMethods() else ""
        which = f"{type(without[-1]).__name__} has no {methods.state} and {methods.load}"
        raise NotMeasured(f"not resumable: {which}{usual}")
    build = None if setting.build is None or rank_arguments(setting.build, 0, 1) else setting.build
    what = Resumable(loader, build, methods)
    seconds = setting.budget(_SECONDS, share=1 / 3)
    run = what.run_through(seed=1, most=_MOST, seconds=seconds)
    if run.error or not run.stops:
        raise NothingSeen(f"an uninterrupted run gave no batch: {run.error or 'the epoch is empty'}")
    parts = stable_parts(run, what.run_through(seed=2, most=_MOST // 4, seconds=seconds / 2))
    trial = _Trial(what, setting, started + 3 * seconds)
    if parts is None:
        run, parts = trial.samples(run, seconds)
    else:
        trial.batches(run, parts)
    trial.reload(run, parts, resume_workers)
    overhead = None
    every = getattr(loader, "snapshot_every_n_steps", None)
    if every and (max_snapshot_overhead is not None or setting.bench):
        setting.progress("running with and without snapshots", 0.8)
        timed = max(16, min(_MOST_TIMED, int(_RUN_SECONDS / max(1e-5, run.seconds_per_batch))))
        overhead = snapshot_overhead(loader, every, batches=timed)
    partly = [f"{trial.resumed} of {trial.planned} stops were tried"] if trial.resumed < trial.planned else []
    if not run.ended[0]:
        partly.append(f"the first {len(run.epochs[0])} batches of an epoch were run")
    return Resume(
        stops=tuple(trial.found),
        batches=sum(map(len, run.epochs)),
        overhead=overhead,
        workers=what.own_workers or 0,
        persistent_workers=bool(getattr(loader, "persistent_workers", False)),
        partly=tuple(partly),
        seconds=round(time.monotonic() - started, 3),
        follows_random_state=trial.by_samples,
        orders=_what_orders(loader),
        keeper=_what_keeps_the_position(loader, methods),
        reloading_workers=trial.reloading_workers,
        reloaded=tuple(trial.reloaded),
    )


def _what_orders(loader: Any) -> str:
    """What decides the order of samples, by its type: the iterable dataset, the sampler; or the loader as a whole."""
    if not is_dataloader(loader):
        return type(loader).__name__
    return type(loader.dataset if torch_private.reads_by_iteration(loader) else sampling.named_sampler(loader)).__name__


def _what_keeps_the_position(loader: Any, methods: StateMethods) -> str:
    """The type of the user's whose state says how far an epoch is; empty where that is left to torchdata."""
    if methods != StateMethods() or not _is_of_torch(loader):
        return type(loader).__name__
    if not is_dataloader(loader):
        return ""
    given = loader.dataset if torch_private.reads_by_iteration(loader) else sampling.named_sampler(loader)
    return type(given).__name__ if methods.are_of(given) and not _is_of_torch(given) else ""


def _is_of_torch(thing: Any) -> bool:
    """Whether torchdata, or torch, says what the state of a thing is."""
    classes = (kind for kind in type(thing).__mro__ if "state_dict" in vars(kind))
    return next((kind.__module__.partition(".")[0] in ("torch", "torchdata") for kind in classes), False)


class _Trial:
    """Stops that are resumed until a time is over, the most telling first; some are, however long it takes."""

    def __init__(self, what: Resumable, setting: Setting, deadline: float) -> None:
        self.what, self.setting, self.deadline = what, setting, deadline
        self.found: list[Resumption] = []
        self.planned = self.resumed = 0
        self.by_samples = False
        self.reloading_workers = 0
        self.reloaded: list[Resumption] = []

    def _each(self, stops: Sequence[Stop]) -> Iterator[Stop]:
        """The stops for which there is time."""
        self.planned += len(stops)
        for number, stop in enumerate(stops):
            if len(self.found) >= _LEAST and time.monotonic() > self.deadline:
                return
            self.setting.progress("resuming in a fresh process", number / len(stops))
            self.resumed += 1
            yield stop

    def batches(self, run: Uninterrupted, parts: frozenset[str]) -> None:
        """Hold batches against those of the uninterrupted run; of stops that go on exactly, stop some once more."""
        again: list[Stop] = []
        stops = [stop for stop in chosen_stops(run) if _tail(run, stop)]
        for stop in self._each(stops):
            further = _tail(run, stop) // 2 if stop.batches + 4 <= len(run.epochs[stop.epoch]) else 0
            resumed = self.what.resume(stop, most=_tail(run, stop), again_after=further)
            self.found.append(continued(run, stop, resumed, parts))
            if resumed.state and self.found[-1].outcome == "exact":
                again.append(Stop(stop.epoch, stop.batches + further, resumed.state, earlier=stop.batches))
        for stop in self._each(again[:_TWICE]):
            self.found.append(continued(run, stop, self.what.resume(stop, most=_tail(run, stop)), parts))

    def samples(self, run: Uninterrupted, seconds: float) -> tuple[Uninterrupted, frozenset[str]]:
        """Count the samples of epochs whose order follows the random state; the run by which that was done.

        Of epochs that are too long to be run to their ends it is seen whether samples come twice, if many do. Raises
        NotMeasured where no part of a sample says which one it is.
        """
        self.by_samples = True
        if not run.ended[0]:
            run = self.what.run_through(seed=1, most=_MOST_WHOLE, seconds=seconds)
        other = self.what.run_through(seed=2, most=_MOST_WHOLE, seconds=seconds)
        whole = all(each.ended and each.ended[0] for each in (run, other))
        parts = identifying_parts(run, other) if whole else frozenset(distinct_parts(run, other))
        if not parts:
            raise NotMeasured(_FOLLOWS.format("throughout"))
        for stop in self._each(chosen_whole(run) if whole else _middle(run)):
            seen = self._counted(run, other, stop, parts, whole=whole)
            if seen is not None and seen.outcome == "twice":
                restored = self._counted(run, other, stop, parts, whole=whole, random_states=True)
                if restored is None or restored.outcome in RIGHT:
                    seen = replace(seen, outcome="random_states")
            self.found += [] if seen is None else [seen]
        if not self.found and not whole:
            part = f"in the first {counted(len(run.epochs[0]), 'batch')} of an epoch, whose end was not run"
            raise NotMeasured(_FOLLOWS.format(part))
        return run, parts

    def reload(self, run: Uninterrupted, parts: frozenset[str], workers: int | None) -> None:
        """Load states with another number of workers: the one asked for, or where there is time for it, one less.

        Nothing is found where the loader does not run with so many, or gives too little that it gives with its own;
        nothing is looked for where it is wrong with its own.
        """
        own = self.what.own_workers
        if any(stop.outcome not in RIGHT for stop in self.found):
            return
        if own is None or workers == own or (workers is None and (not own or time.monotonic() > self.deadline)):
            return
        self.reloading_workers = workers or (own - 1 if own > 1 else _MORE)
        what = replace(self.what, workers=self.reloading_workers)
        length = len(run.epochs[0])
        most = 2 * length + self.reloading_workers
        other = what.run_through(seed=1, most=most, seconds=max(_SECONDS, self.deadline - time.monotonic()))
        if other.error or not other.stops:
            return
        for stop in [stop for stop in chosen_stops(run) if stop.epoch == 0 and 0 < stop.batches < length][:_TWICE]:
            resumed = what.resume(stop, most=most if run.ended[0] else _tail(run, stop))
            found = continued_with_workers(run, other, stop, resumed, parts)
            self.reloaded += [] if found is None else [found]

    def _counted(
        self,
        run: Uninterrupted,
        other: Uninterrupted,
        stop: Stop,
        parts: frozenset[str],
        *,
        whole: bool,
        random_states: bool = False,
    ) -> Resumption | None:
        length = len(run.epochs[stop.epoch])
        resumed = self.what.resume(stop, most=length + 2 if whole else length, random_states=random_states)
        if whole:
            return completed(run, other, stop, resumed, parts)
        return overlapping(run, stop, resumed, sorted(parts))


def _middle(run: Uninterrupted) -> list[Stop]:
    """The stop in the middle of what was run of the first epoch."""
    there = [stop for stop in run.stops if stop.epoch == 0 and not stop.ended]
    return [min(there, key=lambda stop: abs(stop.batches - len(run.epochs[0]) / 2))]


def _tail(run: Uninterrupted, stop: Stop) -> int:
    """Batches to compare after a stop."""
    left = len(run.epochs[stop.epoch]) - stop.batches
    return left + 2 if run.ended[stop.epoch] and left <= _TAIL else min(left, _TAIL)


def judge(
    evidence: Resume,
    *,
    max_snapshot_overhead: Share | None = None,
    state: Method | None = None,  # noqa: ARG001
    load: Method | None = None,  # noqa: ARG001
    resume_workers: Count | None = None,
) -> Verdict:
    """Fail for a stop after which other batches come, and for snapshots that certainly cost more than allowed.

    What another number of workers makes of a state is stated, and fails where ``resume_workers`` asks for it.
    """
    if not evidence.stops:
        return Verdict("not_measured", f"no stop was tried{coverage(evidence.partly)}", vacuous=True)
    wrong = [stop for stop in evidence.stops if stop.outcome not in RIGHT]
    if wrong:
        unsure = all(stop.outcome in UNSURE_STOPS for stop in wrong)
        return Verdict("inconclusive" if unsure else "failed", sentences.wrong(evidence), sentences.advice(evidence))
    if resume_workers is not None and resume_workers != evidence.workers:
        if any(stop.outcome not in RIGHT for stop in evidence.reloaded):
            return Verdict("failed", sentences.reloaded(evidence), sentences.reload_advice(evidence))
        if not evidence.reloaded:
            return Verdict("not_measured", sentences.not_reloaded(evidence, resume_workers))
    part, seen, cost = coverage(evidence.partly), sentences.exact(evidence), evidence.overhead
    lines, advice = sentences.reloaded_line(evidence), sentences.reload_advice(evidence)
    if max_snapshot_overhead is None:
        return Verdict("passed", seen + part + lines, advice)
    if cost is None:
        return Verdict("not_measured", f"the cost of snapshots could not be measured\n{seen}{part}")
    limit = f"limit {100 * max_snapshot_overhead:.0f} % of CPU time for snapshots"
    if cost.share <= max_snapshot_overhead:
        return Verdict("passed", f"{seen}\n{limit}{part}{lines}", advice)
    over = f"{100 * cost.share:.0f} % of CPU time goes into snapshots, limit {100 * max_snapshot_overhead:.0f} %"
    if cost.least > max_snapshot_overhead:
        return Verdict("failed", f"{over}\n{seen}{part}", (sentences.FEWER_SNAPSHOTS,))
    return Verdict("inconclusive", f"{over}\ntoo close to call\n{seen}{part}{lines}", advice)
