"""Reads the comments that take findings back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dl_lint.facts.model import Suppression

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dl_lint.facts.tree import Span

# A comment may hold several, one behind the other.
_OURS = re.compile(
    r"#\s*dl-lint\s*:\s*(?P<word>[A-Za-z-]*)\s*(?P<list>\[(?P<codes>[^\]#]*)\])?(?P<reason>[^#]*)", re.ASCII
)
_NOQA = re.compile(
    r"#\s*noqa(?!\w|-)(?:\s*:\s*(?P<codes>[A-Z]+[0-9]+(?:[\s,]+[A-Z]+[0-9]+)*))?(?P<reason>[^#]*)",
    re.ASCII | re.IGNORECASE,
)
_KINDS = {"ignore": "ignore", "ignore-file": "file", "skip-file": "file"}
_SEPARATOR = re.compile(r"[\s,]+")


def suppressions(comments: Iterable[tuple[Span, str]]) -> tuple[Suppression, ...]:
    """Those in ``comments``, in source order."""
    found = []
    for at, text in comments:
        for match in _OURS.finditer(text):
            kind = _KINDS.get(match["word"], "unknown")
            found.append(_suppression(kind, at, match))
        found += [_suppression("noqa", at, match) for match in _NOQA.finditer(text)]
    return tuple(found)


def _suppression(kind: str, at: Span, match: re.Match[str]) -> Suppression:
    line, column, _, _ = at
    span = (line, column + match.start(), line, column + len(match.group().rstrip()) + match.start())
    codes = tuple(code for code in _SEPARATOR.split(match["codes"] or "") if code)
    return Suppression(kind, span, codes, match["reason"].strip())
