"""A trace of ``torch.profiler`` and one of ours, of one run, as one: beside what it saw, the workers that it lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_dataloader.errors import BadTrace
from pytest_dataloader.report.trace import MADE_UP, MAIN_PROCESS, MAKER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_dataloader.report.trace import Event

_MOST = 1e21
"""No nanoseconds since 1970, and no timestamp, are as many."""
_ROW_NAMES = ("process_name", "process_sort_index")


def merge(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
    """Their document with our events behind theirs, shifted by what the bases of the two clocks differ by.

    The main process is one row with that of torch's where the pid is equal. Raises BadTrace for documents that are no
    traces, and for two that have no moment in common.
    """
    if MAKER not in ours:
        told = "it is the first one; give that of torch.profiler first" if MAKER in theirs else "none is"
        raise BadTrace(f"the second file must be one of --dataloader-trace, and {told}")
    our_base, their_base = _base(ours), _base(theirs)
    known, added = _events(theirs), [dict(event) for event in _events(ours)]
    if not all(map(_is_ours, added)):
        raise BadTrace("the second file is not as --dataloader-trace has written it")
    shift = (our_base - their_base) / 1000
    for event in added:
        if _is_number(event.get("ts")):
            event["ts"] += int(shift) if shift.is_integer() else shift
    _require_overlap(known, added)
    return {**theirs, MAKER: ours[MAKER], "traceEvents": [*known, *_beside(known, added)]}


def _base(document: Mapping[str, Any]) -> int:
    """Nanoseconds since 1970 that its timestamps count from; a file that names none counts from 1970."""
    base = document.get("baseTimeNanoseconds", 0)
    if not _is_number(base):
        raise BadTrace(f"baseTimeNanoseconds is no number: {base!r:.40}")
    return int(base)


def _events(document: Mapping[str, Any]) -> list[Event]:
    events = document.get("traceEvents")
    if not isinstance(events, list):
        raise BadTrace("a file has no list of traceEvents")
    return [event for event in events if isinstance(event, dict)]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _MOST


def _is_ours(event: Event) -> bool:
    """Whether an event has the ids and names that each of ours has."""
    named = event.get("name") != "process_name" or isinstance(_name(event), str)
    return named and type(event.get("pid")) is int and type(event.get("tid")) is int


def _name(event: Event) -> object:
    told = event.get("args")
    return told.get("name") if isinstance(told, dict) else None


def _require_overlap(known: list[Event], added: list[Event]) -> None:
    theirs, ours = _extent(known), _extent(added)
    if theirs is None or ours is None:
        raise BadTrace(f"the {'first' if theirs is None else 'second'} file has no slices")
    for gap, when in (
        (ours[0] - theirs[1], "begins {} s after the first one has ended"),
        (theirs[0] - ours[1], "ends {} s before the first one begins"),
    ):
        if gap > 0:
            raise BadTrace(f"they are not of one run: the second trace {when.format(f'{gap / 1e6:,.3g}')}")


def _extent(events: list[Event]) -> tuple[float, float] | None:
    slices = [
        (event["ts"], event["ts"] + event["dur"])
        for event in events
        if event.get("ph") == "X" and _is_number(event.get("ts")) and _is_number(event.get("dur"))
    ]
    return (min(began for began, _ in slices), max(ended for _, ended in slices)) if slices else None


def _beside(known: list[Event], added: list[Event]) -> list[Event]:
    """Our events with ids that theirs have not; rows that both know keep their names."""
    pids = {event.get("pid") for event in known if isinstance(event.get("pid"), int)}
    ids = [value for event in known for value in (event.get("pid"), event.get("tid")) if isinstance(value, int)]
    made_up = max(0, 1 + max((value for value in ids if MADE_UP <= value < 2 * MADE_UP), default=0) - MADE_UP)
    names = {event["pid"]: event["args"]["name"] for event in added if event.get("name") == "process_name"}
    spare = MADE_UP + made_up + len(added)
    renumbered = {
        pid: pid + made_up if pid >= MADE_UP else spare + number
        for number, (pid, name) in enumerate(names.items())
        if pid >= MADE_UP or (pid in pids and not name.startswith(MAIN_PROCESS))
    }
    found = []
    for event in added:
        shared = event.get("pid") in pids and event.get("pid") not in renumbered
        if shared and event.get("name") in _ROW_NAMES:
            continue
        event["pid"] = renumbered.get(event["pid"], event["pid"])
        event["tid"] += made_up if event["tid"] >= MADE_UP else 0
        found.append(event)
    return found
