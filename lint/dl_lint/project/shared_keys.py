"""Keys that several samples share, by their names: what is kept under ``scene_id`` is found there for the next frame of
the same scene."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project.repetition import names_in, words

if TYPE_CHECKING:
    from dl_lint.project.scopes import Scope

GROUPS = frozenset(
    {"cam", "camera", "category", "city", "class", "cls", "dataset", "drive", "group", "map", "month", "scan", "scene",
     "seq", "sequence", "session", "shard", "speaker", "split", "subject", "year"}
)  # fmt: skip
"""Words for what has many samples in it, and is none itself, as a video or an episode may be."""

_NUMBERS = frozenset({"id", "idx", "index", "key", "name", "no", "num", "number", "token"})
"""Last words of names that number what the word before says."""


def is_shared(key: t.Expr | None) -> bool:
    """Whether a key, or a part of it, is that of a group: ``(scene_id, frame)``, ``row["scene"]``, ``index // 10``."""
    match key:
        case None:
            return False
        case t.Subscript(index=t.Constant(value=str() as text)):
            return _is_of_group(text)
        case t.BinOp(op="//"):
            return True
        case _:
            return any(map(_is_of_group, names_in(key)))


def takes_shared(function: Scope) -> bool:
    """Whether a function that remembers its results is asked for something of a group: ``load(self, scene_id, i)``."""
    return any(_is_of_group(one.name) for one in function.params)


def _is_of_group(name: str) -> bool:
    found = words(name)
    while len(found) > 1 and found[-1] in _NUMBERS:
        found.pop()
    return bool(found) and found[-1] in GROUPS
