"""Events as Kineto writes them, in whole microseconds, for traces whose truth is known."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parent / "traces"
"""Recorded on an H200 by benchmarks/device, with what CUDA events say of the same steps in its results."""
MAIN = 100
Event = dict[str, Any]


def span(name: str, begin: int, end: int, cat: str = "cpu_op", tid: int = MAIN, **arguments: Any) -> Event:
    return {
        "ph": "X", "cat": cat, "name": name, "pid": MAIN, "tid": tid, "ts": begin, "dur": end - begin, "args": arguments
    }  # fmt: skip


def step(begin: int, end: int, number: int = 1) -> Event:
    return span(f"ProfilerStep#{number}", begin, end, "user_annotation")


def loader_call(begin: int, end: int, tid: int = MAIN, kind: str = "_MultiProcessingDataLoaderIter") -> Event:
    return span(f"enumerate(DataLoader)#{kind}.__next__", begin, end, "user_annotation", tid)


def kernel(begin: int, end: int, device: int = 0) -> Event:
    return span("gemm", begin, end, "kernel", tid=7, device=device)


def copy(begin: int, end: int, words: str = "HtoD (Pinned -> Device)", device: int = 0, **arguments: Any) -> Event:
    return span(f"Memcpy {words}", begin, end, "gpu_memcpy", tid=8, device=device, **arguments)


def call(name: str, begin: int, end: int, tid: int = MAIN, **arguments: Any) -> Event:
    return span(name, begin, end, "cuda_runtime", tid, **arguments)


def written(folder: Path, events: list[Event], **about: Any) -> Path:
    path = folder / "trace.json.gz"
    path.write_bytes(gzip.compress(json.dumps({"schemaVersion": 1, "traceEvents": events, **about}).encode()))
    return path
