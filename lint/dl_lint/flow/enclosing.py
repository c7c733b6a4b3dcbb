"""What stands around a node: loops, tests, handlers, functions and the statements before and after it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.flow.features import NOTHING_MORE, feature
from dl_lint.source.syntax import (
    Assignment,
    Comprehension,
    Display,
    ForStatement,
    FunctionDefinition,
    WithStatement,
    children,
    dotted,
    targets,
    walk,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Block, Scope, Site


LoopNode = ForStatement | ast.While | ast.comprehension


def ancestors(program: Program, node: ast.AST) -> Iterator[ast.AST]:
    """The nodes around ``node``, innermost first, up to its file."""
    above = program.parents.get(node)
    while above is not None:
        yield above
        above = program.parents.get(above)


def blocks(program: Program, node: ast.AST) -> Iterator[Block]:
    """The blocks around a node within its function, innermost first, through comprehensions but not lambdas."""
    site: Site | None = program.sites[node]
    while site is not None:
        block: Block | None = site.block
        while block is not None:
            yield block
            block = block.parent
        site = site.scope.site if site.scope.kind == "comprehension" else None


def clauses_around(program: Program, node: ast.AST, clauses: list[ast.comprehension]) -> list[ast.comprehension]:
    """The clauses of a comprehension that a node of it runs in, innermost first.

    What a clause iterates runs in those before it, as the clause itself does; its tests run in the clause too.
    """
    path = [node, *ancestors(program, node)]
    for number, clause in enumerate(clauses):
        if clause in path:
            at = path.index(clause)
            tested = at > 0 and path[at - 1] is not clause.iter
            return clauses[: number + tested][::-1]
    return clauses[::-1]


def loops_around(program: Program, node: ast.AST) -> Iterator[LoopNode]:
    """The loops that a node runs in, innermost first, within its function; comprehensions count by their clauses."""
    site: Site | None = program.sites[node]
    while site is not None:
        block: Block | None = site.block
        while block is not None:
            if isinstance(block.owner, ForStatement | ast.While) and block.kind in ("for", "while"):
                yield block.owner
            block = block.parent
        if not isinstance(site.scope.node, Comprehension):
            return
        yield from clauses_around(program, node, site.scope.node.generators)
        node, site = site.scope.node, site.scope.site


def tests_around(program: Program, node: ast.AST) -> Iterator[tuple[ast.expr, bool]]:
    """The tests that a node depends on within its function, innermost first, each with the outcome it needs."""
    child = node
    for above in ancestors(program, node):
        if isinstance(above, ast.IfExp) and child is not above.test:
            yield above.test, child is above.body
        if isinstance(above, FunctionDefinition | ast.ClassDef | ast.Lambda):
            break
        child = above
    for block in blocks(program, node):
        if isinstance(block.owner, ast.If):
            yield block.owner.test, block.kind == "if"


def in_handler(program: Program, node: ast.AST) -> bool:
    """Whether a node stands in an ``except``."""
    return any(block.kind == "except" for block in blocks(program, node))


def under_main_guard(program: Program, node: ast.AST) -> bool:
    """Whether a node stands under ``if __name__ == "__main__"`` in its scope."""
    for test, outcome in tests_around(program, node):
        if outcome and isinstance(test, ast.Compare) and "__name__" in (dotted(test.left), dotted(test.comparators[0])):
            return True
    return False


def function_of(program: Program, node: ast.AST) -> Scope:
    """The function (or lambda, class or module) whose code the node is."""
    return program.sites[node].scope.function


def statement_of(program: Program, node: ast.AST) -> ast.stmt | None:
    """The statement that a node is part of."""
    if isinstance(node, ast.stmt):
        return node
    return next((above for above in ancestors(program, node) if isinstance(above, ast.stmt)), None)


def changes_in(program: Program, expr: ast.AST, loop: LoopNode) -> bool:
    """Whether something that ``expr`` reads is bound, stored or changed in place inside ``loop``."""
    for node in walk(expr):
        name = dotted(node)
        if name is not None and _changed_in(program, name, node, loop):
            return True
        if (
            isinstance(node, ast.Call)
            and not isinstance(node.func, ast.Name)
            and _changed_in(program, dotted(node.func), node, loop)
        ):
            return True
    return False


def _changed_in(program: Program, name: str | None, node: ast.AST, loop: LoopNode) -> bool:
    scope: Scope | None = program.sites[node].scope
    while name is not None and scope is not None:
        sites = [binding.site for binding in scope.bindings.get(name, ()) if binding.kind != "param"]
        sites += [change.site for change in scope.changes.get(name, ())]
        if any(_inside(program, site, loop) for site in sites):
            return True
        if scope.kind not in ("comprehension", "lambda") and name.partition(".")[0] in scope.bindings:
            return False
        scope = scope.parent
    return False


def _inside(program: Program, site: Site, loop: LoopNode) -> bool:
    if isinstance(loop, ast.comprehension):
        return site.scope.node is not None and program.parents.get(loop) is site.scope.node
    block: Block | None = site.block
    while block is not None:
        if block.owner is loop:
            return True
        outer = program.sites[block.owner].block if isinstance(block.owner, Comprehension) else None
        block = block.parent or outer
    return False


def is_left_by_break(loop: LoopNode) -> bool:
    """Whether a ``break`` of its own, not one of a loop inside it, can leave a loop."""
    return _has_jump(loop, ast.Break)


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


def conditionals(program: Program, node: ast.AST) -> Iterator[tuple[ast.expr, bool]]:
    """The conditional expressions that a node is an arm of."""
    child = node
    for above in ancestors(program, node):
        if isinstance(above, ast.stmt | ast.Lambda | Comprehension):
            return
        if isinstance(above, ast.IfExp) and child is not above.test:
            yield above.test, child is above.body
        child = above


@feature("early returns as guards", NOTHING_MORE)
def jumps(program: Program, block: Block, node: ast.AST, kind: str) -> Iterator[tuple[ast.expr, bool]]:
    """The tests of earlier ``if`` statements in ``block`` of which one arm jumps over ``node``."""
    order = program.sites[node].order
    for owner, arms in block.scope.file.arms.items():
        if isinstance(owner, ast.If) and arms[0].parent is block and program.sites[owner].order < order:
            yield from (
                (owner.test, arm.kind != "if") for arm in arms if arm.exits == kind and _is_past(program, arm, node)
            )


def _is_past(program: Program, arm: Block, node: ast.AST) -> bool:
    """Whether ``node`` is outside ``arm``."""
    return arm not in set(blocks(program, node))


def onward(program: Program, stmt: ast.AST | None) -> Iterator[ast.stmt]:
    """The statements that come next, those inside a ``with`` or at the start of a loop in its place."""
    for later in following(program, stmt):
        yield from _opened(later)


def _opened(stmt: ast.stmt) -> Iterator[ast.stmt]:
    if isinstance(stmt, WithStatement | ForStatement):
        for one in stmt.body:
            yield from _opened(one)
    if not isinstance(stmt, WithStatement):
        yield stmt


def following(program: Program, stmt: ast.AST | None) -> Iterator[ast.stmt]:
    """The statements that come next, out of the tests and contexts around but not round a loop."""
    while isinstance(stmt, ast.stmt):
        above = program.parent(stmt)
        for body in (getattr(above, "body", ()), getattr(above, "orelse", ())):
            if isinstance(body, list) and stmt in body:
                yield from body[body.index(stmt) + 1 :]
        stmt = above if isinstance(above, ast.If | WithStatement) else None


def before(program: Program, node: ast.AST) -> Iterator[ast.stmt]:
    """The statements of the blocks around a node, down to it, within its function."""
    stmt: ast.AST | None = statement_of(program, node)
    while isinstance(stmt, ast.stmt) and not isinstance(stmt, FunctionDefinition | ast.ClassDef):
        above = program.parent(stmt)
        for part in ("body", "orelse", "final"):
            block = getattr(above, part, ())
            if isinstance(block, list) and stmt in block:
                yield from block[: block.index(stmt)]
        stmt = above


def simple(stmt: ast.AST | None) -> Iterator[ast.AST]:
    """What a simple statement is certain to evaluate, once."""
    if isinstance(stmt, Assignment | ast.Expr | ast.Return):
        yield from _evaluated_once(stmt)


def _evaluated_once(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a simple statement or expression that are evaluated whenever it is, and once."""
    waiting = [node]
    if isinstance(node, Assignment):
        waiting = [*targets(node), node.value] if node.value is not None else []
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.Lambda | Comprehension | ast.IfExp | ast.BoolOp):
            continue
        yield one
        waiting.extend(children(one))


def assigned(stmt: ast.AST | None) -> frozenset[str]:
    parts = [
        part
        for one in (targets(stmt) if stmt is not None else ())
        for part in (one.elts if isinstance(one, Display) else (one,))
    ]
    return frozenset(name for one in parts if (name := dotted(one)) is not None)
