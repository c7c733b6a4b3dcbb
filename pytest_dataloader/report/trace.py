"""Timelines as Chrome trace events, which Perfetto and chrome://tracing show, on the clock of ``torch.profiler``.

Its clock was read from what it exports (torch 2.13 on a CPU): ``baseTimeNanoseconds + 1000 * ts`` is nanoseconds since
1970. Of 200 slices all lay between two readings of ``time.time_ns``, 71 us after one and 6 us before the other in the
median, on a busy machine (benchmarks/trace_clock.py). The base is the last whole quarter of a year, of 7,889,238 s each
since 1970; ours is the same, so that two files of one quarter fit together as they are.
"""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_dataloader.report import files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pytest_dataloader.record import Record

QUARTER_NS = 7_889_238 * 10**9
MAKER = "pytest_dataloader"
"""The key that tells our files from others; it holds the environment."""
MADE_UP = 10_000_000
"""Ids of rows that are no process or thread of the system begin here: Linux has none above 4,194,304."""
MAIN_PROCESS = "main process"
"""How the name of its row begins."""
_CATEGORY = "dataloader"

Event = dict[str, Any]


@dataclass(slots=True)
class _Rows:
    """Ids of processes and threads: the system's own, unless another row has that one already."""

    events: list[Event] = field(default_factory=list)
    """What names the rows."""
    _pids: dict[int, object] = field(default_factory=dict)
    _rows: dict[object, int] = field(default_factory=dict)
    _made_up: Iterator[int] = field(default_factory=lambda: itertools.count(MADE_UP))

    def process(self, pid: int, owner: object, name: str) -> int:
        """The id for a process of an owner, which is named once."""
        if owner not in self._rows:
            self._rows[owner] = pid if self._pids.setdefault(pid, owner) == owner else next(self._made_up)
            order = {"sort_index": next(iter(self._rows.values())) + len(self._rows)}  # torch's is the pid
            self._name(self._rows[owner], 0, "process_name", {"name": name})
            self._name(self._rows[owner], 0, "process_sort_index", order)
        return self._rows[owner]

    def thread(self, pid: int, name: str) -> tuple[int, int]:
        """Process and thread of a new row below a process."""
        thread = next(self._made_up)
        self._name(pid, thread, "thread_name", {"name": name})
        self._name(pid, thread, "thread_sort_index", {"sort_index": thread})
        return pid, thread

    def _name(self, pid: int, thread: int, kind: str, arguments: Mapping[str, object]) -> None:
        self.events.append({"ph": "M", "name": kind, "pid": pid, "tid": thread, "args": arguments})


def trace_document(found: Sequence[tuple[str, Mapping[str, Any]]], environment: Mapping[str, object]) -> dict[str, Any]:
    """Timelines, each with a name, as one trace."""
    base = max((each["started_unix_ns"] for _, each in found), default=0) // QUARTER_NS * QUARTER_NS
    rows, events = _Rows(), list[Event]()
    for number, (name, timeline) in enumerate(found):
        events += _Loader(name, number, timeline, base, rows).events()
    events.sort(key=lambda event: (event["ts"], -event.get("dur", 0)))
    return {
        "schemaVersion": 1,
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": base,
        MAKER: dict(environment),
        "traceEvents": rows.events + events,
    }


def write_trace(path: Path, content: Mapping[str, Any]) -> None:
    """Write a document in one step, as ``files.write_text`` does, and raises OSError as that."""
    files.write_text(path, json.dumps(content, separators=(",", ":"), allow_nan=False) + "\n")


def timelines(records: Iterable[Record]) -> list[tuple[str, Mapping[str, Any]]]:
    """The timelines in records, each with the name of its loader, and of its rank where there are several."""
    found = []
    for record in records:
        told: list[tuple[str, Any]] = [(f"{record.id}, rank {rank['rank']}", rank["evidence"]) for rank in record.ranks]
        for name, evidence in told or [(record.id, record.evidence)]:
            if record.check == "stages" and evidence.get("timeline"):
                found.append((name, evidence["timeline"]))
    return found


class _Loader:
    """What one timeline gives; ``base`` is nanoseconds since 1970."""

    def __init__(self, name: str, number: int, timeline: Mapping[str, Any], base: int, rows: _Rows) -> None:
        self._timeline = timeline
        self._began_us = (timeline["started_unix_ns"] - base) // 1000
        self._arrows = itertools.count(self._began_us)  # numbers, which Perfetto insists on, that no other trace has
        named = re.search(r", rank (\d+)$", name)
        rank = named[1] if named else ""
        main = timeline["main_pid"]
        self._main = rows.process(main, ("main", main, rank), f"{MAIN_PROCESS}{f' of rank {rank}' if rank else ''}")
        self._loop = rows.thread(self._main, f"{name}: loop")
        self._receiving = rows.thread(self._main, f"{name}: pinning") if timeline["pins_aside"] else self._loop
        self._pids = {main: self._main}
        self._making, self._sending = {main: self._loop}, {main: self._loop}
        for each in timeline["workers"]:
            worker, pid = each["worker"], each["pid"]
            row = rows.process(pid, (number, worker, pid), f"{name}: worker {worker}")
            self._pids[pid] = row
            self._making[pid] = rows.thread(row, "reading")
            self._sending[pid] = rows.thread(row, "sending")
        self._name = name

    def events(self) -> Iterator[Event]:
        """All but the names of its rows."""
        for each in self._timeline["workers"]:
            pid, began_ms = each["pid"], each["started_ms"]
            first_ms = min(one["index_ms"] for one in self._timeline["batches"] if one["pid"] == pid)
            yield from self._slice("startup", self._making[pid], began_ms, first_ms, {})
        for one in self._timeline["batches"]:
            yield from self._batch(one)
        for step in self._timeline["steps"]:
            told = {"epoch": step["epoch"], "batch": step["number"]}
            yield from self._slice("step", self._loop, step["began_ms"], step["ended_ms"], told)
        for at_ms, batches in ready(self._timeline["batches"]):
            yield self._count(f"{self._name}: ready", self._main, at_ms, "batches", batches)
        for seen in self._timeline["resident"]:
            if seen["pid"] in self._pids:  # not of a worker that made none of these batches
                megabytes = round(seen["bytes"] / 1e6, 1)
                row = self._pids[seen["pid"]]
                yield self._count(f"{self._name}: resident", row, seen["at_ms"], "MB", megabytes)

    def _batch(self, one: Mapping[str, Any]) -> Iterator[Event]:
        told = {"epoch": one["epoch"], "batch": one["number"], "samples": one["indices"]}
        making, sending = self._making[one["pid"]], self._sending[one["pid"]]
        yield from self._slice("wait", self._loop, one["asked_ms"], one["got_ms"], told)
        reading = {**told, "waiting_ms": one["read_waiting_ms"]}
        yield from self._slice("load", making, one["index_ms"], one["fetched_ms"], reading)
        yield from self._slice("collate", making, one["fetched_ms"], one["collated_ms"], told)
        yield from self._slice("send", sending, one["packing_ms"], one["packed_ms"], told)
        yield from self._slice("receive", self._receiving, one["unpacking_ms"], one["unpacked_ms"], told)
        yield from self._slice("pin", self._receiving, one["unpacked_ms"], one["pinned_ms"], told)
        if one["packing_ms"] and one["unpacking_ms"]:
            arrow = {"name": "batch", "cat": _CATEGORY, "id": next(self._arrows)}
            yield self._at(one["packing_ms"], sending) | arrow | {"ph": "s"}
            yield self._at(one["unpacking_ms"], self._receiving) | arrow | {"ph": "f", "bp": "e"}

    def _slice(
        self, name: str, row: tuple[int, int], began_ms: float, ended_ms: float, told: Mapping[str, object]
    ) -> Iterator[Event]:
        """A slice, unless one of its ends is not known."""
        if began_ms and ended_ms:
            took = {"dur": round(1000 * ended_ms) - round(1000 * began_ms), "args": told}
            yield {"ph": "X", "name": name, "cat": _CATEGORY} | self._at(began_ms, row) | took

    def _count(self, name: str, pid: int, at_ms: float, unit: str, value: float) -> Event:
        """Viewers show the unit behind the name."""
        return {"ph": "C", "name": name} | self._at(at_ms, (pid, 0)) | {"args": {unit: value}}

    def _at(self, ms: float, row: tuple[int, int]) -> Event:
        """Whole microseconds: what is one moment stays one, however its digits are read."""
        return {"ts": self._began_us + round(1000 * ms), "pid": row[0], "tid": row[1]}


def ready(batches: Iterable[Mapping[str, Any]]) -> Iterator[tuple[float, int]]:
    """How many batches are made and not yet handed out, whenever that changes; of those of which both is known."""
    known = [one for one in batches if one["packed_ms"] and one["got_ms"]]
    moves = sorted([(one["packed_ms"], 1) for one in known] + [(one["got_ms"], -1) for one in known])
    return zip([at_ms for at_ms, _ in moves], itertools.accumulate(move for _, move in moves), strict=True)
