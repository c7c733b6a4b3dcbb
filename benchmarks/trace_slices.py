"""The timeline's slices held against what the stages check says of the same run: they are to agree within 5 %.

    python benchmarks/trace_slices.py [--seconds 5] [--repeats 3] [--only LOADER...]

Each loader of ``staged_loaders`` is diagnosed by the command in a process of its own, with ``--trace`` and ``--json``,
and both files are read back by nothing of ours. Reading and collating are compared per sample, over batches after those
for which the check counts its workers as new. The check's figures are without the waiting for a CPU, which slices hold,
so what the check says of it is added. The hundred batches of a timeline are a part of what the check times, so parts of
one run that differ by themselves differ here as well: the last column is how far halves of the slices do.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from staged_loaders import LOADERS, SETTLED

NAMES = ("read", "read, here", "compute", "compute, here", "waiting collate", "computing collate")


def diagnosed(name: str, seconds: float) -> tuple[dict[str, Any], dict[str, Any]]:
    """Evidence of the check, and the events of the timeline."""
    with tempfile.TemporaryDirectory() as folder:
        report, timeline = Path(folder, "report.json"), Path(folder, "trace.json")
        script = f"from staged_loaders import LOADERS\n\n\ndef loader():\n    return LOADERS[{name!r}]()\n"
        Path(folder, "one.py").write_text(script)
        command = [sys.executable, "-m", "pytest_dataloader", "one:loader", "--checks", "stages"]
        command += ["--seconds", str(seconds), "--json", str(report), "--trace", str(timeline)]
        path = {"PYTHONPATH": f"{folder}:{Path(__file__).parent}:{Path(__file__).parents[1]}", "PATH": "/usr/bin:/bin"}
        subprocess.run(command, cwd=folder, env=path, check=False, capture_output=True)
        (loader,) = json.loads(report.read_text())["loaders"]
        return loader["checks"]["stages"]["evidence"], json.loads(timeline.read_text())


def slices(timeline: dict[str, Any]) -> list[float]:
    """Milliseconds of reading and collating, for each settled batch in the order of a worker."""
    took: dict[int, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for event in sorted(timeline["traceEvents"], key=lambda one: float(one.get("ts", 0))):
        if event["ph"] == "X" and event["name"] in ("read", "collate"):
            took[event["pid"]][event["args"]["batch"]] += event["dur"] / 1000
    return [ms for batches in took.values() for ms in list(batches.values())[SETTLED:]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", nargs="+", default=NAMES, choices=LOADERS)
    options = parser.parse_args()
    print(f"{'loader':20} {'check':>9} {'slices':>9} {'ratio':>7} {'halves':>7}   ms per sample", flush=True)
    for name in options.only:
        for _ in range(options.repeats):
            evidence, timeline = diagnosed(name, options.seconds)
            told = sum(evidence["ms_per_sample"][stage] for stage in ("read", "fetch", "collate"))
            told += evidence["delay_ms_per_sample"]
            seen = [ms / evidence["samples_per_batch"] for ms in slices(timeline)]
            if len(seen) < SETTLED:
                print(f"{name:20} {told:9.3f}   only {len(seen)} settled batches: more seconds", flush=True)
                continue
            mean, halves = statistics.fmean(seen), statistics.fmean(seen[::2]) / statistics.fmean(seen[1::2])
            print(f"{name:20} {told:9.3f} {mean:9.3f} {mean / told:7.3f} {halves:7.3f}", flush=True)


if __name__ == "__main__":
    main()
