"""The last line for people: how many findings, in how many files, and what can be done about them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.session import Outcome
    from dl_lint.sight.facts import Sight


def closing(outcome: Outcome, *, fix: bool, diff: bool, unsafe: bool) -> Iterator[str]:
    report, fixed = outcome.report, len(outcome.fixed)
    found = len(report.findings)
    lost = _lost(report.sight)
    if fix or diff:
        yield f"{'Fixed' if fix else 'Would fix'} {count(fixed, 'finding')}; {found} left.\n"
    elif found:
        places = len({reported.path for reported in report.findings})
        yield f"Found {count(found, 'finding')} in {count(places, 'file')} of {report.checked}{lost}.\n"
    elif report.checked:
        yield f"No findings in {count(report.checked, 'file')}{lost}.\n"
    else:
        yield "No Python file was read.\n" if outcome.tree.left_out else "No Python files here.\n"
    safe = sum(reported.fixable(unsafe=False) for reported in report.findings)
    risky = sum(reported.fixable(unsafe=True) for reported in report.findings) - safe
    if (safe or (unsafe and risky)) and not (fix or diff):
        yield f"[*] {safe + risky * unsafe} can be fixed with --fix.\n"
    if risky and not unsafe:
        yield f"{risky} can be fixed with --unsafe-fixes, which may change what the code does.\n"
    if report.hidden:
        pieces = "piece" if report.hidden == 1 else "pieces"
        yield f"{report.hidden} {pieces} of advice hidden: --pedantic shows them.\n"
    if outcome.accepted:
        yield f"{count(outcome.accepted, 'more finding')} in the baseline.\n"


def _lost(sight: Sight) -> str:
    """What is said of loaders that could not be followed, if there are any."""
    if not sight.lost:
        return ""
    return f"; {sight.lost} of {count(len(sight.loaders), 'loader')} could not be followed (--sight says why)"


def count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
