"""Text, much of it chosen by others (names, messages, settings), as a terminal or the log of a CI may show it."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TextIO

_OBEYED = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
    # A workflow command begins a line, whatever white space stands before it.
    r"|^(?P<indentation>[^\S\n]*):(?=:)"
)
"""Compiled when it is first needed: every run of pytest loads this module."""

_LONGEST = 200


def printable(text: str) -> str:
    r"""Write out as in Python what would be obeyed: control characters but tabs and line ends, marks that turn the
    direction of what follows, bytes of names that are no UTF-8, and the colon that makes a line a workflow command.

    >>> printable("\x1b[31mred\u202e\udcff\n::error::no")
    '\\x1b[31mred\\u202e\\xff\n\\x3a:error::no'
    """
    return re.sub(_OBEYED, _written_out, text, flags=re.MULTILINE)


def encodable(text: str, encoding: str | None) -> str:
    """A text that an output of some encoding can print: what it has no character for is written out as in Python.

    >>> encodable("größer", "ascii"), encodable("größer", "utf-8")
    ('gr\\\\xf6\\\\xdfer', 'größer')
    """
    known = encoding or "ascii"
    return text.encode(known, "backslashreplace").decode(known)


def shown(value: object, write: Callable[[object], str] = repr) -> str:
    """A value from a setting, for a message: cut where nobody reads on.

    >>> shown([1, "a"]), len(shown("a" * 10**6)), shown(16**5000)
    ("[1, 'a']", 200, 'an int that is too large to show')
    """
    try:
        text = write(value)
    except (RecursionError, ValueError):  # an int of more than 4,300 digits, tables in tables in tables
        return f"an {type(value).__name__} that is too large to show"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The known name that is closest to a wrong one, as the end of a message; empty where none is close.

    >>> did_you_mean("mak", ["make", "read"]), did_you_mean("mak", [])
    ('; did you mean make?', '')
    """
    import difflib

    close = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean {close[0]}?" if close else ""


def _written_out(found: re.Match[str]) -> str:
    character = found[0]
    if character.endswith(":"):
        return f"{found['indentation']}\\x3a"
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # how Python reads a byte that is no UTF-8
        return f"\\x{code - 0xDC00:02x}"
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def put(text: str, stream: TextIO) -> None:
    """Write to a stream; what cannot be written there stops no report of another kind, nor changes the exit status."""
    try:
        stream.write(text)
        stream.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if not isinstance(error, BrokenPipeError):  # else the reader, `head` perhaps, has seen enough
            sys.stderr.write(f"pytest-dataloader: cannot write what there is to say: {error.strerror}\n")
