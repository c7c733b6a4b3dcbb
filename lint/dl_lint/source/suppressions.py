"""The comments that take findings back."""

from __future__ import annotations

import io
import math
import re
import tokenize
from bisect import bisect_right
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.source.positions import Span

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
_LAYOUT = frozenset({tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER})


@dataclass(frozen=True, slots=True)
class Suppression:
    """A comment that takes findings back.

    ``kind`` is ignore (``# dl-lint: ignore[…]``), file (``ignore-file``, ``skip-file``), noqa, or unknown for a
    ``# dl-lint:`` comment that means nothing. ``codes`` are codes or names as written; empty, all are meant.
    """

    kind: str
    at: Span
    codes: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class Comments:
    """``ranges`` are first and last line of each logical line that is longer than one, in source order and apart."""

    suppressions: tuple[Suppression, ...] = ()
    ranges: tuple[tuple[int, int], ...] = ()

    def lines(self, line: int) -> tuple[int, ...]:
        """Lines whose suppressions hold for a finding that starts on ``line``: its own, and the first and the last
        line of the logical line around it."""
        at = bisect_right(self.ranges, (line, math.inf)) - 1
        first, last = self.ranges[at] if at >= 0 else (line, line)
        return tuple(sorted({line, first, last})) if first <= line <= last else (line,)

    def at(self, line: int) -> Iterator[tuple[int, Suppression]]:
        """The suppressions that hold for a finding that starts on ``line``, each with its number in the file."""
        numbers = self._of_file + [number for one in self.lines(line) for number in self._by_line.get(one, ())]
        yield from ((number, self.suppressions[number]) for number in sorted(numbers))

    @cached_property
    def _of_file(self) -> list[int]:
        return [number for number, one in enumerate(self.suppressions) if one.kind == "file"]

    @cached_property
    def _by_line(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for number, one in enumerate(self.suppressions):
            if one.kind in ("ignore", "noqa"):
                found.setdefault(one.at[0], []).append(number)
        return found


def read(code: str) -> Comments:
    """The suppressions of a file in source order; one that holds the words of none is not taken apart."""
    if not (_OURS.search(code) or _NOQA.search(code)):
        return Comments()
    found: list[Suppression] = []
    ranges: list[tuple[int, int]] = []
    first = 0
    for token in tokens(code):
        if token.type == tokenize.COMMENT:
            found += _suppressions(token)
        elif token.type == tokenize.NEWLINE:
            if 0 < first < token.start[0]:
                ranges.append((first, token.start[0]))
            first = 0
        elif not first and token.type not in _LAYOUT:
            first = token.start[0]
    return Comments(tuple(found), tuple(ranges))


def tokens(code: str) -> Iterator[tokenize.TokenInfo]:
    """As far as this Python knows them: syntax of a newer one may end them early."""
    with suppress(tokenize.TokenError, SyntaxError):
        yield from tokenize.generate_tokens(io.StringIO(code, newline=None).readline)


def _suppressions(token: tokenize.TokenInfo) -> Iterator[Suppression]:
    for match in _OURS.finditer(token.string):
        yield _suppression(_KINDS.get(match["word"], "unknown"), token, match)
    for match in _NOQA.finditer(token.string):
        yield _suppression("noqa", token, match)


def _suppression(kind: str, token: tokenize.TokenInfo, match: re.Match[str]) -> Suppression:
    line, column = token.start
    span = (line, column + match.start(), line, column + len(match.group().rstrip()) + match.start())
    codes = tuple(code for code in _SEPARATOR.split(match["codes"] or "") if code)
    return Suppression(kind, span, codes, match["reason"].strip())
