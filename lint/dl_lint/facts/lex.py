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
# lacks some (U+2118).
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

_FSTRING = re.compile(r"(?:[rR]?[fFtT]|[fFtT][rR])(\"\"\"|'''|\"|')")
_QUOTES = ('"""', "'''", '"', "'")
_BRACE_OR_QUOTE = {
    quote: re.compile(rf"\\N\{{[^}}]*\}}|\\[^{{}}]|\{{\{{|\}}\}}|\{{|{quote}", re.DOTALL) for quote in _QUOTES
}
_RAW_BRACE_OR_QUOTE = {quote: re.compile(rf"\\[^{{}}]|\{{\{{|\}}\}}|\{{|{quote}", re.DOTALL) for quote in _QUOTES}


@dataclass(frozen=True, slots=True)
class Tokens:
    """Texts, spans and offsets of a file's tokens in parallel lists; comments stand apart.

    An f-string is one token. ``depths`` counts the brackets that are open behind each; ``lines`` are the offsets at
    which lines start.
    """

    texts: list[str]
    spans: list[Span]
    starts: list[int]
    stops: list[int]
    depths: list[int]
    comments: list[tuple[Span, str]]
    lines: list[int]


STEPS = dict.fromkeys("([{", 1) | dict.fromkeys(")]}", -1)


def lex(text: str) -> Tokens:
    """The tokens of a text; what is no token of Python is cut somehow."""
    parts = _TOKEN.split(text)
    borders = list(accumulate(map(len, parts), initial=0))
    texts, starts, stops = parts[1::2], borders[1:-1:2], borders[2::2]
    if _cuts_fstrings(text, texts, starts):
        texts, starts, stops = _with_fstrings(text)
    lines = line_starts(text)
    spans = _spans(texts, starts, stops, lines)
    comments: list[tuple[Span, str]] = []
    if "#" in text:
        comments = [(span, token) for span, token in zip(spans, texts, strict=True) if token[0] == "#"]
        code = [token[0] != "#" for token in texts]
        texts, spans = list(compress(texts, code)), list(compress(spans, code))
        starts, stops = list(compress(starts, code)), list(compress(stops, code))
    depths = list(accumulate(map(STEPS.get, texts, repeat(0))))
    return Tokens(texts, spans, starts, stops, depths, comments, lines)


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


# --- f-strings -------------------------------------------------------------------------
# Reading them as plain strings is right unless a quote of their own kind stands in a replacement field (PEP 701).

# Deeper ones are read to the end of the text, and then refused; Python stops at 150.
DEEPEST_FSTRINGS = 30


def _cuts_fstrings(text: str, texts: list[str], starts: list[int]) -> bool:
    """Whether reading them as plain strings has cut an f-string short."""
    for index, token in enumerate(texts):
        if token[-1] not in "\"'":
            continue
        if len(token) == 1:
            return True
        opening = _FSTRING.match(token) if "{" in token else None
        if opening and not _is_simple(token[opening.end() : -len(opening[1])]):
            start = starts[index]
            if _fstring_end(text, start) != start + len(token):
                return True
    return False


def _is_simple(inner: str) -> bool:
    """Whether replacement fields surely end where they seem to: they hold no strings, and none is left open."""
    if '"' in inner or "'" in inner:
        return False
    fields = inner.replace("{{", "").replace("}}", "")
    return fields.count("{") == fields.count("}")


def _marks(opening: re.Match[str]) -> re.Pattern[str]:
    """What to look for in an f-string; a raw one has no characters by name, so ``\\N{…}`` is a field there."""
    return (_RAW_BRACE_OR_QUOTE if "r" in opening[0].lower() else _BRACE_OR_QUOTE)[opening[1]]


def fields(fstring: str) -> list[str]:
    """What stands in the replacement fields of a token, if it is an f-string, without those inside of others."""
    found = []
    opening = _FSTRING.match(fstring)
    at = opening.end() if opening else len(fstring)
    while opening and (mark := _marks(opening).search(fstring, at)) and mark[0] != opening[1]:
        at = mark.end()
        if mark[0] == "{":
            start, at = at, _field_end(fstring, at)
            found.append(fstring[start : at - 1])
    return found


def _with_fstrings(text: str) -> tuple[list[str], list[int], list[int]]:
    """Token by token, which is slower than ``split``."""
    texts, starts, stops = [], [], []
    at = 0
    while token := _TOKEN.search(text, at):
        start, at = token.start(), _token_end(text, token)
        starts.append(start)
        stops.append(at)
        texts.append(text[start:at])
    return texts, starts, stops


def _token_end(text: str, token: re.Match[str], level: int = 0) -> int:
    opens = token[0][0] in "rRfFtT" and _FSTRING.match(text, token.start())
    return _fstring_end(text, token.start(), level) if opens else token.end()


def _fstring_end(text: str, start: int, level: int = 0) -> int:
    """The offset behind the f-string that starts at ``start``; the end of the text if it is never closed."""
    opening = _FSTRING.match(text, start)
    if opening is None or level > DEEPEST_FSTRINGS:
        return len(text)
    at, quote, marks = opening.end(), opening[1], _marks(opening)
    while mark := marks.search(text, at):
        at = mark.end()
        if mark[0] == quote:
            return at
        if mark[0] == "{":
            at = _field_end(text, at, level)
    return len(text)


def _field_end(text: str, at: int, level: int = 0) -> int:
    """The offset behind the replacement field that was opened before ``at``."""
    depth = 0
    while token := _TOKEN.search(text, at):
        at = _token_end(text, token, level + 1)
        if depth == 0 and token[0] in ("}", ":", ":="):
            return at if token[0] == "}" else _format_end(text, at, level)
        depth += (token[0] in "([{") - (token[0] in ")]}")
    return len(text)


def _format_end(text: str, at: int, level: int) -> int:
    """The same from behind the colon; a format is text that can hold fields."""
    while at < len(text) and level <= DEEPEST_FSTRINGS:
        at += 1
        if text[at - 1] == "}":
            return at
        if text[at - 1] == "{":
            at = _field_end(text, at, level + 1)
    return len(text)
