"""The values of literals, read from their text."""

from __future__ import annotations

import ast
import warnings

from dl_lint.source import NEWLINE


def integer(text: str) -> int | None:
    """None for a number of more digits than the interpreter converts."""
    try:
        return int(text) if text.isdecimal() else int(text, 0)
    except ValueError:
        return None


def text_of(literal: str) -> tuple[str | None, str]:
    """The value and kind of a string literal; the value of bytes, and of text that is not valid Unicode, is None."""
    quote = min((literal.find(mark) for mark in "\"'" if mark in literal), default=0)
    prefix = literal[:quote].lower()
    if "b" in prefix:
        return None, "bytes"
    width = 3 if literal[quote : quote + 3] in ('"""', "'''") and len(literal) >= quote + 6 else 1
    body = literal[quote + width : -width]
    if "r" in prefix or "\\" not in body:
        return (NEWLINE.sub("\n", body) if "\r" in body else body), "str"
    return _unescaped(literal), "str"


def _unescaped(literal: str) -> str | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = ast.literal_eval(literal)
        value.encode()
    except (ValueError, SyntaxError):
        return None
    return str(value)
