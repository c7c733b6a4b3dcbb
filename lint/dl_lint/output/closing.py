"""The last lines for people: how many findings of each weight, in how many files, and what can be done about them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from dl_lint.engine.report import WEIGHTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.engine.report import Report
    from dl_lint.session import Outcome
    from dl_lint.sight.facts import Sight


def closing(outcome: Outcome, *, fix: bool, diff: bool, unsafe: bool) -> Iterator[str]:
    report, fixed = outcome.report, len(outcome.fixed)
    found = len(report.findings)
    said = f"{_hidden(report.hidden)}{_unread(report)}{_lost(report.sight)}"
    if fix or diff:
        yield f"{'Fixed' if fix else 'Would fix'} {count(fixed, 'finding')}; {found} left{said}.\n"
    elif found:
        places = len({reported.path for reported in report.findings})
        yield f"Found {_weighed(report)} in {count(places, 'file')} of {report.checked}{said}.\n"
    elif report.checked:
        yield f"No findings in {count(report.checked, 'file')}{said}.\n"
    else:
        left_out = outcome.tree.left_out or report.failures
        yield "No Python file was read.\n" if left_out else "No Python files here.\n"
    safe = sum(reported.fixable(unsafe=False) for reported in report.findings)
    risky = sum(reported.fixable(unsafe=True) for reported in report.findings) - safe
    if (safe or (unsafe and risky)) and not (fix or diff):
        yield f"[*] {safe + risky * unsafe} can be fixed with --fix.\n"
    if risky and not unsafe:
        yield f"{risky} can be fixed with --unsafe-fixes, which may change what the code does.\n"
    if outcome.accepted:
        yield f"{count(outcome.accepted, 'more finding')} in the baseline.\n"


def _weighed(report: Report) -> str:
    """How many findings there are of each weight, the heaviest first."""
    of = Counter(reported.severity for reported in report.findings)
    told = {"bug": count(of["bug"], "bug"), "slow": f"{of['slow']} slow", "advice": _pieces(of["advice"])}
    return ", ".join(told[weight] for weight in WEIGHTS if of[weight])


def _pieces(number: int) -> str:
    return f"{number} {'piece' if number == 1 else 'pieces'} of advice"


def _hidden(number: int) -> str:
    return f"; {_pieces(number)} hidden (--pedantic shows {'it' if number == 1 else 'them'})" if number else ""


def _unread(report: Report) -> str:
    """What is said of files that could not be read, if there are any."""
    paths = {failure.path for failure in report.failures if failure.path and not failure.partial}
    return f"; {len(paths)} could not be checked" if paths else ""


def _lost(sight: Sight) -> str:
    """What is said of loaders that could not be followed, if there are any."""
    if not sight.lost:
        return ""
    return f"; {sight.lost} of {count(len(sight.loaders), 'loader')} could not be followed (--sight says why)"


def count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
