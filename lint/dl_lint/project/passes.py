"""What a node depends on in each pass of the loops around it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dl_lint.project import context
from dl_lint.source.syntax import Comprehension, FunctionDefinition

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.context import LoopNode
    from dl_lint.project.evaluate import Evaluator
    from dl_lint.project.scopes import Block, Scope

FARTHEST = 3
"""Calls that are followed outwards from the node's own function."""

Guards = tuple[tuple[ast.expr, bool], ...]
"""Tests, innermost first, each with the outcome that it must have."""


@dataclass(frozen=True, slots=True)
class Pass:
    """``loop`` runs the node in each of its passes in which ``guards`` hold; ``through`` are the calls in between.

    A function stands for its calls, known or not, that is for what repeats them.
    """

    loop: LoopNode | FunctionDefinition
    guards: Guards
    through: tuple[ast.Call, ...] = ()


def passes(ev: Evaluator, node: ast.AST, seen: frozenset[Scope] = frozenset()) -> Iterator[Pass]:
    """The loops around a node, innermost first, its function, then those around each call of that.

    An ``except`` around the node ends the search: what is outside runs it only when something fails.
    """
    guards: list[tuple[ast.expr, bool]] = list(_conditionals(ev, node))
    returns: list[tuple[ast.expr, bool]] = []
    for block in context.blocks(ev, node):
        guards += jumps(ev, block, node, "continue")
        returns += jumps(ev, block, node, "leave")
        match block.kind, block.owner:
            case "except", _:
                return
            case (("if" | "else"), ast.If(test=test)):
                guards.append((test, block.kind == "if"))
            case "case", ast.Match(subject=subject):
                guards.append((subject, True))
            case (("for" | "while"), (ast.For() | ast.AsyncFor() | ast.While()) as loop):
                yield Pass(loop, tuple(guards))
            case "body", ast.ListComp(generators=generators) | ast.SetComp(generators=generators) | ast.DictComp(
                generators=generators
            ) | ast.GeneratorExp(generators=generators):
                for generator in reversed(generators):
                    guards += ((test, True) for test in generator.ifs)
                    yield Pass(generator, tuple(guards))
            case _:
                continue
    scope = context.function_of(ev, node)
    if scope.kind not in ("function", "lambda") or scope in seen or len(seen) >= FARTHEST:
        return
    if isinstance(scope.node, FunctionDefinition):
        yield Pass(scope.node, (*guards, *returns))
    for frame in ev.callers.of(scope) or ():
        for outer in passes(ev, frame.call, seen | {scope}):
            yield Pass(outer.loop, (*guards, *returns, *outer.guards), (frame.call, *outer.through))


def _conditionals(ev: Evaluator, node: ast.AST) -> Iterator[tuple[ast.expr, bool]]:
    """The conditional expressions that a node is an arm of."""
    child = node
    for above in context.ancestors(ev, node):
        if isinstance(above, ast.stmt | ast.Lambda | Comprehension):
            return
        if isinstance(above, ast.IfExp) and child is not above.test:
            yield above.test, child is above.body
        child = above


def jumps(ev: Evaluator, block: Block, node: ast.AST, kind: str) -> Iterator[tuple[ast.expr, bool]]:
    """The tests of earlier ``if`` statements in ``block`` of which one arm jumps over ``node``."""
    order = ev.sites[node].order
    for owner, arms in block.scope.file.arms.items():
        if isinstance(owner, ast.If) and arms[0].parent is block and ev.sites[owner].order < order:
            yield from ((owner.test, arm.kind != "if") for arm in arms if arm.exits == kind and _is_past(ev, arm, node))


def _is_past(ev: Evaluator, arm: Block, node: ast.AST) -> bool:
    """Whether ``node`` is outside ``arm``."""
    return arm not in set(context.blocks(ev, node))
