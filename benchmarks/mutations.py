"""Does dl-lint find a known fault in real code? Correct idioms of checkouts are turned into one fault each.

    python benchmarks/mutations.py CHECKOUT... [--json mutants.json] [--rule DL204] [--show 5]

An operator (``mutants/``) looks for an idiom, checks on the nodes of ``ast`` that its change makes a fault of one rule,
and says where a finding is due. Each mutant is linted with its whole checkout, of which the changed files are given in
memory: nothing is written. A finding of the rule within five lines of such a place, or with one there as related place,
counts as found; where only ``--pedantic`` shows it, as silenced. Places at which the rule speaks of the unchanged code
are left out. The sample is the same for the same seed and checkouts.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import gc
import json
import os
import random
import re
import sys
import time
import traceback
import warnings
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parent))

from dl_lint.engine import catalogue
from mutants import containers, datasets, loaders, sampling, streams, transfers
from mutants.code import Code
from mutants.edits import Unfit
from mutants.flow import Flow
from mutants.mutant import OPERATORS, TEST, Mutant, Operator

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOMS = (transfers, loaders, containers, datasets, sampling, streams)
"""Where operators are."""

MOST_LINES = 6_000_000
"""Of Python that are linted for the mutants of one checkout: 15 us a line, so that a large one takes 90 s."""

Due = list[tuple[str, int, int]]
Said = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a mutant: found, silenced (shown with ``--pedantic``), missed, or unknown for want of the rule."""

    rule: str
    operator: str
    checkout: str
    path: str
    line: int
    result: str
    said: str
    """The message of the finding, which tells why it is no more than advice."""
    quiet: tuple[str, ...]
    """The reasons of conditions that acted more often than on the unchanged code."""
    elsewhere: tuple[str, ...]
    """Where the rule speaks anew, but not at one of the places."""
    difference: str


def load() -> None:
    """Imports all that a run of dl-lint needs, which the processes that lint are then born with."""
    from dl_lint import session
    from dl_lint.engine import analysis

    assert analysis
    assert session
    assert list(catalogue.load(catalogue.entries().values()))


def lint(root: Path, given: dict[str, bytes], rules: Sequence[str]) -> Said:
    """What dl-lint says of a checkout, some files of which are given, in a process of its own."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.close(reader)
            os.chdir(root)
            with os.fdopen(writer, "w", encoding="utf-8") as pipe:
                json.dump(_said(given, rules), pipe)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as pipe:
        answer = pipe.read()
    if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]):
        raise RuntimeError(f"{root}: dl-lint broke down")
    said: Said = json.loads(answer)
    return said


def _said(given: dict[str, bytes], rules: Sequence[str]) -> Said:
    from dl_lint.session import Session, Wishes

    wishes = Wishes(paths=(".",), given=given, pedantic=True, cache=False, select=tuple(rules))
    report = Session(wishes, catalogue.entries()).lint().report
    findings = [
        {
            "code": it.rule.code,
            "message": it.finding.message,
            "advice": it.severity == "advice",
            "places": [
                (place.path, place.span[0]) for place in (it.finding.place, *(one.place for one in it.finding.related))
            ],
        }
        for it in report.findings
    ]
    return {"findings": findings, "quiet": [list(one) for one in report.quiet]}


def hits(said: Said, rule: str, due: Due) -> list[Said]:
    """Findings of a rule at one of the places."""

    def is_due(path: str, row: int) -> bool:
        return any(path == where and first <= row <= last for where, first, last in due)

    return [it for it in said["findings"] if it["code"] == rule and any(is_due(*place) for place in it["places"])]


def _without_numbers(message: str) -> str:
    """Of lines, which move."""
    return re.sub(r"\d+", "", message)


def judge(root: Path, code: Code, operator: Operator, mutant: Mutant, base: Said) -> Outcome | None:
    """Lints one mutant; None where it is none: it does not parse, or the rule spoke there before."""
    sources, rule = mutant.sources(), operator.rule
    if mutant.overlaps() or hits(base, rule, mutant.lines(code)[:1]):
        return None
    try:
        with warnings.catch_warnings(action="ignore"):
            for source in sources.values():
                ast.parse(source)
    except SyntaxError:
        return None
    is_known = rule in catalogue.entries()
    said = lint(root, {file.path: source for file, source in sources.items()}, [rule]) if is_known else base
    old = {
        (path, mutant.moved(path, row), _without_numbers(it["message"]))
        for it in base["findings"]
        if it["code"] == rule
        for path, row in it["places"][:1]
    }
    new = {
        "findings": [it for it in said["findings"] if (*it["places"][0], _without_numbers(it["message"])) not in old]
    }
    found = hits(new, rule, mutant.due(code))
    loud = [it for it in found if not it["advice"]]
    shown = (loud or found or [{"message": ""}])[0]
    counts = Counter({reason: count for of, reason, count in base["quiet"] if of == rule})
    quiet = tuple(reason for of, reason, count in said["quiet"] if of == rule and count > counts[reason])
    elsewhere = tuple(
        f"{it['places'][0][0]}:{it['places'][0][1]}: {it['message']}" for it in new["findings"] if it["code"] == rule
    )
    place = mutant.places[0]
    file = code.file(place)
    result = "unknown" if not is_known else "found" if loud else "silenced" if found else "missed"
    return Outcome(
        rule, operator.name, root.name, file.path, file.line(file.span(place)[0]),
        result, shown["message"], quiet, () if found else elsewhere, difference(mutant),
    )  # fmt: skip


def difference(mutant: Mutant) -> str:
    return "".join(
        line
        for file, source in sorted(mutant.sources().items(), key=lambda it: it[0].path)
        for line in difflib.unified_diff(
            file.source.decode().splitlines(True), source.decode().splitlines(True), file.path, file.path, n=3
        )
    )


def mutants_of(code: Code, flow: Flow, operator: Operator, draw: random.Random) -> Iterator[Mutant]:
    """In a random order; places that turn out unfit are left out."""
    made = list(operator.make(code, flow))
    draw.shuffle(made)
    for one in made:
        try:
            mutant = (one() if callable(one) else one).mutant()
            mutant.sources()
        except (Unfit, UnicodeDecodeError):
            continue
        if not TEST.search(code.file(mutant.places[0]).path):
            yield mutant


def benchmark(root: Path, rules: Sequence[str], most: int, lines: int, seed: int) -> list[Outcome]:
    """The mutants of one checkout, at most so many of each operator."""
    code = Code(root)
    flow = Flow(code)
    left = lines // max(1, sum(file.source.count(b"\n") for file in code.files))
    chosen = [it for it in OPERATORS if not rules or it.rule in rules]
    known = sorted({it.rule for it in chosen} & set(catalogue.entries()))
    base = lint(root, {}, known) if known else {"findings": [], "quiet": []}
    random.Random(f"{seed} {root.name}").shuffle(chosen)
    making = {it: mutants_of(code, flow, it, random.Random(f"{seed} {root.name} {it.name}")) for it in chosen}
    outcomes: list[Outcome] = []
    for _ in range(most):
        for operator in [*making]:
            outcome = None
            while outcome is None and left > 0:
                mutant = next(making[operator], None)
                if mutant is None:
                    del making[operator]
                    break
                outcome = judge(root, code, operator, mutant, base)
            if outcome is not None:
                outcomes.append(outcome)
                left -= 1
    return outcomes


def table(outcomes: Sequence[Outcome]) -> str:
    """By rule; the last line is the mean over rules, of which each counts alike."""
    by_rule: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for it in outcomes:
        by_rule[it.rule][it.result] += 1
    lines = [f"{'rule':6}{'mutants':>9}{'found':>7}{'silenced':>10}{'missed':>8}{'found':>8}{'pedantic':>10}"]
    shares = []
    for rule, counts in sorted(by_rule.items()):
        if counts["unknown"]:
            lines.append(f"{rule:6}{counts.total():9}   no such rule")
            continue
        shares.append((counts["found"] / counts.total(), (counts["found"] + counts["silenced"]) / counts.total()))
        lines.append(f"{rule:6}{counts.total():9}{counts['found']:7}{counts['silenced']:10}{counts['missed']:8}"
                     f"{shares[-1][0]:8.0%}{shares[-1][1]:10.0%}")  # fmt: skip
    total = Counter(it.result for it in outcomes)
    if shares:
        means = [sum(column) / len(shares) for column in zip(*shares, strict=True)]
        lines.append(f"{'mean':6}{total.total():9}{total['found']:7}{total['silenced']:10}{total['missed']:8}"
                     f"{means[0]:8.0%}{means[1]:10.0%}")  # fmt: skip
    return "\n".join(lines)


def _task(task: tuple[Path, Sequence[str], int, int, int]) -> tuple[Path, list[Outcome], float]:
    gc.disable()  # trees of many files: nothing to collect, and much to look at
    begun = time.perf_counter()
    return task[0], benchmark(*task), time.perf_counter() - begun


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", nargs="+", type=Path)
    parser.add_argument("--rule", action="append", default=[], help="only this rule; may be repeated")
    parser.add_argument("--most", type=int, default=2, help="mutants of one operator in one checkout (default: 2)")
    parser.add_argument("--lines", type=int, default=MOST_LINES, help="to be linted for one checkout")
    parser.add_argument("--seed", type=int, default=20261124)
    parser.add_argument("--jobs", type=int, default=2, help="checkouts at a time (default: 2)")
    parser.add_argument("--json", type=Path, help="write the mutants there, with their outcome and difference")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print N mutants of each operator, to be read")
    parser.add_argument("--list", default="", help="results to list: found, silenced, missed")
    options = parser.parse_args()
    outcomes: list[Outcome] = []
    tasks = [(it.resolve(), options.rule, options.most, options.lines, options.seed) for it in options.checkouts]
    load()
    with get_context("fork").Pool(options.jobs, maxtasksperchild=1) as pool:
        for root, found, seconds in pool.imap_unordered(_task, tasks):
            outcomes += found
            print(f"{root.name}: {len(found)} mutants, {seconds:.0f} s", file=sys.stderr, flush=True)
            if options.json:
                ordered = sorted(outcomes, key=lambda it: (it.rule, it.operator, it.checkout, it.path, it.line))
                half = options.json.with_suffix(".half")
                half.write_text(json.dumps([asdict(it) for it in ordered], indent=1))
                half.replace(options.json)
    outcomes.sort(key=lambda it: (it.rule, it.operator, it.checkout, it.path, it.line))
    shown: Counter[str] = Counter()
    for it in outcomes:
        if it.result in options.list.split(","):
            print(f"{it.result:9} {it.rule} {it.operator} {it.checkout}/{it.path}:{it.line} {'; '.join(it.quiet)}")
        if shown[it.operator] < options.show:
            shown[it.operator] += 1
            print(f"--- {it.result} {it.rule} {it.operator} {it.checkout}/{it.path}:{it.line}\n{it.difference}")
    print(table(outcomes))
    return 0


if __name__ == "__main__":
    sys.exit(main())
