"""Where the walk over a file's syntax stands among its tokens."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

from dl_lint.facts.tree import MAX_DEPTH

if TYPE_CHECKING:
    import libcst as cst

    from dl_lint.facts.lex import Span


class Misaligned(Exception):
    """The tokens are not those that the syntax calls for."""

    def __init__(self, line: int | None = None) -> None:
        super().__init__(line)
        self.line = line


class UnknownSyntax(Exception):
    """A kind of node that came with a newer libcst."""


class Kinds(dict[type["cst.CSTNode"], Any]):
    """How each kind of node is lowered."""

    def __missing__(self, kind: type[cst.CSTNode]) -> Any:
        raise UnknownSyntax(kind.__name__)


class TooDeep(Exception):
    """The syntax is nested deeper than ``MAX_DEPTH``."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


def normalized(identifier: str) -> str:
    """The name that an identifier stands for: Python takes compatible characters for one another (NFKC)."""
    return identifier if identifier.isascii() else unicodedata.normalize("NFKC", identifier)


class Cursor:
    """Walks along the tokens of one file.

    ``at`` is the token that comes next. Whoever lowers a node moves it past exactly the node's own tokens, so a
    node's span runs from its first token to its last.
    """

    __slots__ = ("at", "depth", "ranges", "spans", "texts")

    def __init__(self, texts: Any, spans: Any) -> None:
        self.texts = texts
        self.spans = spans
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

    def name(self, text: str) -> str:
        """Pass the identifier ``text``; the name that it stands for."""
        self.expect(text)
        return normalized(text)

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
        if not (self.texts[first].startswith(node.start) and self.texts[first].endswith(node.end)):
            raise Misaligned
        self.at += 1
        inner = Cursor(_Always(_AnyText()), _Always(self.spans[first]))
        inner.depth = self.depth
        return inner


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

    def startswith(self, _text: str) -> bool:
        return True

    endswith = startswith
