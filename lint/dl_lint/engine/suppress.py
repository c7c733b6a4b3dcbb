"""Takes back the findings that a comment accepts, and remembers which comments did so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.engine.selection import exactness

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dl_lint.engine.report import Entry, Reported
    from dl_lint.source.parser import Syntax
    from dl_lint.source.suppressions import Comments, Suppression


Used = set[tuple[int, str]]
"""What earned its place: the number of a suppression in its file, with one of its codes or "" for all of them."""


def covering(comments: Comments, rule: Entry, line: int) -> Iterator[tuple[int, str]]:
    """The suppressions, by their number and the code as written, that accept a finding of ``rule`` on ``line``."""
    for number, suppression in comments.at(line):
        for code in codes(suppression):
            if not code or exactness(code, rule):
                yield number, code


def codes(suppression: Suppression) -> tuple[str, ...]:
    """Codes as written; one empty code stands for all rules."""
    return suppression.codes or ("",)


def accept(findings: Iterable[Reported], syntax: Syntax) -> tuple[list[Reported], Used]:
    """The findings of one file that no comment takes back, and the comments that did take some."""
    left = []
    used: Used = set()
    for reported in findings:
        reasons = set(covering(syntax.comments, reported.rule, reported.finding.place.span[0]))
        used |= reasons
        if not reasons:
            left.append(reported)
    return left, used
