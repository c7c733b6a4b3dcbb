"""Keys that several samples share, by their names, what is kept under ``scene_id`` is found there for the next frame of
the same scene, or as they are sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project.repetition import names_in, words
from dl_lint.project.syntax import children, dotted

if TYPE_CHECKING:
    from dl_lint.project.scopes import Scope

GROUPS = frozenset(
    {"cam", "camera", "category", "city", "class", "cls", "dataset", "drive", "group", "map", "month", "scan", "scene",
     "seq", "sequence", "session", "shard", "speaker", "split", "subject", "year"}
)  # fmt: skip
"""Words for what has many samples in it, and is none itself, as a video or an episode may be."""

_NUMBERS = frozenset({"id", "idx", "index", "key", "name", "no", "num", "number", "token"})
"""Last words of names that number what the word before says."""


_SIZES = frozenset({"size", "length", "len", "shape", "rate", "dtype"})
"""Last words of the names of sizes: ``def mask_length(self, size)``."""


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


def is_of_shape(function: Scope, key: t.Expr) -> bool:
    """Whether entries are kept by size or type, of which samples have few: ``grids[image.shape]``."""
    waiting: list[t.Node] = [aliased(function, key)]
    seen: set[t.Node] = set()
    while waiting:
        node = waiting.pop()
        match node:
            case t.Attribute(attr="shape" | "size" | "dtype" | "device" | "ndim"):
                return True
            case t.Call(func=t.Name(id="len"), args=(of,)) if not _is_of_self(function, of):
                return True
            case t.Call(func=t.Attribute(attr="size" | "dim" | "get_size")):
                return True
            case t.Name(id=name) if name != "len" and not _SIZES.isdisjoint(words(name)[-1:]):
                return True
            case _ if node not in seen:
                seen.add(node)
                waiting.extend(aliased(function, one) if isinstance(one, t.Expr) else one for one in children(node))
            case _:
                continue
    return False


def _is_of_self(function: Scope, expr: t.Expr) -> bool:
    """Whether something is the dataset or kept by it, so that its length is none of a sample: ``len(self.rows)``."""
    owner = (dotted(expr) or "").partition(".")[0]
    return function.is_method and bool(function.params) and owner == function.params[0].name


def aliased(function: Scope, target: t.Expr) -> t.Expr:
    """What a name was bound to, if that was once."""
    bindings = function.bindings.get(target.id, ()) if isinstance(target, t.Name) else ()
    if len(bindings) == 1 and bindings[0].kind == "assign" and not bindings[0].path:
        return bindings[0].value or target
    return target
