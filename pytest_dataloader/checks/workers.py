"""Workers: do they start, survive, deliver, exit and get reaped? One that dies, raises or hangs is named."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.loader.settings import start_method_of
from pytest_dataloader.probe.workers import obituary
from pytest_dataloader.probe.workers.lifecycle import Epoch, observe_lifecycle
from pytest_dataloader.verdict import Verdict

if TYPE_CHECKING:
    from pytest_dataloader.checks import Setting
    from pytest_dataloader.limits import Seconds
    from pytest_dataloader.probe.workers.fault import Kind, Phase

NEEDS_BENCH = False

_QUICK_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Workers:
    """The workers of a loader from start to end, and the first fault, if there was one.

    ``sample_indices`` are those of the batch that the worker was making, ``sample`` the one that it was reading;
    ``stack`` has the innermost frame last. ``restarts_per_epoch`` counts workers started for the second epoch, None
    where none was watched.
    """

    fault: Kind
    worker: int | None
    pid: int | None
    signal: str
    exit_code: int | None
    exception: str
    phase: Phase
    sample: Any
    sample_indices: tuple[Any, ...]
    stack: tuple[str, ...]
    waited_seconds: float
    why: str
    certain: bool
    oom_kills: int
    seconds_to_first_batch: float | None
    start_delay_seconds: float
    worker_start_seconds: float | None
    end_seconds: float | None
    restarts_per_epoch: int | None
    epochs: tuple[Epoch, ...]
    batches: int
    whole: bool
    zombies: tuple[int, ...]
    lingering: tuple[str, ...]
    forked_threads: tuple[str, ...]
    workers: int
    start_method: str
    persistent: bool
    seconds: float


def measure(loader: Any, *, setting: Setting) -> Workers:
    """Watch the workers through two epochs, or what the time allows of them."""
    begun, method = time.monotonic(), start_method_of(loader)
    setting.progress("watching workers live", 0.2)
    quick = min(_QUICK_SECONDS, setting.seconds)
    seen = observe_lifecycle(loader, method=method, seconds=setting.seconds if setting.bench else quick, epochs=2)
    first, second = (*seen.epochs, None, None)[:2]
    found = seen.fault
    return Workers(
        fault=found.kind,
        worker=found.worker,
        pid=found.pid,
        signal=found.signal,
        exit_code=found.exit_code,
        exception=found.exception,
        phase=found.phase,
        sample=found.sample,
        sample_indices=found.sample_indices,
        stack=found.stack,
        waited_seconds=found.waited_seconds,
        why=found.why,
        certain=found.certain,
        oom_kills=seen.oom_kills,
        seconds_to_first_batch=first.first_batch_seconds if first else None,
        start_delay_seconds=first.delay_seconds if first else 0.0,
        worker_start_seconds=first.worker_start_seconds if first else None,
        end_seconds=next((each.end_seconds for each in seen.epochs if each.end_seconds is not None), None),
        restarts_per_epoch=second.started if second else None,
        epochs=tuple(seen.epochs),
        batches=sum(each.batches for each in seen.epochs),
        whole=bool(first and first.whole),
        zombies=seen.zombies,
        lingering=seen.lingering,
        forked_threads=seen.forked_threads,
        workers=loader.num_workers,
        start_method=method,
        persistent=bool(loader.persistent_workers),
        seconds=round(time.monotonic() - begun, 3),
    )


def judge(evidence: Workers, *, max_startup_seconds: Seconds | None = None) -> Verdict:
    """Fail for any fault, for a worker that does not go, and for a start that takes longer than allowed."""
    advice = obituary.advice(evidence)
    if evidence.fault != "none":
        return Verdict("failed" if evidence.certain else "inconclusive", obituary.sentence(evidence), advice)
    if evidence.zombies or evidence.lingering:
        return Verdict("failed", obituary.left_behind(evidence), advice)
    took = evidence.seconds_to_first_batch
    if max_startup_seconds is None or took is None or took <= max_startup_seconds:
        return Verdict("passed", obituary.passed(evidence))
    seen = f"the first batch took {took:.1f} s, at most {max_startup_seconds:g} s allowed"
    own = took - evidence.start_delay_seconds
    if own <= max_startup_seconds:
        delay = f"{evidence.start_delay_seconds:.1f} s of it went to waiting for a CPU that others held"
        return Verdict("inconclusive", f"{seen}; {delay}", obituary.slow_start(evidence))
    return Verdict("failed", seen, obituary.slow_start(evidence))
