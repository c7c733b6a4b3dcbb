"""Where a node stands: loops, tests, handlers and functions around it, and what repeats it from outside."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.source.syntax import (
    Comprehension,
    ForStatement,
    FunctionDefinition,
    children,
    dotted,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.evaluate import Evaluator
    from dl_lint.project.scopes import Block, Scope, Site

FARTHEST = 4
"""Calls that are followed outwards in search of the loop that repeats a function."""

LoopNode = ForStatement | ast.While | ast.comprehension


def ancestors(ev: Evaluator, node: ast.AST) -> Iterator[ast.AST]:
    """The nodes around ``node``, innermost first, up to its file."""
    above = ev.parents.get(node)
    while above is not None:
        yield above
        above = ev.parents.get(above)


def blocks(ev: Evaluator, node: ast.AST) -> Iterator[Block]:
    """The blocks around a node within its function, innermost first, through comprehensions but not lambdas."""
    site: Site | None = ev.sites[node]
    while site is not None:
        block: Block | None = site.block
        while block is not None:
            yield block
            block = block.parent
        site = site.scope.site if site.scope.kind == "comprehension" else None


def loops_around(ev: Evaluator, node: ast.AST) -> Iterator[LoopNode]:
    """The loops that a node runs in, innermost first, within its function; comprehensions count by their clauses."""
    site: Site | None = ev.sites[node]
    while site is not None:
        block: Block | None = site.block
        while block is not None:
            if isinstance(block.owner, ForStatement | ast.While) and block.kind in ("for", "while"):
                yield block.owner
            block = block.parent
        if not isinstance(site.scope.node, Comprehension):
            return
        yield from reversed(site.scope.node.generators)
        site = site.scope.site


def tests_around(ev: Evaluator, node: ast.AST) -> Iterator[tuple[ast.expr, bool]]:
    """The tests that a node depends on within its function, innermost first, each with the outcome it needs."""
    child = node
    for above in ancestors(ev, node):
        if isinstance(above, ast.IfExp) and child is not above.test:
            yield above.test, child is above.body
        if isinstance(above, FunctionDefinition | ast.ClassDef | ast.Lambda):
            break
        child = above
    for block in blocks(ev, node):
        if isinstance(block.owner, ast.If):
            yield block.owner.test, block.kind == "if"


def in_handler(ev: Evaluator, node: ast.AST) -> bool:
    """Whether a node stands in an ``except``."""
    return any(block.kind == "except" for block in blocks(ev, node))


def under_main_guard(ev: Evaluator, node: ast.AST) -> bool:
    """Whether a node stands under ``if __name__ == "__main__"`` in its scope."""
    for test, outcome in tests_around(ev, node):
        if outcome and isinstance(test, ast.Compare) and "__name__" in (dotted(test.left), dotted(test.comparators[0])):
            return True
    return False


def function_of(ev: Evaluator, node: ast.AST) -> Scope:
    """The function (or lambda, class or module) whose code the node is."""
    return ev.sites[node].scope.function


def statement_of(ev: Evaluator, node: ast.AST) -> ast.stmt | None:
    """The statement that a node is part of."""
    if isinstance(node, ast.stmt):
        return node
    return next((above for above in ancestors(ev, node) if isinstance(above, ast.stmt)), None)


def repeating(ev: Evaluator, node: ast.AST, seen: frozenset[Scope] = frozenset()) -> tuple[LoopNode, ...]:
    """All loops that run a node again: those around it, then those around the calls of its function."""
    found = dict.fromkeys(loops_around(ev, node))
    scope = function_of(ev, node)
    if scope.kind in ("function", "lambda") and len(seen) < FARTHEST and scope not in seen:
        for frame in ev.callers.of(scope) or ():
            found.update(dict.fromkeys(repeating(ev, frame.call, seen | {scope})))
    return tuple(found)


def uses(ev: Evaluator, near: ast.AST, name: str) -> Iterator[ast.expr]:
    """Where the dotted ``name`` is read in the file of ``near``."""
    root, *attributes = name.split(".")
    for scope in ev.sites[near].scope.file.scopes:
        for load in scope.loads.get(root, ()):
            node: ast.AST | None = load
            for attribute in attributes:
                node = ev.parents.get(node) if node is not None else None
                if not isinstance(node, ast.Attribute) or node.attr != attribute:
                    node = None
            if isinstance(node, ast.expr):
                yield node


def changes_in(ev: Evaluator, expr: ast.AST, loop: LoopNode) -> bool:
    """Whether something that ``expr`` reads is bound, stored or changed in place inside ``loop``."""
    waiting = [expr]
    while waiting:
        node = waiting.pop()
        waiting.extend(children(node))
        name = dotted(node)
        if name is not None and _changed_in(ev, name, node, loop):
            return True
        if (
            isinstance(node, ast.Call)
            and not isinstance(node.func, ast.Name)
            and _changed_in(ev, dotted(node.func), node, loop)
        ):
            return True
    return False


def _changed_in(ev: Evaluator, name: str | None, node: ast.AST, loop: LoopNode) -> bool:
    scope: Scope | None = ev.sites[node].scope
    while name is not None and scope is not None:
        sites = [binding.site for binding in scope.bindings.get(name, ()) if binding.kind != "param"]
        sites += [change.site for change in scope.changes.get(name, ())]
        if any(_inside(ev, site, loop) for site in sites):
            return True
        if scope.kind not in ("comprehension", "lambda"):
            return False
        scope = scope.parent
    return False


def _inside(ev: Evaluator, site: Site, loop: LoopNode) -> bool:
    if isinstance(loop, ast.comprehension):
        return site.scope.node is not None and ev.parents.get(loop) is site.scope.node
    block: Block | None = site.block
    while block is not None:
        if block.owner is loop:
            return True
        block = block.parent
    return False


def is_left_by_break(loop: LoopNode) -> bool:
    """Whether a ``break`` of its own, not one of a loop inside it, can leave a loop."""
    return _has_jump(loop, ast.Break)


def goes_on_early(loop: LoopNode) -> bool:
    """Whether a ``continue`` of its own can begin the next pass of a loop."""
    return _has_jump(loop, ast.Continue)


def _has_jump(loop: LoopNode, wanted: type[ast.stmt]) -> bool:
    waiting: list[ast.stmt] = [] if isinstance(loop, ast.comprehension) else list(loop.body)
    while waiting:
        stmt = waiting.pop()
        match stmt:
            case _ if isinstance(stmt, wanted):
                return True
            case ast.If():
                waiting += (*stmt.body, *stmt.orelse)
            case ast.With() | ast.AsyncWith():
                waiting += stmt.body
            case ast.For() | ast.AsyncFor() | ast.While():
                waiting += stmt.orelse
            case ast.Try() | ast.TryStar():
                waiting += (
                    *stmt.body,
                    *stmt.orelse,
                    *stmt.finalbody,
                    *(one for arm in stmt.handlers for one in arm.body),
                )
            case ast.Match():
                waiting += (one for case in stmt.cases for one in case.body)
            case _:
                continue
    return False
