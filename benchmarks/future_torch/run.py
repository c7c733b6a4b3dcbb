"""Is any verdict wrong under a torch that renames a private name, adds an argument or changes a meaning?

    python benchmarks/future_torch/run.py [--only NAME...] [--jobs 2]

Hypothesis: each check is right or not measured, never wrong, whatever one release changes. Each change is made to a
copy of torch's data loading as it is imported, which calls itself 2.16.0; the loaders of tests/contract, one with a
fault and one without for each check, are then examined in one process for each change.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import subprocess
import sys
import tomllib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE, ROOT = Path(__file__).parent, Path(__file__).parents[2]
SECONDS = 900


def changes() -> dict[str, list[list[str]]]:
    """The changes by name, each as pairs of a regular expression and what takes its place."""
    rows = tomllib.loads((HERE / "changes.toml").read_text(encoding="utf-8"))
    return {
        name: row["changes"] if "changes" in row else [[rf"(?<!\w){row['renamed'][0]}(?!\w)", row["renamed"][1]]]
        for name, row in rows.items()
    }


CHANGES = changes()
TIMED = ("throughput", "stages")


def examine() -> None:
    """In a process of a change: examine every loader, and print a line for each."""
    import warnings

    import pytest_dataloader
    from tests.contract.loaders import CONTRACTS

    warnings.simplefilter("ignore")
    for check, contract in CONTRACTS.items():
        for kind, make in (("fault", contract.fault), ("twin", contract.twin)):
            limits = contract.limits if kind == "fault" or contract.twin_limits is None else contract.twin_limits
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    record = pytest_dataloader.diagnose(make(), checks=[check], quick=True, **limits).records[0]
            except Exception as error:  # torchdata may not work with what is changed: no loader, no verdict
                print(json.dumps([check, kind, "no loader", f"{type(error).__name__}: {error}", False]), flush=True)
                continue
            named = contract.words in record.reason
            print(json.dumps([check, kind, record.verdict, record.reason, named]), flush=True)


def judged(check: str, kind: str, verdict: str, named: bool) -> str:
    if verdict in ("not_measured", "no loader"):
        return verdict.replace("_", " ")
    right = (verdict == "failed" and named) if kind == "fault" else verdict == "passed"
    return "right" if right or (check in TIMED and verdict == "inconclusive") else "WRONG"


def run(name: str) -> tuple[str, Counter[str], list[str]]:
    path = os.pathsep.join(map(str, (HERE, ROOT, ROOT / "lint")))
    environment = {**os.environ, "PYTHONPATH": path, "FUTURE_TORCH": json.dumps(CHANGES[name])}
    environment["PYTHONWARNINGS"] = "ignore"
    command = [sys.executable, str(HERE / "run.py"), "--examine"]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)
        output, error = done.stdout, done.stderr
    except subprocess.TimeoutExpired as late:
        output, error = (late.stdout or b"").decode(), f"not finished in {SECONDS} s"
    counts, wrong = Counter[str](), []
    lines = [json.loads(line) for line in output.splitlines() if line.startswith("[")]
    for check, kind, verdict, reason, named in lines:
        outcome = judged(check, kind, verdict, named)
        counts[outcome] += 1
        wrong += [f"{check} of the {kind}: {verdict}: {reason.splitlines()[0]}"] if outcome == "WRONG" else []
    if len(lines) < 22:
        counts["missing"] = 22 - len(lines)
        wrong.append(f"the process ended: {(error.strip().splitlines() or ['?'])[-1]}")
    return name, counts, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=list(CHANGES), choices=CHANGES, metavar="NAME")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--examine", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.examine:
        examine()
        return 0
    total = Counter[str]()
    print("| change | right | not measured | no loader | wrong |\n|---|---|---|---|---|", flush=True)
    with ThreadPoolExecutor(given.jobs) as pool:
        for name, counts, wrong in pool.map(run, given.only):
            total += counts
            figures = [counts[key] for key in ("right", "not measured", "no loader")]
            figures.append(counts["WRONG"] + counts["missing"])
            print(f"| {name} | {' | '.join(map(str, figures))} |", *wrong, sep="\n", flush=True)
    print(dict(total))
    return 1 if total["WRONG"] or total["missing"] else 0


if __name__ == "__main__":
    sys.exit(main())
