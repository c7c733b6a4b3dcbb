"""Calibrates the memory check: every known loader in random order in one process, several times over.

``python benchmarks/memory_calibration.py --runs 3 --json out.json`` prints the tables of docs/memory.md.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))


@dataclass(frozen=True)
class Row:
    """One loader, judged once."""

    case: str
    faulty: bool
    run: int
    kinds: list[str]
    attribute: str
    outcome: str
    seconds: float
    growth: int
    source: str
    right_class: bool
    right_attribute: bool | None
    notes: list[str]
    table: list[Any]


def judge_all(run: int, only: str, withhold: str) -> None:
    """Judge every loader once, in an order of this run's own, and print a line of JSON each."""
    import memory_clean  # noqa: F401  # each registers its loaders
    import memory_copying  # noqa: F401
    import memory_growing  # noqa: F401
    import memory_loaders
    import memory_writing  # noqa: F401

    from pytest_dataloader.checks import Setting, memory
    from pytest_dataloader.probe.memory import pagemap, smaps
    from pytest_dataloader.probe.memory.copy_on_access import Sources

    sources = Sources(
        None if withhold in ("pagemap", "all") else pagemap.exclusive_pages,
        None if withhold == "all" else smaps.read_rollup,
    )
    cases = [(case, False) for case in memory_loaders.CLEAN] + [(case, True) for case in memory_loaders.FAULTY]
    random.Random(run).shuffle(cases)
    for case, faulty in cases:
        if only and only not in case.name:
            continue
        loader = case.build()
        started = time.monotonic()
        seen = memory.measure(loader, setting=Setting(), sources=sources)
        seconds = time.monotonic() - started
        wanted = set(case.kinds)
        right = wanted <= set(seen.kinds) if case.together else bool(wanted & set(seen.kinds)) and len(seen.kinds) == 1
        named = None
        if case.path:
            named = case.path in seen.attribute if "[" in case.path else seen.attribute.startswith(case.path)
            named = named or seen.attribute.endswith(case.path)
        row = Row(
            case.name, faulty, run, list(seen.kinds), seen.attribute, memory.judge(seen).outcome, seconds,
            seen.growth_bytes_per_worker, seen.source, right, named, list(seen.partly + seen.withheld),
            [(line.path, line.exposed_bytes, line.share_copied, line.copied) for line in seen.attributes[:4]],
        )  # fmt: skip
        print(json.dumps(asdict(row)), flush=True)
        del loader, seen


def collect(runs: int, only: str, withhold: str, user: str | None) -> list[Row]:
    """Each run in a process of its own."""
    rows = []
    for run in range(runs):
        command = [sys.executable, __file__, "--one", str(run), "--only", only, "--withhold", withhold]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, user=user, env=dict(os.environ))
        assert process.stdout is not None
        rows += [Row(**json.loads(line)) for line in process.stdout if line.startswith("{")]
        process.wait()
    return rows


def summary(rows: list[Row]) -> str:
    """The table that docs/memory.md shows."""
    clean = [row for row in rows if not row.faulty]
    faulty = [row for row in rows if row.faulty]
    accused = [row for row in clean if row.outcome == "failed" or not row.right_class]
    found = [row for row in faulty if row.outcome == "failed"]
    named = [row for row in faulty if row.right_attribute is not None]
    classed = [row for row in rows if row.right_class]
    seconds = sorted(row.seconds for row in rows)
    lines = [
        f"clean runs {len(clean)} of {len({row.case for row in clean})} kinds: accused {len(accused)}",
        f"faulty runs {len(faulty)} of {len({row.case for row in faulty})} kinds: found {len(found)}",
        f"right attribute {sum(bool(row.right_attribute) for row in named)}/{len(named)}",
        f"right class {len(classed)}/{len(rows)}",
        f"seconds: median {statistics.median(seconds):.2f}, p95 {seconds[int(0.95 * len(seconds))]:.2f}, "
        f"max {seconds[-1]:.2f}",
        f"sources {dict(Counter(row.source for row in rows))}",
    ]
    wrong = [
        row for row in rows
        if not row.right_class or row.right_attribute is False or (row.outcome == "failed") != row.faulty
    ]  # fmt: skip
    lines += [
        f"  {row.case} run {row.run}: {row.outcome} {row.kinds} {row.attribute!r} {row.notes} {row.table}"
        for row in wrong
    ]
    slow = sorted(rows, key=lambda row: -row.seconds)[:5]
    return "\n".join([*lines, "slowest: " + ", ".join(f"{row.case} {row.seconds:.2f} s" for row in slow)])


def small_sizes(runs: int) -> None:
    """How small a list of paths is still seen to be copied, and from what size on it counts."""
    from memory_loaders import Read, length_at, load, paths

    from pytest_dataloader.checks import Setting, memory

    print("| MB | seen to be copied | counted as copy_on_access |\n|---|---|---|")
    for megabytes in (0.05, 0.12, 0.25, 0.5, 1.0, 1.1, 1.5, 2.0):
        seen = []
        for _ in range(runs):
            rows = paths(megabytes)
            seen.append(memory.measure(load(Read(len(rows), length_at("rows"), rows=rows)), setting=Setting()))
        copied = sum(any(line.copied for line in one.attributes) for one in seen)
        print(
            f"| {megabytes} | {copied}/{runs} | {sum(one.kind == 'copy_on_access' for one in seen)}/{runs} |",
            flush=True,
        )


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", default="", help="only loaders whose name contains this")
    parser.add_argument("--withhold", default="", choices=["", "pagemap", "all"], help="take a source away")
    parser.add_argument("--user", default=None, help="measure as this user")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--sizes", action="store_true", help="how small a list is found, instead")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one is not None:
        judge_all(chosen.one, chosen.only, chosen.withhold)
        return
    if chosen.sizes:
        small_sizes(chosen.runs)
        return
    rows = collect(chosen.runs, chosen.only, chosen.withhold, chosen.user)
    print(summary(rows))
    if chosen.json:
        chosen.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))


if __name__ == "__main__":
    main()
