"""Runs the checks of samples on every loader of tests/zoo: faults found, faults named, twins accused.

    python -m benchmarks.samples_zoo [--runs 20] [--only randomness,order,shards,resume]

A fault counts as found where the verdict is failed, as named where kind, source and code are those of the zoo. A twin
counts as accused where it failed, as unsure where it is inconclusive or not measured.
"""

from __future__ import annotations

import argparse
import collections
import importlib
import statistics
import time
import warnings
from typing import Any

from pytest_dataloader import loaders
from pytest_dataloader.checks import Setting, check_module
from pytest_dataloader.errors import NotMeasured
from pytest_dataloader.verdict import Verdict

CHECKS = ("randomness", "order", "shards", "resume")


def examine(check: str, case: Any) -> tuple[Any, Verdict]:
    """Evidence and verdict of one case."""
    module = check_module(check)
    if check != "shards":
        seen = module.measure(case.make(), setting=Setting())
        return seen, module.judge(seen)
    given = case.given()
    ready = loaders.is_dataloader(given)
    loader = given if ready else loaders.call(given, "it")
    seen = module.measure(loader, setting=Setting(build=None if ready else given), world_size=case.world_size)
    return seen, module.judge(seen, world_size=case.world_size)


def is_named(check: str, case: Any, seen: Any, verdict: Verdict) -> bool:
    """Whether a found fault is the one that the zoo says."""
    if check == "shards":
        return case.says in verdict.reason and [each.code for each in verdict.advice] == [case.code]
    if check == "resume":
        return case.outcome in {stop.outcome for stop in seen.stops}
    kinds = [(fault.kind, fault.source) for fault in seen.faults]
    return kinds == [(case.kind, case.source)] and [each.code for each in verdict.advice] == [case.code]


def run(check: str, runs: int) -> None:
    zoo = importlib.import_module(f"tests.zoo.{check}")
    counts: collections.Counter[str] = collections.Counter()
    seconds = []
    for number in range(runs):
        for group in ("FAULTS", "CLEAN"):
            for name, case in getattr(zoo, group).items():
                started = time.monotonic()
                try:
                    seen, verdict = examine(check, case)
                    outcome = verdict.outcome
                except NotMeasured:
                    seen, verdict, outcome = None, Verdict("not_measured", ""), "not_measured"
                seconds.append(time.monotonic() - started)
                counts[group] += 1
                counts[f"{group} {outcome}"] += 1
                right = outcome == ("failed" if group == "FAULTS" else "passed")
                if right and group == "FAULTS":
                    named = is_named(check, case, seen, verdict)
                    counts["named"] += named
                    right = named
                if not right:
                    print(f"  run {number} {group} {name!r}: {outcome}: {verdict.reason}", flush=True)
    unsure = counts["CLEAN"] - counts["CLEAN passed"] - counts["CLEAN failed"]
    print(
        f"| {check} | {counts['FAULTS failed']} of {counts['FAULTS']} | {counts['named']} of {counts['FAULTS']} "
        f"| {counts['CLEAN failed']} of {counts['CLEAN']} | {unsure} "
        f"| {statistics.median(seconds):.1f} | {max(seconds):.1f} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--only", default=",".join(CHECKS))
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| check | faults found | named | twins accused | unsure | seconds, median | max |")
    print("|---|---|---|---|---|---|---|")
    for check in given.only.split(","):
        run(check, given.runs)


if __name__ == "__main__":
    main()
