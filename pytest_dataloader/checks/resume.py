"""Resume: does a stopped loader go on exactly where it was, in a fresh process, and what do snapshots cost?"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from pytest_dataloader.advice import resume as sentences
from pytest_dataloader.advice.coverage import coverage
from pytest_dataloader.errors import NothingSeen, NotMeasured
from pytest_dataloader.probe.loader import sampling
from pytest_dataloader.probe.samples.continuation import Resumption, chosen_stops, continued
from pytest_dataloader.probe.samples.evidence import Resume
from pytest_dataloader.probe.samples.rank_simulation import rank_arguments
from pytest_dataloader.probe.samples.resumption import resume, run_through, snapshot_overhead, stable_parts
from pytest_dataloader.verdict import Verdict

if TYPE_CHECKING:
    from pytest_dataloader.checks import Setting
    from pytest_dataloader.limits import Share

NEEDS_BENCH = False

_SECONDS = 2.0
"""Budget of the uninterrupted run; the resumed ones take what is left of three times as much."""
_MOST = 48
_TAIL = 12
"""Batches compared after a stop, and two more of the next epoch where that comes first."""
_RUN_SECONDS = 0.4
_MOST_TIMED = 2000


def applies(loader: Any, _build: Any) -> bool:
    """Whether a state can be taken of the loader, and of those inside it, and loaded again."""
    wrapped = [loader, *sampling.loaders_inside(loader)]
    return all(callable(getattr(each, name, None)) for each in wrapped for name in ("state_dict", "load_state_dict"))


def measure(loader: Any, *, setting: Setting, max_snapshot_overhead: float | None = None) -> Resume:
    """Run two epochs in a child, taking a state after each batch; load some of the states in fresh processes.

    Raises NotMeasured for loaders without ``state_dict`` and ``load_state_dict``, and for batches that are random
    throughout, which cannot be told apart.
    """
    started = time.monotonic()
    if not applies(loader, setting.build):
        inner = [loader, *sampling.loaders_inside(loader)][-1]
        raise NotMeasured(
            f"{type(inner).__name__} has no state_dict and load_state_dict: torchdata's StatefulDataLoader has"
        )
    seconds = setting.budget(_SECONDS, share=1 / 3)
    run = run_through(loader, seed=1, most=_MOST, seconds=seconds)
    if run.error or not run.stops:
        raise NothingSeen(f"an uninterrupted run gave no batch: {run.error or 'the epoch is empty'}")
    parts = stable_parts(run, run_through(loader, seed=2, most=_MOST // 4, seconds=seconds / 2))
    if parts is None:
        raise NotMeasured("batches follow the random state throughout: a resumed run cannot be told from another")
    build = None if setting.build is None or rank_arguments(setting.build, 0, 1) else setting.build
    found: list[Resumption] = []
    stops = chosen_stops(run)
    for number, stop in enumerate(stops):
        if found and time.monotonic() - started > 3 * seconds:
            break
        setting.progress("resuming in a fresh process", number / len(stops))
        left = len(run.epochs[stop.epoch]) - stop.batches
        tail = left + 2 if run.ended[stop.epoch] and left <= _TAIL else min(left, _TAIL)
        if tail:
            found.append(continued(run, stop, resume(loader, build, stop, most=tail), parts))
    overhead = None
    every = getattr(loader, "snapshot_every_n_steps", None)
    if every and (max_snapshot_overhead is not None or setting.bench):
        setting.progress("running with and without snapshots", 0.8)
        timed = max(16, min(_MOST_TIMED, int(_RUN_SECONDS / max(1e-5, run.seconds_per_batch))))
        overhead = snapshot_overhead(loader, every, batches=timed)
    partly = [f"{len(found)} of {len(stops)} stops were resumed"] if len(found) < len(stops) else []
    if not run.ended[0]:
        partly.append(f"the first {len(run.epochs[0])} batches of an epoch were run, not its end")
    return Resume(
        stops=tuple(found),
        batches=sum(map(len, run.epochs)),
        overhead=overhead,
        workers=loader.num_workers,
        persistent_workers=bool(loader.persistent_workers),
        partly=tuple(partly),
        seconds=round(time.monotonic() - started, 3),
    )


def judge(evidence: Resume, *, max_snapshot_overhead: Share | None = None) -> Verdict:
    """Fail for a stop after which other batches come, and for snapshots that certainly cost more than allowed."""
    if not evidence.stops:
        return Verdict("not_measured", f"no stop was resumed{coverage(evidence.partly)}", vacuous=True)
    if any(stop.outcome != "exact" for stop in evidence.stops):
        return Verdict("failed", sentences.wrong(evidence), (sentences.KEEP_STATE,))
    part, told, cost = coverage(evidence.partly), sentences.exact(evidence), evidence.overhead
    if max_snapshot_overhead is None:
        return Verdict("passed", told + part)
    if cost is None:
        return Verdict("not_measured", f"{told}; what snapshots cost could not be measured{part}")
    allowed = f"{told}, at most {100 * max_snapshot_overhead:.0f} % asked for{part}"
    if cost.least > max_snapshot_overhead:
        return Verdict("failed", allowed, (sentences.FEWER_SNAPSHOTS,))
    return Verdict("passed" if cost.share <= max_snapshot_overhead else "inconclusive", allowed)
