"""Where the walk over a file's syntax stands among its tokens."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import libcst as cst

    from dl_lint.facts.lex import Span, Tokens

from dl_lint.facts.tree import MAX_DEPTH


class Misaligned(Exception):
    """The tokens are not those that the syntax calls for."""


class TooDeep(Exception):
    """The syntax is nested deeper than ``MAX_DEPTH``."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


class Cursor:
    """Walks along the tokens of one file.

    ``at`` is the token that comes next. Whoever lowers a node moves it past exactly the node's own tokens, so a
    node's span runs from its first token to its last.
    """

    __slots__ = ("at", "careful", "depth", "module", "opaque", "ranges", "spans", "text", "texts", "tokens")

    def __init__(self, text: str, module: cst.Module, tokens: Tokens, careful: bool = False) -> None:
        self.text = text
        self.module = module
        self.tokens = tokens
        self.careful = careful
        self.opaque = False
        self.texts: Any = tokens.texts
        self.spans: Any = tokens.spans
        self.at = 0
        self.depth = 0
        self.ranges: list[tuple[int, int]] = []

    def span(self, first: int) -> Span:
        """From the token ``first`` to the last one that was passed."""
        start, end = self.spans[first], self.spans[self.at - 1]
        return (start[0], start[1], end[2], end[3])

    def expect(self, text: str) -> None:
        """Pass the token ``text``."""
        if self.texts[self.at] != text:
            raise Misaligned
        self.at += 1

    def passes(self, text: str) -> bool:
        """Pass the next token if it is ``text``."""
        if self.texts[self.at] == text:
            self.at += 1
            return True
        return False

    def deeper(self, levels: int = 1) -> None:
        """Go down in the tree that is being built."""
        self.depth += levels
        if self.depth > MAX_DEPTH:
            raise TooDeep(self.spans[self.at][0])

    def skip_to(self, *ends: str) -> None:
        """Pass what comes before the first of ``ends`` that stands in no bracket opened on the way."""
        depth = 0
        while depth or self.texts[self.at] not in ends:
            text = self.texts[self.at]
            depth += (text in "([{") - (text in ")]}")
            self.at += 1

    def fstring(self, node: cst.FormattedString | cst.TemplatedString) -> Cursor:
        """Pass an f-string as one token; the cursor for the expressions in it, to which every place is this one."""
        first = self.at
        if self.opaque or (not self.careful and _is_whole(self.texts[first], node.start, node.end)):
            self.at += 1
        else:
            self._pass_code(self.module.code_for_node(node.with_changes(lpar=(), rpar=())))
        inner = Cursor(self.text, self.module, self.tokens)
        inner.opaque = True
        inner.depth = self.depth
        inner.texts = _Always(_AnyText())
        inner.spans = _Always(self.span(first))
        return inner

    def _pass_code(self, code: str) -> None:
        """Pass ``code``, which the lexer may have cut at the wrong places."""
        tokens, first = self.tokens, self.at
        start = tokens.starts[first]
        stop = start + len(code)
        if not self.text.startswith(code, start):
            raise Misaligned
        last = bisect_left(tokens.stops, stop)
        if last == len(tokens.stops) or tokens.stops[last] != stop:
            last = first
            tokens.relex(self.text, first, stop)
        start_line, start_column, _, _ = tokens.spans[first]
        _, _, end_line, end_column = tokens.spans[last]
        tokens.spans[last] = (start_line, start_column, end_line, end_column)
        tokens.drop_comments(tokens.spans[last])
        self.at = last + 1


def _is_whole(token: str, start: str, end: str) -> bool:
    """Whether a token read as a plain string is sure to be the whole f-string: no replacement field is left open."""
    if not (token.startswith(start) and token.endswith(end) and len(token) >= len(start) + len(end)):
        return False
    inner = token[len(start) : -len(end)].replace("{{", "").replace("}}", "")
    return inner.count("{") == inner.count("}")


class _Always:
    """A list with the same item everywhere."""

    __slots__ = ("item",)

    def __init__(self, item: Any) -> None:
        self.item = item

    def __getitem__(self, index: int) -> Any:
        return self.item


class _AnyText:
    """Equal to every text."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]  # equal to everything, so no hash can agree

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False
