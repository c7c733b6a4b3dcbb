"""What a container of a dataset holds for each sample, and what a million of those cost a worker."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dl_lint.flow.interpreter import classes, names, operations
from dl_lint.flow.interpreter.mutations import GROWING
from dl_lint.flow.values import Collection, Const, Derived, Instance, Made, Number, Table, Value, alternatives
from dl_lint.pipeline import containers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Change
    from dl_lint.flow.values import Class


@dataclass(frozen=True, slots=True, order=True)
class Size:
    """Bytes that an epoch in random order adds to a worker for one sample, and what such a sample is."""

    bytes: int
    of: str


NUMBER = Size(32, "a number")
ARRAY = Size(96, "an array")
TEXT = Size(112, "a text")
"""Over 100,000 samples: docs/memory.md. What is not known is told as a text."""

PATH = Size(350, "a `Path`")
"""349 for those of ``iterdir()`` and 414 for those of ``glob()``, over 100,000 files, Python 3.11."""

PARSED = Size(600, "a record of a few texts (more where it holds lists)")
NESTED = Size(2_000, "a record that holds lists")
"""Of a parsed file: 470 to 590 for three to five texts, 1,340 to 4,250 with lists or records in it, each measured over
2,000 of one file. A list as long as the data makes it is told as nested."""

RECORD, REFERENCE = 34, 16
"""Bytes of a record of known things, and more for each of these."""

DEEPEST = 6

_TEXTS = frozenset({"keys", "split", "rsplit", "splitlines", "strip", "rstrip", "lstrip", "lower", "replace", "join"})
"""Methods of dicts and texts that give texts, whatever they are called on."""

_FOLDERS = frozenset({"iterdir", "glob", "rglob"})
"""Methods of a path that give paths."""

_NUMBERS = frozenset({"getImgIds"})
"""Methods that give numbers: of an index of annotations, those of its images."""

_PICKLES = ("pickle.", "joblib.", "cloudpickle.", "dill.", "yaml.", "marshal.")


def size_each(program: Program, samples: list[Value]) -> Size:
    """What one sample takes, at the most of the ways in which the container is filled."""
    found = (_size(program, one, DEEPEST) for value in samples for one in alternatives(value))
    return max(found, default=TEXT)


def _size(program: Program, value: Value, depth: int) -> Size:
    match value:
        case Const(kind="str" | "bytes"):
            return TEXT
        case Const() | Number():
            return NUMBER
        case Collection(items=tuple() as items) if items and depth:
            return _record(program, items, depth)
        case Table(items=()):
            return PARSED  # a dict of keys that are not known
        case Table() if depth:
            return _record(program, tuple(item for _, item in value.items), depth)
        case Instance() if value.call is not None and depth:
            given = (*value.call.args, *(one.value for one in value.call.keywords))
            return _record(program, tuple(program.value(one) for one in given), depth)
        case Collection():
            return NESTED
        case Derived() if _is_asked(value, _NUMBERS):
            return NUMBER
        case Derived() | Made() if _is_parsed(program, value):
            return PARSED
        case Derived() if _is_asked(value, _FOLDERS):
            return PATH
        case _ if containers.is_array(value):
            return ARRAY
        case _:
            return TEXT


def _record(program: Program, items: tuple[Value, ...], depth: int) -> Size:
    held = (max((_size(program, one, depth - 1) for one in alternatives(item)), default=TEXT) for item in items)
    return Size(RECORD + sum(REFERENCE + one.bytes for one in held), "a record")


def _is_asked(value: Value, methods: frozenset[str]) -> bool:
    """Whether something is an element of what such a method gives, sorted or not, and no part of that element."""
    while isinstance(value, Derived) and value.step != "attr":
        value = value.base
    return isinstance(value, Derived) and value.key in methods


def _is_parsed(program: Program, value: Value) -> bool:
    """Whether something is a part of a file that was parsed, or unpickled, into whatever objects it holds."""
    while isinstance(value, Derived):
        if value.step == "attr" and value.key in _TEXTS:
            return False
        value = value.base
    return isinstance(value, Made) and (
        program.models.has(value.name, "Parses") or value.name.startswith((*_PICKLES, "pycocotools."))
    )


# --- what a container holds ---------------------------------------------------------------


def filling(program: Program, cls: Class, attribute: str, filled: list[ast.AST], depth: int = 1) -> Iterator[Value]:
    """What one sample of the container can be, which ``depth`` subscripts look up."""
    for value in _of_container(program, cls, attribute, filled):
        yield from _below(program, value, depth - 1)


def _below(program: Program, value: Value, depth: int) -> Iterator[Value]:
    """The samples in what a container holds for a key. Those of a dict of columns are tuples already."""
    for one in alternatives(value) if depth else ():
        if isinstance(one, Collection) and one.node is None and one.items is not None:
            yield one
        else:
            for inner in _samples(program, one, DEEPEST):
                yield from _below(program, inner, depth - 1)
    if not depth:
        yield value


def _of_container(program: Program, cls: Class, attribute: str, filled: list[ast.AST]) -> Iterator[Value]:
    """What the container itself holds."""
    for method, key in classes.methods_binding(program, cls, attribute):
        for binding in method.bindings.get(key, ()):
            if binding.node in filled or binding.kind == "augment":
                yield from _samples(program, names.bound_value(program, binding), DEEPEST)
            if binding.kind == "augment" and isinstance(binding.node, ast.AugAssign):
                yield from _samples(program, program.value(binding.node.value), DEEPEST)
        for change in method.changes.get(key, ()):
            if change.kind in GROWING - {"inner"}:
                yield from _added(program, change)


def _added(program: Program, change: Change) -> Iterator[Value]:
    value = program.value(change.value)
    if change.kind == "extend":
        yield from _samples(program, value, DEEPEST)
    else:
        yield value


def _samples(program: Program, value: Value, depth: int) -> Iterator[Value]:
    """What a container holds for a sample. A dict of lists, one for each column, has one in each."""
    for one in alternatives(value):
        match one:
            case Collection(items=()) | Const():
                continue
            case Table():
                columns = [operations.iterate(program, column) for _, column in one.items]
                if columns:
                    yield operations.pair(*columns)
            case Made(name="builtins.filter") if depth:
                for arg in one.call.args[-1:]:
                    yield from _samples(program, program.value(arg), depth - 1)
            case _:
                yield operations.iterate(program, one)
