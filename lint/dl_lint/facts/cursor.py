"""Where the walk over a file's syntax stands among its tokens."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

from dl_lint.facts.tree import MAX_DEPTH
from dl_lint.source import NEWLINE

if TYPE_CHECKING:
    import ast

    from dl_lint.facts.lex import Span, Tokens

_CONTINUED = ("\\\r\n", "\\\n", "\\\r")


class Misaligned(Exception):
    """The tokens are not those that the syntax calls for."""

    def __init__(self, line: int | None = None) -> None:
        super().__init__(line)
        self.line = line


class UnknownSyntax(Exception):
    """A kind of node that came with a newer parser."""


class Kinds(dict[type[Any], Any]):
    """How each kind of node is lowered."""

    def __missing__(self, kind: type[Any]) -> Any:
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
    node's span runs from its first token to its last. What tokens alone do not tell, such as whose brackets these
    are, the parser knows: there is a cursor for each.
    """

    __slots__ = ("at", "code", "depth", "ranges", "spans", "texts", "tokens")

    def __init__(self, tokens: Tokens, code: str) -> None:
        self.tokens = tokens
        self.code = code
        self.texts: Any = [*tokens.texts, ""]  # so that one may look beyond the last
        self.spans: Any = tokens.spans
        self.at = 0
        self.depth = 0
        self.ranges: list[tuple[int, int]] = []

    # --- what the parser knows ---------------------------------------------------------

    def opened(self, node: Any) -> int:
        """How many of the round brackets that come next only group what is in them, which is ``node``."""
        raise NotImplementedError

    def encloses(self, node: ast.Tuple | ast.GeneratorExp) -> bool:
        """Whether the round bracket that comes next is a tuple's or generator's own."""
        raise NotImplementedError

    def is_bare(self, inner: ast.expr, outer: ast.expr) -> bool:
        """Whether ``inner``, with which ``outer`` begins, stands in no brackets of its own."""
        raise NotImplementedError

    def has_brackets(self, node: ast.With | ast.AsyncWith) -> bool:
        """Whether the bracket that comes next is around all items of a ``with``."""
        raise NotImplementedError

    def pass_strings(self, node: ast.expr) -> None:
        """Pass the strings side by side that are one node."""
        raise NotImplementedError

    # --- what the tokens tell ----------------------------------------------------------

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

    def name(self, name: str) -> None:
        """Pass the identifier that stands for ``name``."""
        text = self.texts[self.at]
        if text != name and normalized(text) != name:
            raise Misaligned
        self.at += 1

    def dotted(self, name: str) -> None:
        """Pass ``a.b.c`` where it is no expression, as in an import."""
        first, *rest = name.split(".")
        self.name(first)
        for part in rest:
            self.expect(".")
            self.name(part)

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

    def closing(self) -> int:
        """The token that closes the bracket that comes next."""
        depths = self.tokens.depths
        return depths.index(depths[self.at] - 1, self.at + 1)

    def goes_on(self) -> bool:
        """Whether the next token stands on the same logical line as the semicolon that was passed."""
        if self.at >= len(self.spans) or self.spans[self.at][0] == self.spans[self.at - 1][2]:
            return self.at < len(self.spans)
        gap = self.code[self.tokens.stops[self.at - 1] : self.tokens.starts[self.at]]
        for continued in _CONTINUED:
            gap = gap.replace(continued, "")
        return "#" not in gap and NEWLINE.search(gap) is None


class Inside(Cursor):
    """For the expressions in an f-string, which is one token: to them every place is this one."""

    __slots__ = ("outer",)

    def __init__(self, outer: Cursor, span: Span) -> None:
        super().__init__(outer.tokens, outer.code)
        self.outer = outer
        self.texts = _Always(_AnyText())
        self.spans = _Always(span)
        self.depth = outer.depth

    def opened(self, node: Any) -> int:  # noqa: ARG002
        return 0

    def encloses(self, node: ast.Tuple | ast.GeneratorExp) -> bool:  # noqa: ARG002
        return False

    def is_bare(self, inner: ast.expr, outer: ast.expr) -> bool:
        return self.outer.is_bare(inner, outer)

    def pass_strings(self, node: ast.expr) -> None:
        pass


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
