"""What a change of dl-lint does to its findings over many checkouts: what acts in one of them only is a guess.

    python benchmarks/ecosystem.py BEFORE AFTER CHECKOUT... [--list] [--draw 60]

BEFORE and AFTER are git revisions of this repository, or folders that hold a package ``dl_lint``. Prints how many
findings came, went, became advice or ceased to be no more, for each rule and each checkout, and for each ``Quiet`` of
AFTER in how many checkouts it acted. ``--list`` names every difference, ``--draw`` as many at random, to be read.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

LINT = """
import gc, json, sys
gc.disable()
try:
    from dl_lint.engine import catalogue
except ImportError:  # before the rooms
    from dl_lint import catalogue
from dl_lint.session import Session, Wishes
report = Session(Wishes(pedantic=True, cache=False), catalogue.entries()).lint().report
print(*(one for one in report.failures if "broke down" in str(one)), sep="\\n", end="", file=sys.stderr)
found = [[one.rule.code, one.path, one.finding.place.span[0], one.severity == "advice", one.finding.message]
         for one in report.findings if one.rule.code != "DL001"]
json.dump({"findings": found, "quiet": getattr(report, "quiet", [])}, sys.stdout)
"""
"""Runs with the one or the other package, all advice asked for."""

SEED = 20261124


@dataclass(frozen=True, slots=True, order=True)
class Difference:
    """What became of the findings of a rule at one line."""

    code: str
    checkout: str
    kind: str
    path: str
    row: int
    message: str

    def __str__(self) -> str:
        return f"{self.kind:7} {self.code} {self.checkout}/{self.path}:{self.row}: {self.message}"


KINDS = ("came", "went", "louder", "quieter")


def package(named: str, into: Path) -> Path:
    """The folder that holds the package ``dl_lint``, taken out of git where a revision is named."""
    if Path(named).is_dir():
        inner = Path(named, "lint").resolve()
        return inner if inner.is_dir() else Path(named).resolve()
    archive = subprocess.run(["git", "archive", named, "lint"], cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(into, filter="data")
    return into / "lint"


def lint(folder: Path, checkout: Path) -> dict[str, Any]:
    env = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run([sys.executable, "-c", LINT], cwd=checkout, env=env, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{checkout}: {done.stderr}")
    if done.stderr:
        print(f"{checkout}: {done.stderr}", file=sys.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def differences(checkout: str, before: dict[str, Any], after: dict[str, Any]) -> list[Difference]:
    """Findings are the same where the rule and the line are."""
    old, new = ({(code, path, row): (advice, said) for code, path, row, advice, said in one["findings"]}
                for one in (before, after))  # fmt: skip
    found = []
    for code, path, row in old.keys() | new.keys():
        was, now = old.get((code, path, row)), new.get((code, path, row))
        if was is not None and now is not None and was[0] == now[0]:
            continue
        kind = "came" if was is None else "went" if now is None else "louder" if was[0] else "quieter"
        found.append(Difference(code, checkout, kind, path, row, (now or was or ("", ""))[1]))
    return sorted(found)


def table(title: str, rows: dict[str, Counter[str]]) -> None:
    print(f"\n{title:34}" + "".join(f"{kind:>9}" for kind in KINDS))
    for name, counts in sorted(rows.items()):
        print(f"{name:34}" + "".join(f"{counts[kind]:9}" for kind in KINDS))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("checkouts", nargs="+", type=Path)
    parser.add_argument("--list", action="store_true", help="name every difference")
    parser.add_argument("--draw", type=int, default=0, metavar="N", help="name N differences, drawn with a fixed seed")
    options = parser.parse_args()
    found: list[Difference] = []
    acted: dict[tuple[str, str], Counter[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        packages = [package(named, Path(folder, named.strip("./"))) for named in (options.before, options.after)]
        for checkout in options.checkouts:
            before, after = (lint(one, checkout) for one in packages)
            found += differences(checkout.name, before, after)
            for code, reason, count in after["quiet"]:
                acted.setdefault((code, reason), Counter())[checkout.name] += count
    for title, name in (("rule", "code"), ("checkout", "checkout")):
        rows: dict[str, Counter[str]] = {}
        for one in found:
            rows.setdefault(getattr(one, name), Counter())[one.kind] += 1
        rows["all"] = Counter(one.kind for one in found)
        table(title, rows)
    print(f"\n{'checkouts':>9}{'findings':>9}  quiet")
    for (code, reason), counts in sorted(acted.items()):
        print(f"{len(counts):9}{counts.total():9}  {code} {reason}")
    drawn = found if options.list else random.Random(SEED).sample(found, min(options.draw, len(found)))
    print(*["", *map(str, sorted(drawn))], sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
