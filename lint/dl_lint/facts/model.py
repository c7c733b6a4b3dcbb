"""What one file says, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dl_lint.facts.tree import Span, Stmt


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


@dataclass(frozen=True, slots=True)
class FileFacts:
    """``ranges`` are first and last line of each logical line that is longer than one, in source order."""

    body: tuple[Stmt, ...]
    suppressions: tuple[Suppression, ...]
    ranges: tuple[tuple[int, int], ...]

    def comment_lines(self, line: int) -> tuple[int, ...]:
        """Lines whose suppressions hold for a finding that starts on ``line``: its own, and the first and the last
        line of the logical line around it."""
        found = {line}
        for first, last in self.ranges:
            if first <= line <= last:
                found |= {first, last}
        return tuple(sorted(found))
