"""How many samples a container of a dataset holds, where the project says so."""

from __future__ import annotations

import ast
import json
from math import prod
from typing import TYPE_CHECKING

from dl_lint.flow import enclosing
from dl_lint.flow.interpreter import classes, configurations, functions, names
from dl_lint.flow.interpreter.mutations import GROWING
from dl_lint.flow.values import Class, Collection, Const, Function, Made, Option, Value, Wrapped, alternatives
from dl_lint.source.syntax import called, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.program import Program

LISTS = (".txt", ".csv", ".tsv", ".lst", ".json", ".jsonl")
"""Endings of the names of files that list samples."""

LARGEST = 4_000_000
"""Bytes of a list that is read to count what it holds; some 50,000 paths."""

_KEEPING = frozenset({"list", "sorted", "tuple", "reversed", "tqdm", "iter"})
"""Functions that give as many things as they are given."""

DEEPEST = 6


def counted(program: Program, cls: Class, attribute: str, filled: list[ast.AST], *, each: bool) -> int | None:
    """Of the container ``self.attribute``; None where that is not known or the ways to fill it differ. ``__len__`` says
    so where it holds one for ``each`` sample of the dataset."""
    told = classes.of_class(program, cls, "__len__") if each else None
    length = functions.returned(program, told.scope) if isinstance(told, Function) else None
    if isinstance(length, Const) and type(length.value) is int and length.value > 0:
        return length.value
    found = set(_counts(program, cls, attribute, filled))
    return found.pop() if len(found) == 1 else None


def _counts(program: Program, cls: Class, attribute: str, filled: list[ast.AST]) -> Iterator[int | None]:
    for method, key in classes.methods_binding(program, cls, attribute):
        changes = [one for one in method.changes.get(key, ()) if one.kind in GROWING - {"inner"}]
        for binding in method.bindings.get(key, ()):
            if binding.kind != "assign" or binding.path:
                yield None
            elif binding.node in filled and changes:
                starts = alternatives(names.bound_value(program, binding))
                empty = all(isinstance(one, Collection) and one.items == () for one in starts)
                yield _additions(program, [one.node for one in changes]) if empty else None
            elif binding.node in filled:
                yield _passes(program, binding.value, DEEPEST)


def _additions(program: Program, nodes: list[ast.AST]) -> int | None:
    """How often the only ``append`` is come to."""
    if len(nodes) != 1 or not isinstance(nodes[0], ast.Call) or called(nodes[0]) != "append":
        return None
    if next(enclosing.tests_around(program, nodes[0]), None) is not None:
        return None
    loops = list(enclosing.loops_around(program, nodes[0]))
    each = [None if isinstance(one, ast.While) else _passes(program, one.iter, DEEPEST) for one in loops]
    known = [one for one in each if one]
    return prod(known) if known and len(known) == len(loops) and not any(map(_has_jumps, loops)) else None


def _has_jumps(loop: ast.AST) -> bool:
    return any(isinstance(one, ast.Continue | ast.Break) for one in walk(loop))


def _passes(program: Program, over: ast.expr | None, depth: int) -> int | None:
    """How many things a loop over an expression sees."""
    if over is None or not depth:
        return None
    match over:
        case ast.ListComp(generators=[ast.comprehension(ifs=[], iter=inner)]):
            return _passes(program, inner, depth - 1)
        case ast.Call(func=ast.Name(id="range"), args=args) if args:
            return _steps([_number(program.value(one)) for one in args])
        case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]):
            return _passes(program, inner, depth - 1)
        case ast.Call(args=[inner, *_]) if called(over) in _KEEPING:
            return _passes(program, inner, depth - 1)
        case ast.Call(func=ast.Attribute(attr="readlines" | "splitlines" | "read", value=inner)):
            return _passes(program, inner, depth - 1)
        case _:
            return _of_value(program, program.value(over), depth - 1)


def _steps(ends: list[int | None]) -> int | None:
    known = [one for one in ends if one is not None]
    return len(range(*known)) if len(known) == len(ends) <= 3 and 0 not in known[2:] else None


def _number(value: Value) -> int | None:
    """A number, or the default of an option."""
    said = value.default if isinstance(value, Option) else value
    return said.value if isinstance(said, Const) and type(said.value) is int and abs(said.value) < 2**40 else None


def _of_value(program: Program, value: Value, depth: int) -> int | None:
    match value:
        case Collection(items=tuple() as items) if not value.grown:
            return len(items)
        case Collection(node=ast.ListComp() as node) if not value.grown:
            return _passes(program, node, depth)
        case Wrapped(inner=(inner,)) if depth:
            return _of_value(program, inner, depth - 1)
        case Made():
            return _in_file(program, value)
        case _:
            return None


def _in_file(program: Program, read: Made) -> int | None:
    """How many records a file of the project holds that is opened, parsed or read as a table."""
    if not read.call.args:
        return None
    source = program.value(read.call.args[0])
    if isinstance(source, Made):
        found = _in_file(program, source)
        return found - 1 if found and read.name == "csv.DictReader" else found
    said = source.default if isinstance(source, Option) else source
    if not isinstance(said, Const) or not isinstance(said.value, str):
        return None
    path = configurations.place(program, read.call, said.value, LISTS, LARGEST)
    text = configurations.text_in(program, path, LARGEST) if path is not None else None
    if path is None or text is None:
        return None
    if not path.endswith(".json"):
        lines = sum(1 for line in text.splitlines() if line.strip())
        return lines - 1 if program.models.has(read.name, "Table") else lines
    try:
        held = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return len(held) if isinstance(held, list | dict) else None
