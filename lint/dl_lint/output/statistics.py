"""How many findings each rule has, the most frequent first."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from dl_lint.output import sight

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.engine.report import Entry, Report
    from dl_lint.output import Look


def render(report: Report, look: Look) -> Iterator[str]:
    counts, fixable = _count(report, look)
    margin = len(str(max(counts.values(), default=0)))
    for rule, count in counts.most_common():
        mark = f"[{look.paint('cyan', '*')}]" if fixable[rule] else "[ ]"
        yield f"{count:>{margin}}  {look.paint('bold red', rule.code)}  {mark} {rule.name}\n"
    if report.sight.loaders or report.sight.loops or report.sight.datasets:
        yield "\n"
        yield from sight.table(report, look)


def render_json(report: Report, look: Look) -> Iterator[str]:
    counts, fixable = _count(report, look)
    rows = [
        {
            "code": rule.code,
            "name": rule.name,
            "severity": rule.severity,
            "count": count,
            "fixable": fixable[rule] == count,
            "fixable_count": fixable[rule],
        }
        for rule, count in counts.most_common()
    ]
    yield json.dumps(rows, indent=2) + "\n"


def _count(report: Report, look: Look) -> tuple[Counter[Entry], Counter[Entry]]:
    counts = Counter(reported.rule for reported in report.findings)
    fixable = Counter(reported.rule for reported in report.findings if reported.fixable(unsafe=look.unsafe))
    return counts, fixable
