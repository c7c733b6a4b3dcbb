"""Limits as users write them: each kind of limit, how it is read, and what makes one impossible.

A check declares its limits once, as the keyword-only parameters of its ``judge``, annotated with
one of the kinds below (``max_worker_growth: Bytes | None = None``). Fixture keywords and the
keys of a target in pyproject.toml are read through the same annotation.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_dataloader.errors import BadLimit
from pytest_dataloader.printable import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

Rate = float
"""Something per second; positive."""
Milliseconds = float
"""Positive."""
Seconds = float
"""Positive."""
Share = float
"""Between 0 and 1."""
Bytes = int
"""A whole number of bytes, or text such as ``"32MB"`` (10**6) or ``"32MiB"`` (2**20)."""
Count = int
"""A whole number, at least 1."""
StartMethods = tuple[str, ...]
"""Start methods of multiprocessing, at least one: ``["fork", "forkserver", "spawn"]``, or a single name."""

Step = Callable[[Any], object]
"""A training step, a callable that takes a batch, or ``"MODULE:ATTR"`` that names one."""

Method = str
"""The name of a method of the loader, or of one of its parts: ``"sampler.state_dict"``."""

_UNITS = {
    "": 1, "B": 1,
    "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
    "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40,
}  # fmt: skip
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*")
_LEAST_WITHOUT_UNIT = 64_000
"""A bare number below it was meant as megabytes by whoever wrote it: nobody holds a worker to 32 bytes."""


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
        raise BadLimit(f"expected a number, got {shown(value)}")
    return float(value)


def _positive(value: object) -> float:
    number = _number(value)
    if number <= 0:
        raise BadLimit(f"expected a number above 0, got {shown(value)}")
    return number


def _share(value: object) -> float:
    number = _number(value)
    if not 0 <= number <= 1:
        raise BadLimit(f"expected a share between 0 and 1, got {shown(value)}")
    return number


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise BadLimit(f"expected a whole number of at least 1, got {shown(value)}")
    return value


_START_METHODS = ("fork", "forkserver", "spawn")


def _start_methods(value: object) -> tuple[str, ...]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not names or any(name not in _START_METHODS for name in names):
        raise BadLimit(f"expected a list of start methods out of {', '.join(_START_METHODS)}, got {shown(value)}")
    return tuple(dict.fromkeys(names))


_REFERENCE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


def _step(value: object) -> object:
    if callable(value) or (isinstance(value, str) and _REFERENCE.fullmatch(value)):
        return value
    raise BadLimit(f"expected MODULE:ATTR of a callable that takes a batch, such as train:step, got {shown(value)}")


_PATH = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


def _method(value: object) -> str:
    if isinstance(value, str) and _PATH.fullmatch(value):
        return value
    raise BadLimit(f"expected the name of a method, such as state_dict or sampler.state_dict, got {shown(value)}")


def parse_bytes(value: object) -> int:
    """Read ``33554432``, ``"32MB"`` or ``"1.5 GiB"`` as bytes.

    Raises BadLimit for anything else, a negative size included, and for a bare number above 0 that is too small to be
    meant as bytes.
    """
    if isinstance(value, str):
        match = _SIZE.fullmatch(value)
        unit = _UNITS.get(match[2].upper()) if match else None
        size = float(match[1]) * unit if match and unit else math.inf
        if not math.isfinite(size):
            raise BadLimit(f'expected a size such as "32MB" or "1.5GiB", got {shown(value)}')
        return int(size) if match is not None and match[2] else _bare(int(size), value)
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not (0 <= value <= sys.float_info.max and value == int(value))
    ):
        raise BadLimit(f'expected a size such as "32MB" or a whole number of bytes, got {shown(value)}')
    return _bare(int(value), value)


def _bare(size: int, value: object) -> int:
    if 0 < size < _LEAST_WITHOUT_UNIT:
        raise BadLimit(f'expected a size with its unit, such as "{size}MB" or "{size}B", got {shown(value)}')
    return size


class Kind(NamedTuple):
    """How a kind of limit is read, what a command line calls its value, and what TOML may hold, as JSON Schema."""

    read: Callable[[object], Any]
    metavar: str
    schema: Mapping[str, Any]


_POSITIVE = Kind(_positive, "NUMBER", {"type": "number", "exclusiveMinimum": 0})
_SIZE_PATTERN = r"^\s*(\d+(\.\d+)?\s*([KkMmGgTt][Ii]?)?[Bb]|(0|6[4-9]\d{3}|[7-9]\d{4}|\d{6,})(\.\d+)?)\s*$"
_METHODS = {"enum": list(_START_METHODS)}

LIMIT_KINDS: Mapping[str, Kind] = {
    "Rate": _POSITIVE,
    "Milliseconds": _POSITIVE,
    "Seconds": _POSITIVE,
    "Share": Kind(_share, "SHARE", {"type": "number", "minimum": 0, "maximum": 1}),
    "Bytes": Kind(
        parse_bytes,
        "SIZE",
        {
            "anyOf": [
                {"type": "string", "pattern": _SIZE_PATTERN},
                {"type": "integer", "minimum": _LEAST_WITHOUT_UNIT},
                {"const": 0},
            ]
        },
    ),
    "Count": Kind(_count, "COUNT", {"type": "integer", "minimum": 1}),
    "StartMethods": Kind(
        _start_methods, "NAMES", {"anyOf": [_METHODS, {"type": "array", "items": _METHODS, "minItems": 1}]}
    ),
    "Step": Kind(_step, "MODULE:ATTR", {"type": "string", "pattern": f"^{_REFERENCE.pattern}$"}),
    "Method": Kind(_method, "NAME", {"type": "string", "pattern": f"^{_PATH.pattern}$"}),
}

DESCRIPTIONS: Mapping[str, str] = {
    "load": "the method that loads a state, where it is not load_state_dict",
    "max_cpu_ms_per_sample": "CPU time that a sample may cost, in milliseconds",
    "max_fd_use": "descriptors open at the peak, as a share of RLIMIT_NOFILE, 0 to 1",
    "max_gpu_idle": "share of a training step in which the device may do nothing, 0 to 1",
    "max_input_wait": "share of the training's time in which it may wait for data, 0 to 1",
    "max_shm": "bytes in /dev/shm at the peak, such as 512MB",
    "max_snapshot_overhead": "share by which snapshots of the state may slow the loader down, 0 to 1",
    "max_stall": "share of a step of step_ms, or of step, spent waiting for a batch, 0 to 1",
    "max_startup_seconds": "seconds until the first batch",
    "max_total_memory": "memory of all workers together, such as 8GB",
    "max_worker_growth": "private memory that a worker may gain, such as 32MB",
    "min_batches_per_second": "batches per second that the loader must deliver, once warm",
    "min_samples_per_second": "samples per second that the loader must deliver, once warm",
    "resume_workers": "the number of workers with which a state is loaded, where it is another",
    "start_methods": "the start methods that must work: fork,forkserver,spawn",
    "state": "the method that gives the state, where it is not state_dict",
    "step": "the training step, a callable that takes a batch",
    "step_ms": "milliseconds that a training step takes",
    "world_size": "the number of ranks that share the dataset",
}
"""Each limit in a line, for ``--help``; a test holds that all are there."""
