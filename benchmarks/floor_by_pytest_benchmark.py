"""The experiment of throughput_floor.py and compare_power.py with pytest-benchmark, for comparison.

    pip install pytest-benchmark
    python benchmarks/floor_by_pytest_benchmark.py --repeats 17 --loops 2

A test per run pulls 0.1 s worth of batches under the ``benchmark`` fixture with its default settings (at least
5 rounds, 1 s). The first run on the idle machine is the saved one; each later run is gated as by
``--benchmark-compare-fail=mean:10%``, and as by ``min:10%``. Unchanged loaders should never fail, loaders whose samples
cost 20 % more always.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

TEST = """
import itertools, sys, time
import pytest, torch
sys.path.insert(0, {here!r})
from timed_loaders import KINDS, make

torch.set_num_threads(1)


@pytest.mark.parametrize("run", range({repeats}))
@pytest.mark.parametrize("cost", {costs})
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_pull(benchmark, kind, cost, run):
    batches = iter(make(kind, {workers}, cost))
    next(batches), next(batches)
    started = time.perf_counter()
    next(batches)
    count = max(1, int({seconds} / {parallel} / (time.perf_counter() - started)))
    benchmark.extra_info["batches"] = count
    benchmark(lambda: [None for _ in itertools.islice(batches, count)])
"""


def run(repeats: int, costs: tuple[float, ...], workers: int) -> list[tuple[str, float, float, float]]:
    """Kind, cost, and the mean and the least seconds per batch of each run."""
    with tempfile.TemporaryDirectory() as folder:
        test, out = Path(folder, "test_pull.py"), Path(folder, "out.json")
        filled = {"seconds": 0.1, "parallel": max(1, workers), "here": str(Path(__file__).parent)}
        test.write_text(TEST.format(repeats=repeats, costs=costs, workers=workers, **filled))
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--benchmark-json={out}", str(test)]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=dict(os.environ), check=False)
        if done.returncode:
            sys.exit(done.stdout[-3000:] + done.stderr[-3000:])
        found = json.loads(out.read_text())["benchmarks"]
    return [
        (
            each["name"].partition("[")[2].partition("-")[0],
            each["params"]["cost"],
            each["stats"]["mean"] / each["extra_info"]["batches"],
            each["stats"]["min"] / each["extra_info"]["batches"],
        )
        for each in found
    ]  # fmt: skip


def main() -> None:
    from timed_loaders import KINDS, busy_loops

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=17)
    parser.add_argument("--loops", type=int, default=0)
    parser.add_argument("--workers", type=int, default=0)
    asked = parser.parse_args()
    saved = run(1, (1.0,), asked.workers)
    with busy_loops(asked.loops):
        later = run(asked.repeats, (1.0, 1.2), asked.workers)
    print("loader      cost  runs  fail by mean:10%  fail by min:10%")
    false = [0, 0]
    for kind in KINDS:
        mean, least = next((mean, least) for name, _, mean, least in saved if kind.__name__ in name)
        for cost in (1.0, 1.2):
            rows = [row for row in later if kind.__name__ in row[0] and row[1] == cost]
            by_mean = sum(row[2] > 1.1 * mean for row in rows)
            by_least = sum(row[3] > 1.1 * least for row in rows)
            if cost == 1.0:
                false = [false[0] + by_mean, false[1] + by_least]
            print(f"{kind.__name__:10}  {cost:4}  {len(rows):4}  {by_mean:16}  {by_least:15}")
    print(f"false failures: {false[0]} by mean, {false[1]} by min, of {asked.repeats * len(KINDS)} unchanged runs")


if __name__ == "__main__":
    main()
