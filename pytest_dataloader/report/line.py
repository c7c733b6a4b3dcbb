"""A line of the terminal report."""

from __future__ import annotations

Line = list[tuple[str, dict[str, bool]]]
"""Pieces of text, each with its markup as pytest's terminal reporter takes it."""

_COLOURS = {"bold": "1", "red": "31", "green": "32", "yellow": "33"}


def painted(line: Line, *, colours: bool) -> str:
    """A line as text, with the escapes of a terminal where it is to have colours.

    >>> painted([("train", {"bold": True}), ("  ok", {})], colours=True)
    '\\x1b[1mtrain\\x1b[0m  ok'
    """
    return "".join(_painted(text, markup) if colours else text for text, markup in line)


def _painted(text: str, markup: dict[str, bool]) -> str:
    codes = ";".join(code for name, code in _COLOURS.items() if markup.get(name))
    return f"\x1b[{codes}m{text}\x1b[0m" if codes else text
