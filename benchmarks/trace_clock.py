"""The clock of ``torch.profiler``'s exported trace: how far its slices lie from readings of ``time.time_ns``.

    python benchmarks/trace_clock.py --marks 200

Each ``record_function`` has a reading just before and one just after it. "Before" is how much later the slice begins
than the first of them, "after" how much earlier it ends than the second: below 0 it would be on another clock.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile, record_function

from pytest_dataloader.report.trace import QUARTER_NS


def trace_of(marks: int) -> tuple[dict[str, Any], list[tuple[int, int]]]:
    """What the profiler exports of so many marks, and the readings around each."""
    readings = []
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        for number in range(marks):
            before = time.time_ns()
            with record_function(f"mark {number}"):
                torch.ones(1)
            readings.append((before, time.time_ns()))
            time.sleep(0.002)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "torch.json")
        profiler.export_chrome_trace(str(path))
        return json.loads(path.read_text()), readings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--marks", type=int, default=200)
    document, readings = trace_of(parser.parse_args().marks)
    base = document["baseTimeNanoseconds"]
    slices = {event["name"]: event for event in document["traceEvents"] if event.get("ph") == "X"}
    before, after = [], []
    for number, (began, ended) in enumerate(readings):
        mark = slices[f"mark {number}"]
        before.append((base + 1000 * mark["ts"] - began) / 1000)
        after.append((ended - base - 1000 * (mark["ts"] + mark["dur"])) / 1000)
    print(f"base {base}: {base / QUARTER_NS:g} quarters of a year since 1970")
    for name, gaps in (("before", before), ("after", after)):
        print(f"{name}: median {statistics.median(gaps):.1f} us, {min(gaps):.1f} to {max(gaps):.1f}")


if __name__ == "__main__":
    main()
