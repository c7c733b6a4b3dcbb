"""Texts as lines, whichever way these end, and what is said of one that cannot be checked."""

from __future__ import annotations

import re
from itertools import accumulate

NEWLINE = re.compile(r"\r\n|\r|\n")


class SourceError(Exception):
    """A file that cannot be checked, and why, in one line."""

    def __init__(self, path: str, message: str, line: int | None = None) -> None:
        super().__init__(path, message, line)
        self.path = path
        self.message = message
        self.line = line

    def __str__(self) -> str:
        where = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{where}: {self.message}"


def line_starts(text: str) -> list[int]:
    """Offset of the first character of each line; lines end as Python ends them, not at form feeds."""
    if "\r" in text:
        return [0, *(end.end() for end in NEWLINE.finditer(text))]
    return list(accumulate(map((1).__add__, map(len, text.split("\n")[:-1])), initial=0))
