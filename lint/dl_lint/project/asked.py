"""What a project comes to only where its user asks for it by an option: not by default, nor as its README says."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import platforms
from dl_lint.project.values import Const, Option, Unknown, alternatives

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.model import Project
    from dl_lint.project.values import Loader

_CONTINUED = re.compile(r"\\\s*\n")
"""The end of a line that the next one goes on with, in a command."""

LONGEST_CHAIN = 3
"""Calls followed outwards; from a class by its builder and the one of all data sets to the script, as a rule."""


def is_extra(project: Project, node: t.Node, links: int = LONGEST_CHAIN) -> bool:
    """Whether every known way to ``node`` leads through a test that fails by default, and no prose of the project names
    the option or the value of it that makes it hold."""
    if any(outcome and _is_off(project, test) for test, outcome in project.tests_around(node)):
        return True
    function = project.function_of(node)
    frames = project.callers(function) if links and function.kind == "function" else ()
    return bool(frames) and all(is_extra(project, frame.call, links - 1) for frame in frames)


def runs_without_workers(project: Project, loader: Loader) -> bool:
    """Whether the prose of a project runs the script that makes a loader, and asks for no workers whenever it does:
    ``python train.py --workers=0``."""
    script = posixpath.basename(project.path(loader.call))
    options = [one for one in alternatives(project.argument(loader, "num_workers").value) if isinstance(one, Option)]
    flags = "|".join(re.escape(flag) for one in options for flag in _flags(one))
    if not flags:
        return False
    count = re.compile(rf"(?<![\w-])(?:{flags})[ =]\s*(\d+)")
    asked = [
        count.findall(line)
        for text in platforms.prose(project, loader.call)
        for line in _CONTINUED.sub(" ", text).splitlines()
        if re.search(rf"(?<![\w.-]){re.escape(script)}\b", line) and line.count(" -")
    ]
    return bool(asked) and all(numbers and set(numbers) == {"0"} for numbers in asked)


def _is_off(project: Project, test: t.Expr) -> bool:
    match test:
        case t.BoolOp(op="and", values=parts):
            return any(_is_off(project, part) for part in parts)
        case t.Compare(ops=("==",), left=asked, comparators=(t.Constant(value=str() as word),)):
            options, words = _options(project, asked, str), [word]
        case t.Compare(ops=("in",), left=asked, comparators=(t.Sequence(items=items),)):
            options = _options(project, asked, str)
            words = [one.value for one in items if isinstance(one, t.Constant) and isinstance(one.value, str)]
            if len(words) < len(items):
                return False
        case t.Name() | t.Attribute():
            options = _options(project, test, bool)
            words = [flag for one in options for flag in _flags(one)]
        case _:
            return False
    fails = bool(options and words) and not any(default in (*words, True) for default in options.values())
    return fails and not _may_be_told(project, test, words)


def _options(project: Project, expr: t.Expr, kind: type) -> dict[Option, object]:
    """The options of the command line that an expression can be, with their defaults; none if it can be anything else
    that is known."""
    found: dict[Option, object] = {}
    for one in alternatives(project.value(expr)):
        if isinstance(one, Unknown):
            continue
        default = one.default if isinstance(one, Option) and one.source == "command line" else None
        if not isinstance(one, Option) or not isinstance(default, Const) or not isinstance(default.value, kind):
            return {}
        found[one] = default.value
    return found if all(value != "" for value in found.values()) else {}


def _flags(option: Option) -> Iterator[str]:
    """The names by which an option is given."""
    for arg in option.node.args if isinstance(option.node, t.Call) else ():
        if isinstance(arg, t.Constant) and isinstance(arg.value, str):
            yield arg.value


def _may_be_told(project: Project, near: t.Node, words: list[str]) -> bool:
    """Whether the prose of the project has one of these words, or there is none."""
    wanted = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, words))})(?![\w-])", re.IGNORECASE)
    texts = [text for text in platforms.prose(project, near) if text.strip()]
    return not texts or any(map(wanted.search, texts))
