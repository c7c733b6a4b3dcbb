"""Where a node stands: loops, tests, handlers and functions around it, and what repeats it from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project.syntax import children, dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.evaluate import Evaluator
    from dl_lint.project.scopes import Block, Scope, Site

FARTHEST = 4
"""Calls that are followed outwards in search of the loop that repeats a function."""

LoopNode = t.For | t.While | t.Generator


def ancestors(ev: Evaluator, node: t.Node) -> Iterator[t.Node]:
    """The nodes around ``node``, innermost first, up to its file."""
    above = ev.parents.get(node)
    while above is not None:
        yield above
        above = ev.parents.get(above)


def blocks(ev: Evaluator, node: t.Node) -> Iterator[Block]:
    """The blocks around a node within its function, innermost first, through comprehensions but not lambdas."""
    site: Site | None = ev.sites[node]
    while site is not None:
        block: Block | None = site.block
        while block is not None:
            yield block
            block = block.parent
        site = site.scope.site if site.scope.kind == "comprehension" else None


def loops_around(ev: Evaluator, node: t.Node) -> Iterator[LoopNode]:
    """The loops that a node runs in, innermost first, within its function; comprehensions count by their clauses."""
    site: Site | None = ev.sites[node]
    while site is not None:
        block: Block | None = site.block
        while block is not None:
            if isinstance(block.owner, t.For | t.While) and block.kind in ("for", "while"):
                yield block.owner
            block = block.parent
        if not isinstance(site.scope.node, t.Comprehension):
            return
        yield from reversed(site.scope.node.generators)
        site = site.scope.site


def tests_around(ev: Evaluator, node: t.Node) -> Iterator[tuple[t.Expr, bool]]:
    """The tests that a node depends on within its function, innermost first, each with the outcome it needs."""
    child = node
    for above in ancestors(ev, node):
        if isinstance(above, t.Conditional) and child is not above.test:
            yield above.test, child is above.body
        if isinstance(above, t.FunctionDef | t.ClassDef | t.Lambda):
            break
        child = above
    for block in blocks(ev, node):
        if isinstance(block.owner, t.If):
            yield block.owner.test, block.kind == "if"


def in_handler(ev: Evaluator, node: t.Node) -> bool:
    """Whether a node stands in an ``except``."""
    return any(block.kind == "except" for block in blocks(ev, node))


def under_main_guard(ev: Evaluator, node: t.Node) -> bool:
    """Whether a node stands under ``if __name__ == "__main__"`` in its scope."""
    for test, outcome in tests_around(ev, node):
        if outcome and isinstance(test, t.Compare) and "__name__" in (dotted(test.left), dotted(test.comparators[0])):
            return True
    return False


def function_of(ev: Evaluator, node: t.Node) -> Scope:
    """The function (or lambda, class or module) whose code the node is."""
    return ev.sites[node].scope.function


def statement_of(ev: Evaluator, node: t.Node) -> t.Stmt | None:
    """The statement that a node is part of."""
    if isinstance(node, t.Stmt):
        return node
    return next((above for above in ancestors(ev, node) if isinstance(above, t.Stmt)), None)


def repeating(ev: Evaluator, node: t.Node, seen: frozenset[Scope] = frozenset()) -> tuple[LoopNode, ...]:
    """All loops that run a node again: those around it, then those around the calls of its function."""
    found = dict.fromkeys(loops_around(ev, node))
    scope = function_of(ev, node)
    if scope.kind in ("function", "lambda") and len(seen) < FARTHEST and scope not in seen:
        for frame in ev.callers.of(scope) or ():
            found.update(dict.fromkeys(repeating(ev, frame.call, seen | {scope})))
    return tuple(found)


def uses(ev: Evaluator, near: t.Node, name: str) -> Iterator[t.Expr]:
    """Where the dotted ``name`` is read in the file of ``near``."""
    root, *attributes = name.split(".")
    for scope in ev.sites[near].scope.file.scopes:
        for load in scope.loads.get(root, ()):
            node: t.Node | None = load
            for attribute in attributes:
                node = ev.parents.get(node) if node is not None else None
                if not isinstance(node, t.Attribute) or node.attr != attribute:
                    node = None
            if isinstance(node, t.Expr):
                yield node


def changes_in(ev: Evaluator, expr: t.Node, loop: LoopNode) -> bool:
    """Whether something that ``expr`` reads is bound, stored or changed in place inside ``loop``."""
    waiting = [expr]
    while waiting:
        node = waiting.pop()
        waiting.extend(children(node))
        name = dotted(node)
        if name is not None and _changed_in(ev, name, node, loop):
            return True
        if (
            isinstance(node, t.Call)
            and not isinstance(node.func, t.Name)
            and _changed_in(ev, dotted(node.func), node, loop)
        ):
            return True
    return False


def _changed_in(ev: Evaluator, name: str | None, node: t.Node, loop: LoopNode) -> bool:
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
    if isinstance(loop, t.Generator):
        return site.scope.node is not None and ev.parents.get(loop) is site.scope.node
    block: Block | None = site.block
    while block is not None:
        if block.owner is loop:
            return True
        block = block.parent
    return False


def is_left_by_break(loop: LoopNode) -> bool:
    """Whether a ``break`` of its own, not one of a loop inside it, can leave a loop."""
    return _has_jump(loop, "break")


def goes_on_early(loop: LoopNode) -> bool:
    """Whether a ``continue`` of its own can begin the next pass of a loop."""
    return _has_jump(loop, "continue")


def _has_jump(loop: LoopNode, wanted: str) -> bool:
    waiting: list[t.Stmt] = [] if isinstance(loop, t.Generator) else list(loop.body)
    while waiting:
        stmt = waiting.pop()
        match stmt:
            case t.Jump(kind=kind) if kind == wanted:
                return True
            case t.If():
                waiting += (*stmt.body, *stmt.orelse)
            case t.With():
                waiting += stmt.body
            case t.For() | t.While():
                waiting += stmt.orelse
            case t.Try():
                waiting += (*stmt.body, *stmt.orelse, *stmt.final, *(one for arm in stmt.handlers for one in arm.body))
            case t.Match():
                waiting += (one for case in stmt.cases for one in case.body)
            case _:
                continue
    return False
