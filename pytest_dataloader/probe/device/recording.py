"""What a trace of ``torch.profiler`` says of steps, loaders, copies, kernels and synchronisations.

Kineto, which writes these traces, has changed its words since 2021: categories ``Kernel``, ``Memcpy`` and ``Operator``
became ``kernel``, ``gpu_memcpy`` and ``cpu_op``. Devices of NVIDIA, AMD and Intel name their copies differently. All of
that is known here and nowhere else.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pytest_dataloader.probe.device.json_stream import read_events

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pytest_dataloader.probe.device.intervals import Interval

Thread = tuple[str, str]
"""Process and thread of the host."""
Direction = Literal["to_device", "to_host", "on_device", "between_devices", "unknown"]
HostMemory = Literal["pinned", "pageable", "unknown"]

_STEP = re.compile(r"ProfilerStep#\d+$")
_LOADER = re.compile(
    r"(?i:enumerate)\((?:DataLoader|DataPipe)\)#"  # torch's own, and torchdata's
    r"|\[_?\w*Loop\]\.(?:train_dataloader|val|test|predict)_next$"  # Lightning's profiler
)
_COPY = re.compile(r"(?:Memcpy|MemcpyPeer) (?P<way>[A-Z](?:to|2)[A-Z])(?: \((?P<source>.+?) -> .+\))?")
_WAYS: dict[str, Direction] = {"HD": "to_device", "MD": "to_device", "SD": "to_device"}
_WAYS |= {"DH": "to_host", "DM": "to_host", "DS": "to_host", "DD": "on_device", "PP": "between_devices"}
_SYNCHRONISATION = re.compile(r"\w+Synchronize$|urEventWait$|urQueueFinish$")
_WAITING_COPY = re.compile(r"(?:cudaMemcpy|hipMemcpy|hipMemcpyWithStream)$")
"""Calls that copy and return once the copy is there."""
_COPY_CALL = re.compile(r"(?:cuda|hip)Memcpy|urEnqueue(?:USMMemcpy|MemBuffer)")
_MOST_US = 4e15
"""Microseconds since 1970 in the year 2096; twice as many nanoseconds fit into 64 bits."""
_KINDS = {
    "kernel": "kernel",
    "gpu_memcpy": "copy",
    "memcpy": "copy",
    "gpu_memset": "kernel",
    "memset": "kernel",
    "cpu_op": "operator",
    "operator": "operator",
    "user_annotation": "annotation",
    "cuda_runtime": "call",
    "cuda_driver": "call",
    "runtime": "call",
    "xpu_runtime": "call",
    "xpu_driver": "call",
    "dataloader": "stage",
}
"""Categories in small letters; a memset is work of the device as a kernel is, and the last one is of our own traces."""
_STAGES = ("startup", "load", "read", "collate", "send", "receive", "pin")
"""Slices of our traces; those of earlier versions call ``read`` what is ``load``."""


@dataclass(frozen=True, slots=True)
class Span:
    """Something that a thread of the host did."""

    name: str
    begin: int
    end: int
    thread: Thread
    key: str = ""
    """What tells a call from others: its correlation."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy, as a device did it."""

    direction: Direction
    source: HostMemory
    bytes: int | None
    device: str
    begin: int
    end: int
    key: str


@dataclass(slots=True)
class _Operators:
    """Operators in the order of the trace, in as few bytes as they need."""

    begin: array[int] = field(default_factory=lambda: array("q"))
    end: array[int] = field(default_factory=lambda: array("q"))
    name: array[int] = field(default_factory=lambda: array("L"))
    thread: array[int] = field(default_factory=lambda: array("L"))


@dataclass(slots=True)
class Recording:
    """Moments are whole nanoseconds on the clock of the trace."""

    annotations: list[Span] = field(default_factory=list)
    """Steps of the profiler, and what the user's ``record_function`` is called where that was asked for."""
    loader_calls: list[Span] = field(default_factory=list)
    """The host asks a loader for its next batch."""
    kernels: defaultdict[str, list[Interval]] = field(default_factory=lambda: defaultdict(list))
    """Work of each device but copies, in no order."""
    copies: list[Copy] = field(default_factory=list)
    synchronisations: list[Span] = field(default_factory=list)
    copy_calls: dict[str, Span] = field(default_factory=dict)
    """By what they have in common with the copies."""
    stages: defaultdict[str, list[Interval]] = field(default_factory=lambda: defaultdict(list))
    """What the workers of a loader did, where its timeline was merged into the trace."""
    device_names: dict[str, str] = field(default_factory=dict)
    rank: int | None = None
    """Of a distributed job, where the trace says so."""
    _operators: _Operators = field(default_factory=_Operators)
    _names: dict[str, int] = field(default_factory=dict)
    _threads: dict[Thread, int] = field(default_factory=dict)

    def add(self, event: dict[str, Any], step: str | None) -> None:
        """Take an event; ``step`` is the name of the user's own annotation of a step. What is malformed is left out."""
        category, name = event.get("cat"), event.get("name")
        if event.get("ph") != "X" or not isinstance(category, str) or not isinstance(name, str):
            return
        kind = _KINDS.get(category.lower())
        begin, length = _ns(event.get("ts")), _ns(event.get("dur"))
        if kind is None or begin is None or length is None or length < 0:
            return
        end = begin + length
        arguments = event.get("args")
        arguments = arguments if isinstance(arguments, dict) else {}
        if kind == "kernel":
            self.kernels[_device(event, arguments)].append((begin, end))
        elif kind == "stage":
            if name in _STAGES:
                self.stages[name].append((begin, end))
        elif kind == "copy":
            self._add_copy(name, begin, end, event, arguments)
        else:
            self._add_of_host(kind, Span(name, begin, end, _thread(event), _key(arguments)), step)

    def _add_copy(self, name: str, begin: int, end: int, event: dict[str, Any], arguments: dict[str, Any]) -> None:
        found = _COPY.match(name)
        way = found["way"] if found else ""
        size = arguments.get("bytes")
        self.copies.append(
            Copy(
                _WAYS.get(way[:1] + way[-1:], "unknown"),
                _source(way, found["source"] if found else None),
                size if isinstance(size, int) and size >= 0 else None,
                _device(event, arguments),
                begin,
                end,
                _key(arguments),
            )
        )

    def _add_of_host(self, kind: str, span: Span, step: str | None) -> None:
        if kind == "call":
            if _SYNCHRONISATION.match(span.name):
                self.synchronisations.append(span)
            elif _COPY_CALL.match(span.name) and span.key:
                self.copy_calls[span.key] = span
        elif _LOADER.search(span.name):
            self.loader_calls.append(span)
        elif span.name == step if step is not None else _STEP.match(span.name):
            self.annotations.append(span)
        elif kind == "operator":
            each = self._operators
            each.begin.append(span.begin)
            each.end.append(span.end)
            each.name.append(self._names.setdefault(span.name, len(self._names)))
            each.thread.append(self._threads.setdefault(span.thread, len(self._threads)))

    def operators_around(self, spans: Sequence[Span]) -> list[Span | None]:
        """The innermost operator in which each span began, on its thread; None where there is none."""
        found: list[Span | None] = [None] * len(spans)
        by_thread: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for number, span in enumerate(spans):
            by_thread[self._threads.get(span.thread, -1)].append((span.begin, number))
        for moments in by_thread.values():
            moments.sort()
        names = list(self._names)
        each = self._operators
        for begin, end, name, thread in zip(each.begin, each.end, each.name, each.thread, strict=True):
            moments = by_thread.get(thread, [])
            for _, number in moments[bisect_left(moments, (begin,)) : bisect_left(moments, (end,))]:
                known = found[number]
                if known is None or begin >= known.begin:
                    found[number] = Span(names[name], begin, end, spans[number].thread)
        return found


def record(path: Path, step: str | None = None) -> Recording:
    """What a trace says; ``step`` is the name of the user's own annotation of a step.

    Raises BadTrace, which names the file, for one that cannot be read to its end.
    """
    recording = Recording()
    about: dict[str, Any] = {}
    for event in read_events(path, about):
        recording.add(event, step)
    devices = about.get("deviceProperties")
    for each in devices if isinstance(devices, list) else ():
        if isinstance(each, dict) and isinstance(each.get("name"), str):
            recording.device_names[str(each.get("id"))] = each["name"]
    job = about.get("distributedInfo")
    rank = job.get("rank") if isinstance(job, dict) else None
    recording.rank = rank if isinstance(rank, int) else None
    return recording


def is_waiting_copy(call: Span) -> bool:
    """Whether a call returns only once its copy has arrived."""
    return bool(_WAITING_COPY.match(call.name))


def has_workers(call: Span) -> bool | None:
    """Whether a loader has workers, where the name of its iterator tells."""
    if "SingleProcess" in call.name:
        return False
    return True if "MultiProcessing" in call.name else None


def _ns(value: object) -> int | None:
    """Microseconds as whole nanoseconds; some profilers write them as text."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _MOST_US:
        return None
    return round(value * 1000)


def _device(event: dict[str, Any], arguments: dict[str, Any]) -> str:
    return str(arguments.get("device", event.get("pid", "")))


def _thread(event: dict[str, Any]) -> Thread:
    return str(event.get("pid")), str(event.get("tid"))


def _key(arguments: dict[str, Any]) -> str:
    return str(arguments.get("correlation", ""))


def _source(way: str, words: str | None) -> HostMemory:
    """Where a copy comes from. Intel's names say H for memory that SYCL made for the host, and M for any other."""
    match (words or "").lower():
        case "pinned":
            return "pinned"
        case "pageable":
            return "pageable"
    if "2" in way:
        return {"M": "pageable", "H": "pinned"}.get(way[0], "unknown")  # type: ignore[return-value]  # of these two
    return "unknown"
