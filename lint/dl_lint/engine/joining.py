"""What a fault does on several lines of one block, told as one finding."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dl_lint.engine.report import position
from dl_lint.rule import Fix, Related

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dl_lint.engine.report import Reported
    from dl_lint.rule import Finding


def joined(found: Iterable[Reported]) -> list[Reported]:
    """The findings of one file, without those that repeat the one on the line before: they are places of that."""
    told: list[Reported] = []
    open_: dict[tuple[object, ...], tuple[int, int]] = {}
    for one in sorted(found, key=position):
        finding = one.finding
        key = (one.rule, finding.advice, finding.remedy, finding.related)
        at, line = open_.get(key, (0, -1))
        if finding.repeats and finding.place.span[0] - line in (0, 1):
            told[at] = one._replace(finding=_with(told[at].finding, finding))
        else:
            at = len(told)
            told.append(one)
        open_[key] = at, finding.place.span[2]
    return told


def _with(first: Finding, other: Finding) -> Finding:
    fix = None
    if first.fix is not None and other.fix is not None:
        edits = tuple(dict.fromkeys((*first.fix.edits, *other.fix.edits)))
        fix = Fix(first.fix.message, edits, first.fix.safe and other.fix.safe)
    return replace(first, related=(*first.related, Related(other.place, "and so here")), fix=fix)
