"""The newest Python that prose and image files say a project is set up with."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dl_lint.project.declarations import LONGEST_LINE, NEAR

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dl_lint.project.declarations import Version

_PIN = re.compile(r"\bpython[ \t]?={1,2}[ \t]?[\"']?3\.(?P<minor>\d{1,2})\b", re.IGNORECASE)
"""``conda create -n faces python=3.8``"""

_IMAGE = re.compile(
    r"(?:\bdocker\b[^\n`]{0,200}?[\w./-]+:(?:[\w.]*-)*py(?:thon)?3\.|^FROM[ \t]+(?:[\w./-]+/)?python:3\.)"
    r"(?P<minor>\d+)\b",
    re.MULTILINE,
)
"""An image to run in or to build on, with the Python that its tag names."""

_MENTION = re.compile(
    r"(?<![\w-])python\b"
    r"(?P<between>(?:\]\([^)\s]{0,200}\)|</\w+>|[ \t`'\"*_:()\[\]|v=<>~≥≤]|\bversions?\b|\bver\b\.?)*+)"
    r"3\.(?P<minor>\d{1,2})\b(?!\.?\d{1,2}\.\d)(?:\.\d{1,2}\b)?",
    re.IGNORECASE,
)
"""``Python 3.8`` and the row of a table, ``| Python | `3.9`, `3.10` |``; ``Python >= 3.8`` is open."""

_MORE = re.compile(
    r"[`'\"*]*\s*(?:,|/|-|~|\||\N{EN DASH}|&|\bto\b|\band\b|\bor\b)+\s*[`'\"*]*3\.(?P<minor>\d{1,2})\b(?:\.\d+)?",
    re.IGNORECASE,
)
_OPEN_AFTER = re.compile(
    r"[`'\"*]*\s*(?:\+|[`*),(\s]*[或及]?以上"
    r"|[,(\s]*(?:or|and)?[\s(]*(?:newer|later|above|higher|greater|up\b|more recent|beyond|onwards?))",
    re.IGNORECASE,
)
_OPEN_BEFORE = re.compile(r"(?:least|minimum|min\.?|since|than|above|before|not)\W*(?:\w+\W+){0,2}$", re.IGNORECASE)


def newest(texts: Iterable[str]) -> Version | None:
    """The newest that texts name; None if they name none, or one of them leaves open how new it may be."""
    minors: list[int] = []
    for text in texts:
        pinned = [int(one["minor"]) for pattern in (_PIN, _IMAGE) for one in pattern.finditer(text)]
        mentioned = [] if pinned else list(_mentioned(text))
        if None in mentioned:
            return None
        minors += [*pinned, *(one for one in mentioned if one is not None)]
    return (3, max(minors)) if minors else None


def _mentioned(text: str) -> Iterator[int | None]:
    for line in text.splitlines():
        for found in _MENTION.finditer(line) if len(line) < LONGEST_LINE else ():
            last, after = int(found["minor"]), line[found.end() :]
            while (more := _MORE.match(after)) is not None:  # 3.9, 3.10 and 3.11
                last, after = max(last, int(more["minor"])), after[more.end() :]
            least = {">", "≥"} & set(found["between"])
            is_open = (
                least
                or _OPEN_AFTER.match(after)
                or _OPEN_BEFORE.search(line[max(0, found.start() - NEAR) : found.start()])
            )
            yield None if is_open else last
