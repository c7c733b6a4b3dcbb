"""Which attributes of a dataset are indexed by the sample that is asked for."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dl_lint.project import context, reach
from dl_lint.project.repetition import words
from dl_lint.source.syntax import children, dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.model import Project
    from dl_lint.project.scopes import Scope

ROUNDS = 3
"""Assignments and calls that an index is followed through."""

_ROWS = frozenset({"iloc", "loc", "iat", "at", "values"})
"""Attributes of a pandas table that are indexed in its place."""

_RANDOM = frozenset({"randrange", "randint", "choice", "random_sample", "sample"})

_MEASURES = frozenset({"shape", "size", "dtype", "device", "ndim"})

FEW = frozenset(
    {"class", "classes", "category", "categories", "cat", "cats", "label", "labels", "name", "names", "vocab",
     "vocabulary", "transform", "transforms", "split", "splits", "idx2", "id2", "to", "speakers", "languages"}
)  # fmt: skip
"""Words of the names of tables that a sample's class or the like is looked up in, which are short."""


_OF_WORDS = re.compile(
    r"(?:word|token|char|ans|answer|class|label|cat|category|phone)s?_?(?:2|to)_?(?:idx|index|id|ix|i)"
)
"""What numbers the words of a vocabulary, or classes: ``word2idx``."""


@dataclass(frozen=True, slots=True)
class Indexed:
    """``self.attribute[…]`` in code that fetches a sample.

    ``direct`` if the index is worked out from the one that is asked for; else it was looked up by that one. ``depth``
    counts the subscripts: 2 where a key leads to a list that has the samples, ``self.files[folder][index]``.
    """

    attribute: str
    node: ast.expr
    direct: bool
    function: Scope
    depth: int = 1


class Indices:
    """The names in each function that hold the index asked for (direct), or what was looked up by it (found)."""

    def __init__(self, project: Project, functions: tuple[Scope, ...]) -> None:
        self.project = project
        self.functions = functions
        self.direct: dict[Scope, set[str]] = {one: set() for one in functions}
        self.found: dict[Scope, set[str]] = {one: set() for one in functions}
        for one in functions:
            if one.name == "__getitem__" and len(one.params) > 1:
                self.direct[one].add(one.params[1].name)
        for _ in range(ROUNDS):
            for one in functions:
                self._assigned(one)
                self._passed(one)

    def _assigned(self, function: Scope) -> None:
        for scope in reach.with_inner(function):
            for name, bindings in scope.bindings.items():
                for binding in bindings:
                    if binding.value is not None and binding.kind in ("assign", "augment", "for"):
                        self._note(function, name, function, binding.value)

    def _passed(self, function: Scope) -> None:
        for scope in reach.with_inner(function):
            for call in scope.calls:
                for target in self.project.entered(call):
                    if target in self.direct:
                        names = [param.name for param in target.params]
                        names = names[1:] if target.is_method else names
                        for name, argument in zip(names, call.args, strict=False):
                            self._note(target, name, function, argument)

    def _note(self, target: Scope, name: str, function: Scope, expr: ast.expr) -> None:
        kind = self.kind(function, expr)
        if kind is not None:
            (self.direct if kind else self.found)[target].add(name)

    def kind(self, function: Scope, expr: ast.AST) -> bool | None:
        """True for an index worked out from the one asked for, False for one looked up by it, None for others."""
        looked_up = None
        waiting: list[tuple[ast.AST, bool]] = [(expr, False)]
        while waiting:
            node, below = waiting.pop()
            if isinstance(node, ast.Name):
                if node.id in self.direct[function]:
                    if not below:
                        return True
                    looked_up = False
                elif node.id in self.found[function]:
                    looked_up = False
            elif isinstance(node, ast.Call) and getattr(node.func, "attr", None) in _RANDOM:
                return True
            if _measures(node):
                continue
            inside = below or isinstance(node, ast.Subscript) or self._fetches(node)
            waiting.extend((child, inside) for child in children(node))
        return looked_up

    def _fetches(self, node: ast.AST) -> bool:
        """Whether a call looks something up, rather than computing with a number."""
        if not isinstance(node, ast.Call):
            return False
        name = dotted(node.func) or ""
        return name not in ("int", "divmod", "min", "max", "abs", "str", "bisect.bisect_right", "torch.is_tensor")


def _measures(node: ast.AST) -> bool:
    """Whether something is a size or a type, of which samples have few: ``image.shape``, ``len(words)``."""
    return (isinstance(node, ast.Attribute) and node.attr in _MEASURES) or (
        isinstance(node, ast.Call) and dotted(node.func) == "len"
    )


def indexed(project: Project, functions: tuple[Scope, ...]) -> Iterator[Indexed]:
    """The attributes of self that ``functions``, which fetch a sample, index by it."""
    indices = Indices(project, functions)
    for function in functions:
        if not function.is_method or not function.params:
            continue
        for scope in reach.with_inner(function):
            for attribute, node in _attributes(project, scope, function.params[0].name):
                yield from _of(project, indices, function, attribute, node)


def _attributes(project: Project, scope: Scope, owner: str) -> Iterator[tuple[str, ast.AST]]:
    """Each ``self.x``, and each local name that only stands for one."""
    for load in scope.loads.get(owner, ()):
        above = project.parent(load)
        if isinstance(above, ast.Attribute):
            yield above.attr, above
    for name, bindings in scope.bindings.items():
        for binding in bindings:
            source = binding.value
            if isinstance(source, ast.Attribute) and dotted(source) == f"{owner}.{source.attr}" and not binding.path:
                yield from ((source.attr, load) for load in scope.loads.get(name, ()))


def _of(project: Project, indices: Indices, function: Scope, attribute: str, node: ast.AST) -> Iterator[Indexed]:
    above, depth = project.parent(node), 0
    found: Indexed | None = None
    while (isinstance(above, ast.Subscript) and above.value is node) or (
        isinstance(above, ast.Attribute) and above.attr in _ROWS
    ):
        if isinstance(above, ast.Subscript):
            depth += 1
            kind = indices.kind(function, above.slice)
            if found is None and kind is not None:
                found = Indexed(attribute, above, kind, function, depth)
                if kind:
                    break
            elif found is not None:  # a sample of the list that a key, itself looked up, leads to
                if kind is not None and not isinstance(above.slice, ast.Slice) and not _counts(project, above):
                    found = Indexed(attribute, above, found.direct, function, depth)
                break
        node, above = above, project.parent(above)
    if found is not None:
        yield found


def _counts(project: Project, read: ast.Subscript) -> bool:
    """Whether a loop goes over what is read, by a number: ``for n in range(len(words)): words[n]``."""
    loops = project.loops_around(read)
    return any(
        context.changes_in(project.evaluator, read.slice, one) for one in loops if not isinstance(one, ast.While)
    )


FILES = frozenset({"join", "open", "imread", "read_image", "load", "imdecode", "read", "joinpath", "Path"})
"""Functions that are given paths."""


def leads_to_file(project: Project, read: Indexed) -> bool:
    """Whether what a read gives becomes a path, and so is text."""
    waiting: list[ast.AST] = [read.node]
    seen: set[ast.AST] = set()
    while waiting and len(seen) < 64:
        node = waiting.pop()
        above = project.parent(node)
        if above is None or node in seen:
            continue
        seen.add(node)
        match above:
            case ast.Call(func=func) if func is not node:
                if (dotted(func) or str(getattr(func, "attr", ""))).rpartition(".")[2] in FILES:
                    return True
                if dotted(func) == "str":
                    waiting.append(above)
            case ast.Subscript() | ast.Attribute() | ast.BinOp() | ast.JoinedStr():
                waiting.append(above)
            case ast.Assign(targets=(ast.Name(id=name),)):
                waiting.extend(project.site(node).scope.loads.get(name, ()))
            case _:
                continue
    return False


def is_short(read: Indexed) -> bool:
    """Whether an attribute is called a short table, or a word of a vocabulary is looked up in it:
    ``self.tokens[self.word2idx(answer)]``."""
    index = read.node.slice if isinstance(read.node, ast.Subscript) else None
    asked = index.func if isinstance(index, ast.Call) else index.value if isinstance(index, ast.Subscript) else None
    name = (dotted(asked) or "").rpartition(".")[2]
    return not FEW.isdisjoint(words(read.attribute)) or _OF_WORDS.fullmatch(name) is not None
