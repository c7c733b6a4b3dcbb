"""Steps of a recording, and what its busiest device did in each."""

from __future__ import annotations

import itertools
import statistics
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from pytest_dataloader.errors import NotMeasured
from pytest_dataloader.probe.device.evidence import Copies, DeviceUse, StepUse, Synchronisations
from pytest_dataloader.probe.device.intervals import difference, intersection, length, union, within
from pytest_dataloader.probe.device.recording import Span, has_workers, is_waiting_copy

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_dataloader.probe.device.evidence import StepSource
    from pytest_dataloader.probe.device.intervals import Interval
    from pytest_dataloader.probe.device.recording import Copy, Recording

_LEAST_CALLS = 3
"""Of a loader, by which steps are told from each other."""
_FRAGMENT = 0.02
"""Of the usual length of a step: the profiler leaves a shorter one where it ends."""


def utilization(recording: Recording, step: str | None = None) -> DeviceUse:
    """What the busiest device of a recording did in each step, found by the user's annotation ``step`` if it is given.

    Raises NotMeasured where the trace does not say: without an event of a device, or without a step.
    """
    device, names = _busiest(recording)
    source, spans = _steps(recording, step)
    copies = [copy for copy in recording.copies if copy.device == device]
    # A copy within the device is its own work, as a kernel is.
    own = [(copy.begin, copy.end) for copy in copies if copy.direction == "on_device"]
    compute = union(itertools.chain(recording.kernels[device], own))
    copying = difference(union((copy.begin, copy.end) for copy in copies), compute)
    busy = union(itertools.chain(compute, copying))
    calls = [call for call in recording.loader_calls if call.thread == spans[0].thread]
    waits = union((call.begin, call.end) for call in calls)
    steps = [_step_use(span, compute, copying, busy, waits) for span in spans]
    trained = union((span.begin, span.end) for span in spans)
    starving = intersection(difference(trained, busy), waits)
    inside = [call for call in calls if _is_in(call.begin, trained)]
    return DeviceUse(
        device=recording.device_names.get(device, ""),
        devices=len(names),
        rank=recording.rank,
        step_source=source,
        steps=tuple(steps),
        loader_calls=len(inside),
        has_workers=next((known for call in inside if (known := has_workers(call)) is not None), None),
        copies=tuple(_copies(recording, [copy for copy in copies if _is_in(copy.begin, trained)], compute)),
        synchronisations=tuple(_synchronisations(recording, trained)),
        first_step_left_out=source == "loader",
        stages_while_starving=_stages(recording, starving),
    )


def _busiest(recording: Recording) -> tuple[str, set[str]]:
    names = {*recording.kernels, *(copy.device for copy in recording.copies)}
    if not names:
        raise NotMeasured("the trace has no event of a device: it was recorded on a CPU, or without its activities")
    return max(sorted(names), key=lambda name: length(union(recording.kernels.get(name, [])))), names


def _steps(recording: Recording, step: str | None) -> tuple[StepSource, list[Span]]:
    """The steps of the thread that has most of them, without what overlaps."""
    if recording.annotations:
        spans = _disjoint(_of_one_thread(recording.annotations))
        usual = statistics.median(span.end - span.begin for span in spans)
        whole = [span for span in spans if span.end - span.begin >= _FRAGMENT * usual]
        return ("profiler" if step is None else "annotation"), whole
    if step is not None:
        raise NotMeasured(f"the trace has no record_function {step!r}")
    calls = _disjoint(_of_one_thread(recording.loader_calls)) if recording.loader_calls else []
    if len(calls) < _LEAST_CALLS:
        raise NotMeasured(
            "the trace has no step: no profiler.step(), and no calls of a DataLoader; "
            "--step NAME takes each record_function NAME for one"
        )
    pairs = list(itertools.pairwise(calls))[1:]  # in the first the workers start
    return "loader", [
        Span(f"batch {number}", call.begin, after.begin, call.thread) for number, (call, after) in enumerate(pairs, 1)
    ]


def _of_one_thread(spans: Iterable[Span]) -> list[Span]:
    by_thread: defaultdict[tuple[str, str], list[Span]] = defaultdict(list)
    for span in spans:
        by_thread[span.thread].append(span)
    return max(by_thread.values(), key=len)


def _disjoint(spans: Iterable[Span]) -> list[Span]:
    """Spans in their order, without those that are empty or begin within another."""
    found: list[Span] = []
    for span in sorted(spans, key=lambda each: (each.begin, -each.end)):
        if span.begin < span.end and (not found or span.begin >= found[-1].end):
            found.append(span)
    return found


def _step_use(
    span: Span, compute: list[Interval], copying: list[Interval], busy: list[Interval], waits: list[Interval]
) -> StepUse:
    whole = (span.begin, span.end)
    copy = length(within(copying, whole))
    idle = difference([whole], within(busy, whole))
    waited = within(waits, whole)
    waiting = length(intersection(idle, waited))
    return StepUse(
        name=span.name,
        ms=(span.end - span.begin) / 1e6,
        compute_ms=length(within(compute, whole)) / 1e6,
        copy_ms=copy / 1e6,
        idle_waiting_ms=waiting / 1e6,
        idle_other_ms=(length(idle) - waiting) / 1e6,
        waited_ms=length(waited) / 1e6,
    )


def _is_in(moment: int, intervals: Sequence[Interval]) -> bool:
    return bool(within(intervals, (moment, moment + 1)))


def _copies(recording: Recording, copies: list[Copy], compute: list[Interval]) -> list[Copies]:
    """By kind, the largest part of the time first."""
    blocking = _blocking(recording, copies)
    kinds: defaultdict[tuple[str, str], list[Copy]] = defaultdict(list)
    for copy in copies:
        kinds[copy.direction, copy.source].append(copy)
    found = []
    for each in kinds.values():
        known = [copy.bytes for copy in each if copy.bytes is not None]
        beside = sum(length(within(compute, (copy.begin, copy.end))) for copy in each)
        holds = Counter(blocking[copy.key] for copy in each)
        found.append(
            Copies(
                direction=each[0].direction,
                source=each[0].source,
                count=len(each),
                bytes=sum(known) if len(known) == len(each) else None,
                ms=sum(copy.end - copy.begin for copy in each) / 1e6,
                beside_compute_ms=beside / 1e6,
                blocking=holds[True],
                non_blocking=holds[False],
            )
        )
    return sorted(found, key=lambda kind: -kind.ms)


def _blocking(recording: Recording, copies: list[Copy]) -> dict[str, bool | None]:
    """Whether each copy, by its key, held the host: its operator waits for the device once it has asked for it."""
    keys = dict.fromkeys(copy.key for copy in copies)
    called = [recording.copy_calls[key] for key in keys if key in recording.copy_calls]
    waits: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for each in recording.synchronisations:
        waits[each.thread].append(each.begin)
    found: dict[str, bool | None] = dict.fromkeys(keys)
    for call, operator in zip(called, recording.operators_around(called), strict=True):
        if operator is not None:
            later = (moment for moment in waits[call.thread] if call.begin <= moment < operator.end)
            found[call.key] = is_waiting_copy(call) or any(later)
        elif is_waiting_copy(call):
            found[call.key] = True
    return found


def _stages(recording: Recording, starving: list[Interval]) -> tuple[tuple[str, float], ...]:
    """What the workers did while the device idled for the loader, what took longest first."""
    found = {
        name: sum(length(within(starving, span)) for span in spans) / 1e6 for name, spans in recording.stages.items()
    }
    return tuple(sorted(((name, ms) for name, ms in found.items() if ms), key=lambda each: -each[1]))


def _synchronisations(recording: Recording, trained: list[Interval]) -> list[Synchronisations]:
    """By the operator that asked for them, what takes longest first."""
    spans = [span for span in recording.synchronisations if _is_in(span.begin, trained)]
    by_operator: defaultdict[str, list[Span]] = defaultdict(list)
    for span, operator in zip(spans, recording.operators_around(spans), strict=True):
        by_operator[operator.name if operator is not None else ""].append(span)
    found = [
        Synchronisations(name, len(each), sum(span.end - span.begin for span in each) / 1e6)
        for name, each in by_operator.items()
    ]
    return sorted(found, key=lambda each: -each.ms)
