"""The names that a function or class may be called by: what it is assigned to, held in, returned and imported as.

Told from the code as it stands, without values: each call by such a name is a candidate, and is evaluated before it
counts."""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING

from dl_lint.flow.scopes import PICKED
from dl_lint.source.syntax import Assignment, dotted, targets

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Scope

MOST_NAMES = 32
"""Names that one definition is followed through."""

MOST_CALLS = 32
"""Calls of a function whose result is followed; one with more is a general one."""

_HOLDING = (ast.Tuple, ast.List, ast.Set, ast.Dict, ast.IfExp, ast.BoolOp, ast.Starred, ast.NamedExpr)


def carried(program: Program, name: str) -> tuple[str, ...]:
    """The names that come to stand for what is called ``name``, beside itself: of variables, attributes and parameters
    with a default; ``PICKED`` where it is called out of a container."""
    return program.read_off(("carried", name), partial(_carried, program, name))


def _carried(program: Program, name: str) -> tuple[str, ...]:
    found: dict[str, None] = {}
    seen: set[tuple[str, Scope | None]] = set()
    waiting: list[tuple[str, Scope | None]] = [(name, None)]
    while waiting and len(seen) < MOST_NAMES:
        wanted, within = waiting.pop(0)
        if (wanted, within) in seen:
            continue
        seen.add((wanted, within))
        for node in _loads(program, wanted, within):
            for other, scope in _receivers(program, node):
                found[other.rpartition(".")[2]] = None
                if other != PICKED:
                    waiting.append((other, scope))
    return tuple(found)


def _loads(program: Program, name: str, within: Scope | None) -> Sequence[ast.AST]:
    """Where a name is read: in a function and what it holds, or, of a module's, in all files."""
    if within is None:
        return program.read_off("all loads", lambda: _all_loads(program)).get(name, ())
    return [node for scope in _inside(within) for node in scope.loads.get(name, ())]


def _all_loads(program: Program) -> dict[str, list[ast.AST]]:
    found: defaultdict[str, list[ast.AST]] = defaultdict(list)
    for file in program.files:
        for scope in file.scopes:
            for name, nodes in scope.loads.items():
                found[name] += nodes
    return found


def _inside(scope: Scope) -> Iterator[Scope]:
    waiting = [scope]
    while waiting:
        one = waiting.pop()
        yield one
        waiting.extend(one.children)


def _receivers(program: Program, node: ast.AST) -> Iterator[tuple[str, Scope | None]]:
    """What takes over what a node stands for, or what is taken out of it; not what calls it."""
    above = program.parents.get(node)
    picked = False
    while above is not None:
        if isinstance(above, ast.Subscript) and above.value is node:
            picked = True
        elif isinstance(above, ast.Attribute) and above.attr == "get":
            call = program.parents.get(above)
            if not isinstance(call, ast.Call) or call.func is not above:
                return
            above, picked = call, True
        elif not isinstance(above, _HOLDING):
            break
        node, above = above, program.parents.get(above)
    match above:
        case ast.Call(func=func) if func is node and picked:
            yield PICKED, None
        case ast.Return():
            yield from _of_results(program, program.sites[above].scope.function)
        case _ if isinstance(above, Assignment):
            yield from _targets(program, above)
        case _:
            return


def _of_results(program: Program, function: Scope) -> Iterator[tuple[str, Scope | None]]:
    """What takes over what a function returns."""
    calls = program.modules.calls.get(function.name, ())
    for call in calls if len(calls) <= MOST_CALLS else ():
        above = program.parents.get(call)
        if isinstance(above, Assignment):
            yield from _targets(program, above)
        elif isinstance(above, ast.Call) and above.func is call:
            yield PICKED, None


def _targets(program: Program, stmt: ast.AST) -> Iterator[tuple[str, Scope | None]]:
    scope = program.sites[stmt].scope.function
    waiting = list(targets(stmt))
    while waiting:
        target = waiting.pop()
        if isinstance(target, ast.Tuple | ast.List):
            waiting += target.elts
        elif isinstance(target, ast.Subscript):
            waiting.append(target.value)
        elif (name := dotted(target)) is not None:
            is_own = isinstance(target, ast.Name) and scope.kind != "module"
            yield name, scope if is_own else None
