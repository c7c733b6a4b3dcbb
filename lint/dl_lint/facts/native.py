"""Python's own parser: ten times as fast as libcst's, but it knows the syntax of the running version only."""

from __future__ import annotations

import ast
import warnings
from typing import TYPE_CHECKING, Any

from dl_lint.facts.cursor import Cursor, Misaligned

if TYPE_CHECKING:
    from dl_lint.facts.lex import Tokens

_QUOTES = frozenset("\"'")

# ``with (yield): …``: what may not stand bare in the brackets of a ``with``, so that these are its own.
_GROUPED = (ast.NamedExpr, ast.Yield, ast.YieldFrom)


def parse(code: str | bytes) -> ast.Module | None:
    """The syntax, or None if this Python cannot read it; what it would warn of in the code is not ours to say."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # UnicodeError is a ValueError
        return None


class NativeCursor(Cursor):
    """Tells brackets from where Python's parser says that a node starts and ends.

    It leaves out brackets that only group, counts in those of a tuple, and lends a generator those of its call.
    """

    __slots__ = ("wide",)

    def __init__(self, tokens: Tokens, code: str) -> None:
        super().__init__(tokens, code)
        self.wide: dict[int, str] = {} if code.isascii() else _wide_lines(tokens, code)

    def opened(self, node: Any) -> int:
        start = self._start(node)
        at = self.at
        while self.texts[at] == "(" and self.spans[at][:2] < start:
            at += 1
        return at - self.at

    def encloses(self, node: ast.Tuple | ast.GeneratorExp) -> bool:
        if self.spans[self.at][:2] != self._start(node):
            return False
        closing: tuple[int, int, int, int] = self.spans[self.closing()]
        return closing[2:] == (node.end_lineno, self._column(node.end_lineno, node.end_col_offset))

    def is_bare(self, inner: ast.expr, outer: ast.expr) -> bool:
        return inner.col_offset == outer.col_offset and inner.lineno == outer.lineno

    def has_brackets(self, node: ast.With | ast.AsyncWith) -> bool:
        first = node.items[0].context_expr
        if self.texts[self.closing() + 1] != ":" or self._start(first) == self.spans[self.at][:2]:
            return False
        return not isinstance(first, _GROUPED) or self.opened(first) > 1

    def pass_strings(self, node: ast.expr) -> None:
        """A string may be followed by another that is a statement of its own."""
        if self.texts[self.at][-1:] not in _QUOTES:
            raise Misaligned
        self.at += 1
        if self.texts[self.at][-1:] not in _QUOTES:
            return
        end = (node.end_lineno, self._column(node.end_lineno, node.end_col_offset))
        while self.spans[self.at - 1][2:] != end:
            if self.texts[self.at][-1:] not in _QUOTES:
                raise Misaligned
            self.at += 1

    def _start(self, node: ast.expr) -> tuple[int, int]:
        return node.lineno, self._column(node.lineno, node.col_offset)

    def _column(self, line: int | None, offset: int | None) -> int:
        """In characters; the parser counts bytes of UTF-8."""
        assert line is not None
        assert offset is not None
        wide = self.wide.get(line)
        return offset if wide is None else len(wide.encode()[:offset].decode("utf-8", "ignore"))


def _wide_lines(tokens: Tokens, code: str) -> dict[int, str]:
    """The lines, by number, in which bytes and characters differ."""
    lines = tokens.lines
    texts = (code[start:stop] for start, stop in zip(lines, [*lines[1:], len(code)], strict=True))
    return {number: text for number, text in enumerate(texts, start=1) if not text.isascii()}
