"""Entries of containers that are handed to functions which fill them, and what is filled by option only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import reach, texts
from dl_lint.project.repetition import words
from dl_lint.project.syntax import dotted
from dl_lint.project.truth import truth_of
from dl_lint.project.values import (
    Absent,
    Bound,
    Collection,
    Const,
    Derived,
    Function,
    Number,
    Option,
    Table,
    Unknown,
    alternatives,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.loaders import Argument
    from dl_lint.project.model import Project
    from dl_lint.project.scopes import Change, Scope
    from dl_lint.project.values import Value

GROWING = frozenset({"append", "add", "insert", "extend", "setdefault", "item"})

_DEEPEST = 2
"""Calls that what is handed over is followed into."""

_NUMBERS = frozenset({"int", "float", "len", "bool", "round", "abs"})


def filled(project: Project, scope: Scope, owner: str) -> Iterator[tuple[t.Subscript, bool]]:
    """``decode(…, meta=self.meta[index])``, where the function fills what it is handed, and whether that is no more
    than a few numbers under fixed keys or texts, or done only where an option is not what it is by default."""
    for call in scope.calls:
        for argument in (*call.args, *call.keywords):
            given = argument.value if isinstance(argument, t.Keyword) else argument
            entry = entry_of(given, owner)
            if entry is None or all(isinstance(one, Const) for one in alternatives(project.value(entry.index))):
                continue
            if any(isinstance(one, Table | Collection) for one in alternatives(project.value(entry.value))):
                found = [
                    small
                    for function, name in bound_to(project, call, argument)
                    for small in _fillings(project, function, name, call, _DEEPEST)
                ]
                if found:
                    yield entry, all(found)


def entry_of(given: t.Node, owner: str) -> t.Subscript | None:
    """``self.a[b]``, also as the first branch of a conditional."""
    while isinstance(given, t.Conditional):
        given = given.body
    if isinstance(given, t.Subscript):
        name = dotted(given.value) or ""
        if name.startswith(owner + ".") and name.count(".") == 1:
            return given
    return None


def bound_to(
    project: Project, call: t.Call, argument: t.Node, callee: Value | None = None
) -> Iterator[tuple[Scope, str]]:
    """The functions that a call enters (those of ``callee``, if that is known better), each with the name that it gives
    to ``argument``."""
    for one in alternatives(project.value(call.func) if callee is None else callee):
        function = one.function if isinstance(one, Bound) else one
        if not isinstance(function, Function):
            continue
        if isinstance(argument, t.Keyword):
            if argument.name is not None:
                yield function.scope, argument.name
        else:
            at = call.args.index(argument) + (1 if isinstance(one, Bound) else 0)
            if at < len(function.scope.params):
                yield function.scope, function.scope.params[at].name


def _fillings(project: Project, function: Scope, name: str, entered: t.Call, depth: int) -> Iterator[bool]:
    """What a function that ``entered`` calls puts into what it is given as ``name``: whether each is a mere number, or
    put there by option only."""
    for scope in reach.with_inner(function):
        anew = [one.node.at for one in scope.bindings.get(name, ()) if one.kind != "param"]
        for change in scope.changes.get(name, ()):
            if isinstance(change.node, t.AugAssign) or any(at < change.node.at for at in anew):
                continue  # no entry is added, or not to what was handed over
            if change.kind in GROWING or change.kind == "update":
                small = _is_number(project, change) or (change.kind == "item" and texts.is_text(function, change.value))
                yield small or _is_refused(project, change.node, function, entered)
        for call in scope.calls if depth else ():
            for argument in (*call.args, *call.keywords):
                given = argument.value if isinstance(argument, t.Keyword) else argument
                if isinstance(given, t.Name) and given.id == name:
                    refused = _is_refused(project, call, function, entered)
                    for one, its in bound_to(project, call, argument):
                        yield from (refused or small for small in _fillings(project, one, its, call, depth - 1))


def _is_number(project: Project, change: Change) -> bool:
    """Whether a number, or what an object says of itself, is stored under a fixed key."""
    if change.kind != "item" or not isinstance(change.key, t.Constant):
        return False
    match change.value:
        case t.Constant() | t.Compare() | t.Attribute():
            return True
        case t.Call(func=t.Name(id=name)):
            return name in _NUMBERS
        case t.Expr() as value:
            return all(isinstance(one, Const | Number) for one in alternatives(project.value(value)) or (None,))
        case _:
            return False


# --- options ---------------------------------------------------------------------------------


def is_off(project: Project, node: t.Node) -> bool:
    """Whether something is done only where an option is not what it is by default."""
    return any(_is_refuted(project, test, outcome) for test, outcome in project.tests_around(node))


_KEEPING = frozenset({"cache", "cached", "caching", "memory", "mem", "ram", "keep", "store", "preload"})
"""Words in the names of switches of what is kept."""


def is_chosen(project: Project, node: t.Node) -> bool:
    """Whether something is kept where a switch says so, which is not on by default: ``if self.cache:``."""
    return any(
        outcome and _is_switch(project, part) for test, outcome in project.tests_around(node) for part in _parts(test)
    )


def _parts(test: t.Expr) -> tuple[t.Expr, ...]:
    return test.values if isinstance(test, t.BoolOp) and test.op == "and" else (test,)


def _is_switch(project: Project, test: t.Expr) -> bool:
    if not isinstance(test, t.Name | t.Attribute) or _KEEPING.isdisjoint(words(dotted(test) or "")):
        return False
    found = alternatives(project.value(test))
    return not any(isinstance(one, Table | Collection) or _is_on(one) for one in found)


def _is_on(value: Value) -> bool:
    """Whether a switch is on, or on unless code sets it off; of what the command line sets, its user is told."""
    if isinstance(value, Option):
        return value.source != "command line" and truth_of(value.default) is True
    return value == Const(True, "bool")


def _is_refuted(project: Project, test: t.Expr, outcome: bool) -> bool:
    match test:
        case t.UnaryOp(op="not", operand=inner):
            return _is_refuted(project, inner, not outcome)
        case t.BoolOp(op="and", values=parts) if outcome:
            return any(_is_refuted(project, one, outcome) for one in parts)
        case t.Compare(left=left, ops=("==",), comparators=(t.Constant(value=wanted),)) if outcome:
            return _is_another(project, left, wanted)
        case t.Compare(left=t.Name() as name, ops=("is not",), comparators=(t.Constant(kind="none"),)) if outcome:
            return _is_never_passed(project, name)
        case t.Name() | t.Attribute():
            found = alternatives(project.value(test))
            defaults = [truth_of(one.default) for one in found if isinstance(one, Option)]
            return len(defaults) == len(found) > 0 and all(one is (not outcome) for one in defaults)
        case _:
            return False


def _is_never_passed(project: Project, name: t.Name) -> bool:
    """Whether a parameter is None unless it is passed, and no call that is known passes it by itself: what a config
    hands on by ``**kwargs`` is not known."""
    function = project.function_of(name)
    positions = [one.name for one in function.params][1 if function.is_method else 0 :]
    default = next((one.default for one in function.params if one.name == name.id), None)
    if not (isinstance(default, t.Constant) and default.kind == "none"):
        return False
    passed = [project.passed(frame.call, name.id, *positions) for frame in project.callers(function)]
    return not any(one.given and not _is_open(one) for one in passed)


def _is_open(passed: Argument) -> bool:
    """Whether something is passed by ``**kwargs``, if at all, and nobody knows what."""
    spread = isinstance(passed.node, t.Keyword) and passed.node.name is None
    return spread and all(isinstance(one, Absent | Derived | Unknown) for one in alternatives(passed.value))


def _is_another(project: Project, expr: t.Expr, wanted: object) -> bool:
    """Whether an option is by default, and wherever the code sets it, something else than ``wanted``."""
    found = alternatives(project.value(expr))
    if isinstance(expr, t.Attribute) and not any(isinstance(one, Option | Const) for one in found):
        stores = [one for one in project.attribute_stores(expr.attr) if not one.path and not one.op]
        found = tuple(one for store in stores for one in alternatives(project.value(store.value)))
    defaults: list[Value] = [one.default if isinstance(one, Option) else one for one in found]
    return bool(defaults) and all(isinstance(one, Const) and one.value != wanted for one in defaults)


def _is_refused(project: Project, node: t.Node, function: Scope, entered: t.Call) -> bool:
    """Whether ``function`` does something only where it is passed another literal than what ``entered`` passes."""
    names = [param.name for param in function.params][1 if function.is_method else 0 :]
    for test, outcome in project.tests_around(node):
        match test:
            case t.Compare(left=t.Name(id=name), ops=("==",), comparators=(t.Constant(value=wanted),)) if outcome:
                given = project.passed(entered, name, *names)
                if given.given and isinstance(given.expr, t.Expr) and _is_another(project, given.expr, wanted):
                    return True
            case _:
                continue
    return is_off(project, node)
