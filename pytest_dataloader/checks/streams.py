"""The checks on what is no DataLoader: those that batches are enough for, and what the others would need."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_dataloader import checks
from pytest_dataloader.advice.memory import kept_sentence, let_go
from pytest_dataloader.advice.order import fault_advice
from pytest_dataloader.advice.resources import leftovers
from pytest_dataloader.advice.workers import END_WHAT_WAS_STARTED
from pytest_dataloader.errors import EmptyEpoch, NotMeasured
from pytest_dataloader.probe.host.descriptors import why_no_descriptors
from pytest_dataloader.probe.host.segments import why_no_segments
from pytest_dataloader.probe.loader.stream import drawn
from pytest_dataloader.probe.samples.sequence import UNSURE_ORDERS
from pytest_dataloader.probe.streams import measures
from pytest_dataloader.probe.streams.evidence import Batches, Contents, Growth, Held, Processes
from pytest_dataloader.probe.streams.keepers import kept_batches
from pytest_dataloader.quantities import counted, figure, percent, size
from pytest_dataloader.verdict import Advice, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_dataloader.checks import Setting
    from pytest_dataloader.probe.loader.stream import Stream
    from pytest_dataloader.probe.resources.block import Block
    from pytest_dataloader.verdict import Outcome

OUTER = ("throughput", "fds", "shm")
"""What is measured of the whole, also where a DataLoader is inside: training pays for all of it."""
NEEDS = {
    "stages": "the stages of its workers, which only a DataLoader has",
    "randomness": "a dataset whose samples can be read twice",
    "shards": "a sampler or a dataset that takes a rank",
    "resume": "state_dict and load_state_dict",
    "portability": "workers that can be started by another method",
    "transfer": "a DataLoader, whose calls torch.profiler records",
}
_SECONDS = 2.0
"""Budget of an epoch."""
_GROWS = 1_000_000
"""Bytes from look to look: torch's allocator and Python's arenas move by less once the stream is warm."""
_WHATEVER = 10**18
"""Bytes that are left, where that is not asked."""
_EPOCHS = 3
"""A cache of the data is full after the first of them, whatever it holds."""


def applies(check: str, stream: Stream) -> bool:
    """Whether a check has what it needs; of a DataLoader inside, that one tells."""
    if _keeps_state(check, stream, {}):
        return True
    if stream.inner is not None and check not in OUTER:
        return checks.applies(check, stream.inner, None)
    return check not in NEEDS


def _keeps_state(check: str, stream: Stream, limits: Mapping[str, Any]) -> bool:
    """Whether a check asks for a state, and the whole gives one itself, whatever is inside.

    A replay buffer's state is what it holds, not where it was.
    """
    if check != "resume" or not stream.iterated:
        return False
    return bool(checks.check_module(check).keeps_state(stream.source, limits))


def is_of_inner(check: str, stream: Stream, limits: Mapping[str, Any]) -> bool:
    """Whether a check looks at the DataLoader inside."""
    return stream.inner is not None and check not in OUTER and not _keeps_state(check, stream, limits)


def measure(check: str, stream: Stream, *, setting: Setting, limits: Mapping[str, Any]) -> Any:
    """The evidence of a check on a stream. Raises NotMeasured for one that batches are not enough for."""
    seconds = setting.budget(_SECONDS, share=1 / 3)
    if is_of_inner(check, stream, limits):
        seen = checks.measure(check, stream.inner, setting=setting, limits=limits)
        match check:
            case "order":
                return measures.order_around(stream, seen, seconds)
            case "memory":
                return measures.memory_around(stream, seen, seconds)
            case "workers" if not stream.once and seen.fault == "none":
                return replace(seen, left_by_epochs=measures.left_by_epochs(stream, seconds))
        return seen
    if _keeps_state(check, stream, limits):
        return checks.check_module(check).measure(stream.source, setting=setting, **limits)
    setting.progress("reading batches", 0.2)
    match check:
        case "throughput":
            with drawn(stream) as source:
                return checks.check_module(check).measure_drawn(source, setting=setting, **limits)
        case "order":
            return measures.contents(stream, seconds)
        case "fds" | "shm":
            if reason := why_no_descriptors() if check == "fds" else why_no_segments():
                raise NotMeasured(reason)
            return measures.measure_held(stream, "fds" if check == "fds" else "shm", seconds, _left)
        case "memory" if not limits:
            grown = measures.growth(stream, setting.seconds)
            return replace(grown, kept_batches=kept_batches(stream, seconds))
        case "memory":
            raise NotMeasured(f"{', '.join(limits)}: limits of the workers of a DataLoader, and none is found in it")
        case "workers":
            return measures.processes(stream, seconds)
    raise NotMeasured(f"it would need {NEEDS.get(check, 'a DataLoader')}")


def _left(block: Block) -> tuple[str, ...]:
    kept = ", ".join(map(str, block.kept_by))
    return (*leftovers(block.left), *([f"batches are kept by {kept}"] if kept else []))


def judge(evidence: Batches, limits: Mapping[str, Any]) -> Verdict:
    """The verdict of evidence of a stream."""
    if evidence.empty:
        raise EmptyEpoch("it gave no batch: its epoch is empty")
    match evidence:
        case Contents():
            return _of_contents(evidence)
        case Held():
            return _of_held(evidence, limits)
        case Growth():
            return _of_kept(evidence, _of_growth(evidence))
        case Processes():
            return _of_processes(evidence, limits)
    raise AssertionError(f"no judgement of {type(evidence).__name__}")


def _of_contents(seen: Contents) -> Verdict:
    """Fail for a second epoch without a sample; what contents alone cannot say is not passed."""
    first, second = seen.samples
    if not second:
        return Verdict("failed", f"the second epoch is empty, the first had {counted(first, 'sample')}")
    if seen.faults:
        outcome: Outcome = "inconclusive" if all(fault.kind in UNSURE_ORDERS for fault in seen.faults) else "failed"
        faults = "\n".join(f"{fault.source}: {fault.detail}" for fault in seen.faults)
        return Verdict(outcome, faults, fault_advice(seen.faults, iterable=True))
    samples, how = counted(first, "sample"), "\nsamples were compared by content"
    if seen.twice:
        return Verdict("inconclusive", f"{samples}, {seen.twice:,} of them equal to another one{how}")
    if not seen.common:
        return Verdict("not_measured", f"{samples}: none of them is in the next epoch, drawn anew or other data{how}")
    if not all(seen.complete):
        return Verdict("passed", f"{samples}: no duplicates{_order(seen)}{how}\nan epoch was read in part")
    if seen.common < max(seen.samples):
        return Verdict("inconclusive", f"{samples}: {seen.common:,} of them are among the {second:,} of epoch 2{how}")
    return Verdict("passed", f"{samples}: no duplicates, the same in the next epoch{_order(seen)}{how}")


def _order(seen: Contents) -> str:
    return ", in the same order" if seen.same_order else ", in another order"


def _of_held(seen: Held, limits: Mapping[str, Any]) -> Verdict:
    """Fail for what is left from epoch to epoch, and for a peak above its limit."""
    extent = f"seen in {counted(seen.epochs, 'epoch')}, {counted(seen.batches, 'batch')} together"
    if seen.left:
        return Verdict("failed", f"leaks, more after four epochs than after two: {', '.join(seen.left)}")
    most_shm, most_fds = limits.get("max_shm"), limits.get("max_fd_use")
    if most_shm is not None and seen.peak_bytes > most_shm:
        return Verdict("failed", f"peak {size(seen.peak_bytes)} in this process, limit {size(most_shm)}")
    if most_fds is not None and seen.peak > most_fds * seen.limit:
        use = f"peak {seen.peak} of {seen.limit} descriptors ({percent(seen.peak / seen.limit)})"
        return Verdict("failed", f"{use}, limit {percent(most_fds)}")
    if seen.stays:
        stays = f"{counted(seen.stays, 'descriptor')} of prefetched batches stay open, no more with each epoch"
        return Verdict("passed", f"{stays}\n{extent}")
    return Verdict("passed", f"nothing left open in this process\n{extent}")


def _of_growth(seen: Growth) -> Verdict:
    """Fail for a process that grows as fast after several epochs as before."""
    looks = f"{counted(seen.batches, 'batch')} in {counted(seen.epochs, 'epoch')}"
    steps = seen.steps[1:]
    if len(steps) < 3:
        return Verdict("not_measured", f"{looks}: too few to see memory grow", vacuous=True)
    grown = size(seen.private_bytes[-1] - seen.private_bytes[1])
    if min(steps) < _GROWS or steps[-1] < max(steps) / 4:
        return Verdict("passed", f"no lasting growth: {grown} in {looks}")
    each = f"+{size(sum(steps) / (len(steps) * seen.batches_between))} per batch in this process"
    if seen.epochs < _EPOCHS:
        return Verdict("inconclusive", f"{each} ({looks})\na cache that fills, or a leak")
    return Verdict("failed", f"leak: {each}, without end in {looks}")


def _of_kept(seen: Growth, verdict: Verdict) -> Verdict:
    """A verdict of how a process grows, with who keeps batches; that fails where it has no end."""
    kept = seen.kept_batches
    if not kept.keeper:
        return verdict
    fails = verdict.outcome == "failed" or kept.is_fault(_WHATEVER)
    advice = (Advice("", let_go(kept)),) if fails else verdict.advice
    return Verdict("failed" if fails else verdict.outcome, f"{verdict.reason}\n{kept_sentence(kept)}", advice)


def _of_processes(seen: Processes, limits: Mapping[str, Any]) -> Verdict:
    """Fail for a start that takes longer than allowed; processes that stay are told."""
    most, took = limits.get("max_startup_seconds"), seen.seconds_to_first_batch
    came = (
        f"{counted(seen.batches, 'batch')} in {counted(seen.epochs, 'epoch')}{'' if seen.whole else ', read in part'}"
    )
    if most is not None and took > most:
        return Verdict("failed", f"{figure(took)} s to the first batch, limit {most:g} s")
    if seen.left_by_epochs:
        return Verdict("failed", "\n".join(seen.left_by_epochs), (Advice("", END_WHAT_WAS_STARTED),))
    if not seen.children:
        return Verdict("passed", f"no child processes\n{came}, the first after {took:.2g} s")
    stay = f", {len(seen.outliving)} of which stay: {', '.join(sorted(set(seen.outliving)))}" if seen.outliving else ""
    ended = stay or ", all of which ended"
    return Verdict("passed", f"{counted(seen.children, 'child process')}{ended}\n{came}, the first after {took:.2g} s")
