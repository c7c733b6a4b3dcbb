"""Calibration kernels: small fixed computations of several kinds, which say how fast this CPU runs just now."""

from __future__ import annotations

import functools
import random
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_PYTHON_STEPS = 3000
_COPIED_BYTES = 1_000_000
_INFLATED_BYTES = 60_000
_TENSORS = 32


def compute() -> None:
    """Python bytecode, about 0.2 ms."""
    total = 0
    for step in range(_PYTHON_STEPS):
        total += step * step & 7


def copy() -> None:
    """A megabyte copied, 0.02 ms in the cache, 0.2 ms in fresh pages."""
    bytearray(_buffer())


def inflate() -> None:
    """Compressed bytes unpacked by branching C, much as a decoder does, about 0.4 ms."""
    zlib.decompress(_compressed())


def stack() -> None:
    """Small tensors made and stacked, as by a dataset and its collate function, about 0.2 ms."""
    import torch

    torch.stack([torch.tensor(float(number)) for number in range(_TENSORS)])


KERNELS: Mapping[str, Callable[[], None]] = {"compute": compute, "copy": copy, "inflate": inflate, "stack": stack}
"""By name, as baselines hold them. A change to a kernel needs a new name: figures of the old one mean nothing then.

In six processes on a busy machine, dividing by the right kernel brought the spread (sd of the log) of copies of a
megabyte from 0.34 to 0.07, of dicts from 0.29 to 0.09, of Python from 0.07 to 0.03, and by a wrong one to as much as
0.41 (benchmarks/baseline_power.py).
"""


@functools.cache
def _buffer() -> bytes:
    return random.Random(0).randbytes(_COPIED_BYTES)


@functools.cache
def _compressed() -> bytes:
    return zlib.compress(bytes(random.Random(1).choices(range(64), k=_INFLATED_BYTES)))
