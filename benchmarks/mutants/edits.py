"""Changes of one file's bytes: calls are changed with libcst, so that comments and line breaks stay; statements are
put in, taken out and moved by whole lines."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ParamSpec

import libcst as cst

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mutants.code import Code, File

REMOVED = None


class Unfit(Exception):
    """A place looks as wanted, but cannot be changed safely."""


@dataclass(frozen=True, slots=True)
class Edit:
    """Replaces the bytes from ``start`` to ``end`` of a file."""

    file: File
    start: int
    end: int
    text: str


P = ParamSpec("P")
Pending = Callable[[], Edit]
"""An edit that is made when all of its fault are wanted, and raises ``Unfit`` then."""


def later(make: Callable[P, Edit]) -> Callable[P, Pending]:
    def pending(*args: P.args, **words: P.kwargs) -> Pending:
        return partial(make, *args, **words)

    return pending


@later
def replace(code: Code, node: ast.AST, new: str) -> Edit:
    file = code.file(node)
    return Edit(file, *file.span(node), new)


@later
def change(code: Code, call: ast.Call, words: Mapping[str, str | None]) -> Edit:
    """Sets keyword arguments of a call to source text, or takes them away where that is ``REMOVED``."""
    try:
        parsed = cst.parse_expression(code.text(call))
    except cst.ParserSyntaxError as error:
        raise Unfit(str(error)) from None
    if not isinstance(parsed, cst.Call):
        raise Unfit("in parentheses")
    for name, value in words.items():
        parsed = _without(parsed, name) if value is REMOVED else _with(parsed, name, value)
    return replace(code, call, cst.Module([]).code_for_node(parsed))()


def _with(call: cst.Call, name: str, value: str) -> cst.Call:
    for arg in call.args:
        if arg.keyword is not None and arg.keyword.value == name:
            return call.with_changes(
                args=[it.with_changes(value=cst.parse_expression(value)) if it is arg else it for it in call.args]
            )
    equal = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    new = cst.Arg(cst.parse_expression(value), keyword=cst.Name(name), equal=equal)
    if not call.args:
        return call.with_changes(args=[new])
    last = call.args[-1]
    between = next((it.comma for it in call.args[:-1] if isinstance(it.comma, cst.Comma)), None)
    comma = between or cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    return call.with_changes(args=[*call.args[:-1], last.with_changes(comma=comma), new.with_changes(comma=last.comma)])


def _without(call: cst.Call, name: str) -> cst.Call:
    kept = [arg for arg in call.args if arg.keyword is None or arg.keyword.value != name]
    if kept and len(kept) < len(call.args) and kept[-1] is not call.args[-1]:
        kept[-1] = kept[-1].with_changes(comma=call.args[-1].comma)
    return call.with_changes(args=kept)


def indentation(code: Code, node: ast.stmt) -> str:
    """The blanks before a statement, which must begin its line."""
    file = code.file(node)
    blanks = file.source[file.starts[node.lineno - 1] : file.span(node)[0]].decode()
    if blanks.strip():
        raise Unfit("behind another statement on its line")
    return blanks


def _alone(code: Code, node: ast.stmt) -> tuple[File, int, int]:
    """First byte of the lines of a statement that has them for itself, and the one behind."""
    file = code.file(node)
    indentation(code, node)
    end = node.end_lineno or node.lineno
    behind = file.source[file.span(node)[1] : file.starts[end]].decode().strip()
    if behind and not behind.startswith("#"):
        raise Unfit("before another statement on its line")
    return file, file.starts[node.lineno - 1], min(file.starts[end], len(file.source))


@later
def before(code: Code, node: ast.stmt, lines: str) -> Edit:
    """Lines in front of a statement, as deep as it is."""
    blanks = indentation(code, node)
    file = code.file(node)
    decorators = getattr(node, "decorator_list", [])
    start = file.starts[min([node.lineno, *(it.lineno for it in decorators)]) - 1]
    return Edit(file, start, start, textwrap.indent(lines, blanks) + "\n")


@later
def after(code: Code, node: ast.stmt, lines: str) -> Edit:
    """Lines behind a statement, as deep as it is."""
    file, _, end = _alone(code, node)
    lead = "" if file.source[end - 1 : end] == b"\n" else "\n"
    return Edit(file, end, end, lead + textwrap.indent(lines, indentation(code, node)) + "\n")


@later
def cut(code: Code, node: ast.stmt) -> Edit:
    """Puts ``pass`` in place of a statement."""
    _alone(code, node)
    return replace(code, node, "pass")()


def lines_of(code: Code, node: ast.stmt, old: str = "", new: str = "") -> str:
    """A statement's source without its indentation, with ``new`` for ``old``; none of its strings may go over lines."""
    if any(isinstance(it, ast.Constant | ast.JoinedStr) and it.lineno != it.end_lineno for it in ast.walk(node)):
        raise Unfit("a string of several lines")
    _alone(code, node)
    return textwrap.dedent(indentation(code, node) + (code.text(node).replace(old, new) if old else code.text(node)))


def importing(code: Code, file: File, name: str) -> list[Pending]:
    """The import of a module, where a file lacks it."""
    if file.names.get(name) == name:
        return []
    if name in file.names:
        raise Unfit(f"{name} is something else")
    first = [it for it in file.tree.body if isinstance(it, ast.Import | ast.ImportFrom)]
    first = [it for it in first if not (isinstance(it, ast.ImportFrom) and it.module == "__future__")]
    if not first:
        raise Unfit("nothing is imported")
    return [before(code, first[0], f"import {name}")]


def name_of(file: File, module: str) -> str:
    """What a file calls a module."""
    found = next((name for name, origin in file.names.items() if origin == module), None)
    if found is None:
        raise Unfit(f"{module} is not imported")
    return found
