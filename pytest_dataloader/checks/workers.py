"""Workers: do they start, survive, deliver, exit and get reaped? One that dies, raises or hangs is named."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

from pytest_dataloader.advice import workers as sentences
from pytest_dataloader.probe.loader.positions import batches_in_epoch
from pytest_dataloader.probe.loader.sampling import giver, why_empty
from pytest_dataloader.probe.loader.settings import start_method_of, worker_processes_of
from pytest_dataloader.probe.workers.evidence import Workers
from pytest_dataloader.probe.workers.inherited_handles import inherited_handles
from pytest_dataloader.probe.workers.lifecycle import Lifecycle, observe_lifecycle
from pytest_dataloader.probe.workers.pickling import handover_cpu_seconds, weigh_luggage
from pytest_dataloader.probe.workers.startup import start_obstacle
from pytest_dataloader.quantities import figure
from pytest_dataloader.verdict import Verdict

if TYPE_CHECKING:
    from pytest_dataloader.checks import Setting
    from pytest_dataloader.settings.limits import Seconds

NEEDS_BENCH = False

_QUICK_SECONDS = 2.0


def measure(loader: Any, *, setting: Setting) -> Workers:
    """Watch the workers through two epochs, or what the time allows of them."""
    begun, method = time.monotonic(), start_method_of(loader)
    setting.progress("watching workers live", 0.2)
    seconds = setting.seconds if setting.bench else min(_QUICK_SECONDS, setting.seconds)
    if setting.whole_epoch:
        seconds = math.inf
    epochs = 1 if setting.whole_epoch else 2
    seen = observe_lifecycle(loader, method=method, seconds=seconds, epochs=epochs, shallow=setting.quick)
    first, second = (*seen.epochs, None, None)[:2]
    found = seen.fault
    shares = method == "fork" and worker_processes_of(loader) and found.kind in ("none", "exception")
    inherited = inherited_handles(loader) if shares else ()
    handed = weigh_luggage(loader) if method != "fork" and worker_processes_of(loader) else None
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
        why=found.why or _why(loader, seen, method),
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
        workers=worker_processes_of(loader),
        threads=loader.num_workers if not worker_processes_of(loader) else 0,
        start_method=method,
        persistent=bool(loader.persistent_workers),
        seconds=round(time.monotonic() - begun, 3),
        batches_in_epoch=batches_in_epoch(loader),
        hollow=seen.hollow,
        torn_files=seen.torn_files,
        temporary_left=seen.temporary_left,
        native_threads=seen.native_threads,
        worker_cpus=seen.worker_cpus,
        process_cpus=seen.process_cpus,
        hollow_batch=seen.hollow_batch,
        inherited=inherited,
        pickled_bytes=handed.pickled_bytes if handed else None,
        pickling_cpu_seconds=handover_cpu_seconds(loader) if handed else None,
    )


def _why(loader: Any, seen: Lifecycle, method: str) -> str:
    """Why a loader gives nothing, or nothing more, or a worker does not start."""
    if seen.fault.kind != "none":
        return start_obstacle(loader, seen.fault, method).sentence
    if not any(each.batches for each in seen.epochs):
        return why_empty(loader)
    return "" if all(each.batches for each in seen.epochs) else f"{type(giver(loader)).__name__} is used up by it"


def judge(evidence: Workers, *, max_startup_seconds: Seconds | None = None) -> Verdict:
    """Fail for any fault, an empty epoch, a file that workers share, a worker that does not go, a slow start."""
    advice = sentences.advice(evidence)
    if evidence.fault != "none":
        return Verdict(
            "failed" if evidence.certain else "inconclusive", sentences.describe_worker_fault(evidence), advice
        )
    if evidence.empty:
        return Verdict("failed", sentences.empty(evidence), advice)
    if evidence.used_up:
        return Verdict("failed", sentences.used_up(evidence), advice)
    if evidence.inherited:
        return Verdict("failed", sentences.inherited(evidence), advice)
    if evidence.confined:
        return Verdict("failed", sentences.confined(evidence), advice)
    if evidence.left_by_epochs:
        return Verdict("failed", "\n".join(evidence.left_by_epochs), advice)
    if evidence.zombies or evidence.lingering:
        return Verdict("failed", sentences.describe_processes_left(evidence), advice)
    if evidence.torn_files or evidence.temporary_left:
        return Verdict("inconclusive", sentences.files(evidence), sentences.file_advice(evidence))
    took = evidence.seconds_to_first_batch
    if max_startup_seconds is None or took is None or took <= max_startup_seconds:
        return Verdict("passed", sentences.describe_workers(evidence))
    seen = f"{figure(took)} s to the first batch, limit {max_startup_seconds:g} s"
    own = took - evidence.start_delay_seconds
    if own <= max_startup_seconds:
        delay = f"CPU contention took {evidence.start_delay_seconds:.1f} s of it"
        return Verdict("inconclusive", f"{seen}\n{delay}", sentences.slow_start(evidence))
    return Verdict("failed", seen, sentences.slow_start(evidence))
