"""The comment that accepts a finding, where it is sure to be read as one."""

from __future__ import annotations

from tokenize import COMMENT
from typing import TYPE_CHECKING

from dl_lint.rule import Edit
from dl_lint.source.positions import Place
from dl_lint.source.suppressions import tokens

if TYPE_CHECKING:
    from dl_lint.engine.report import Reported


def silenced(lines: tuple[str, ...], reported: Reported) -> Edit | None:
    """Put ``# dl-lint: ignore[…]`` behind the first line of a finding; None inside a string or before a backslash."""
    row, at = reported.finding.place.span[0], len(lines[reported.finding.place.span[0] - 1])
    text = f"  # dl-lint: ignore[{reported.rule.code}]"
    changed = "\n".join((*lines[: row - 1], lines[row - 1] + text, *lines[row:]))
    is_comment = any(
        token.type == COMMENT and token.start[0] == row and token.string.endswith(text.strip())
        for token in tokens(changed)
    )
    return Edit(Place(reported.path, (row, at, row, at)), text) if is_comment else None
