"""A file's tokens with their positions: what the walk over the syntax counts along to know where each node stands."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate, compress, repeat
from operator import sub

from dl_lint.source import line_starts

Span = tuple[int, int, int, int]

# A character beyond ASCII outside strings and comments can only belong to a name in a file that parses; \w alone
# lacks some (U+2118). F-strings are read as plain strings first; the walk knows where they really end.
_NAME = r"(?![rRbBuUfFtT]{1,2}[\"'])[A-Za-z_\u0080-\U0010ffff][\w\u0080-\U0010ffff]*"
_STRING = (
    r"[rRbBuUfFtT]{0,2}(?:"
    r'"""[^"\\]*+(?:(?:\\.|"(?!""))[^"\\]*+)*+"""'
    r"|'''[^'\\]*+(?:(?:\\.|'(?!''))[^'\\]*+)*+'''"
    r'|"(?!"")[^"\\\r\n]*+(?:\\(?:\r\n|.)[^"\\\r\n]*+)*+"'
    r"|'(?!'')[^'\\\r\n]*+(?:\\(?:\r\n|.)[^'\\\r\n]*+)*+'"
    r"|\"\"|'')"
)
_NUMBER = (
    r"0[xX][\da-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+"
    r"|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][-+]?\d[\d_]*)?[jJ]?"
)
_OPERATOR = r"->|:=|\.\.\.|\*\*=?|//=?|>>=?|<<=?|<>|!=|[-+*/%&|^@=<>]=|[^\s\\]"
_TOKEN = re.compile(rf"({_NAME}|\#[^\r\n]*|{_STRING}|{_NUMBER}|{_OPERATOR})", re.DOTALL)


@dataclass(slots=True)
class Tokens:
    """Texts, spans and offsets of a file's tokens in parallel lists; comments stand apart."""

    texts: list[str]
    spans: list[Span]
    starts: list[int]
    stops: list[int]
    comments: list[tuple[Span, str]]

    def relex(self, text: str, token: int, stop: int) -> None:
        """``token`` really ends at ``stop``: read the rest anew from there."""
        (end,) = _spans([""], [stop], [stop], line_starts(text))
        here = self.spans[token]
        self.spans[token] = (here[0], here[1], end[2], end[3])
        self.stops[token] = stop
        rest = lex(text, stop)
        self.texts[token + 1 :] = rest.texts
        self.spans[token + 1 :] = rest.spans
        self.starts[token + 1 :] = rest.starts
        self.stops[token + 1 :] = rest.stops
        self.comments = [comment for comment in self.comments if comment[0] < here] + rest.comments

    def drop_comments(self, span: Span) -> None:
        """Forget what looked like comments inside ``span``."""
        start, end = span[:2], span[2:]
        self.comments = [comment for comment in self.comments if not start < comment[0][:2] < end]


def lex(text: str, start: int = 0) -> Tokens:
    """The tokens of ``text`` from the offset ``start``, which must be a border between tokens."""
    parts = _TOKEN.split(text[start:] if start else text)
    borders = list(accumulate(map(len, parts), initial=start))
    texts, starts, stops = parts[1::2], borders[1:-1:2], borders[2::2]
    spans = _spans(texts, starts, stops, line_starts(text))
    if "#" not in text:
        return Tokens(texts, spans, starts, stops, [])
    code = [token[0] != "#" for token in texts]
    comments = [(span, token) for span, token in zip(spans, texts, strict=True) if token[0] == "#"]
    return Tokens(
        list(compress(texts, code)),
        list(compress(spans, code)),
        list(compress(starts, code)),
        list(compress(stops, code)),
        comments,
    )


def _spans(texts: list[str], starts: list[int], stops: list[int], lines: list[int]) -> list[Span]:
    """Line and column of each start and stop; map() keeps the loop out of the interpreter."""
    bases = [0, *lines]
    first = list(map(bisect_right, repeat(lines), starts))
    base = list(map(bases.__getitem__, first))
    columns = map(sub, starts, base)
    ends = list(map(sub, stops, base))
    last = first
    broken = [index for index, token in enumerate(texts) if "\n" in token or "\r" in token]
    if broken:
        last = first.copy()
        for index in broken:
            line = last[index] = bisect_right(lines, stops[index])
            ends[index] = stops[index] - bases[line]
    return list(zip(first, columns, last, ends, strict=True))
