"""Which ways through a constructor the known constructions take: a fallback is not made where something is passed."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.project import attributes, context
from dl_lint.project.truth import truth_of
from dl_lint.project.values import NONE, Derived, Option, Parameter, Value, alternatives

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.evaluate import Evaluator
    from dl_lint.project.values import Instance


def is_taken(ev: Evaluator, instance: Instance, node: ast.AST) -> bool:
    """Whether making ``instance`` comes to ``node``, which stands in a constructor or in what that calls.

    It does not where a test that ``node`` depends on is known to come out otherwise. Nor does it, as far as is known,
    where ``node`` is there for a parameter that is None, and nothing tells that it is.
    """
    return all(_may_be(ev, instance, test, outcome) for test, outcome in _tests(ev, node))


def _tests(ev: Evaluator, node: ast.AST) -> Iterator[tuple[ast.expr, bool]]:
    yield from context.tests_around(ev, node)
    child = node
    for above in context.ancestors(ev, node):
        if isinstance(above, ast.stmt | ast.Lambda):
            break
        if isinstance(above, ast.BoolOp):
            for before in above.values:
                if before is child:
                    break
                yield before, isinstance(above.op, ast.And)
        child = above


def _may_be(ev: Evaluator, instance: Instance, test: ast.expr, outcome: bool) -> bool:
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _may_be(ev, instance, operand, not outcome)
        case ast.BoolOp(op=op, values=values):
            found = (_may_be(ev, instance, one, outcome) for one in values)
            return all(found) if isinstance(op, ast.And) is outcome else any(found)
        case ast.Compare(
            left=left,
            ops=(ast.Is() | ast.IsNot() | ast.Eq() | ast.NotEq() as op,),
            comparators=(ast.Constant(value=None),),
        ):
            nothing = outcome is isinstance(op, ast.Is | ast.Eq)
            return _may_lack(ev, instance, left, nothing)
        case ast.Name() | ast.Attribute():
            symbolic = ev.symbolic(test)
            if not outcome and isinstance(symbolic, Parameter) and _defaults_to_none(symbolic):
                return _may_lack(ev, instance, test, True)
            decided = {truth_of(one) for one in alternatives(_seen(ev, instance, symbolic))}
            return decided != {not outcome}
        case _:
            return True


def _may_lack(ev: Evaluator, instance: Instance, expr: ast.expr, nothing: bool) -> bool:
    """Whether ``expr`` may be None (``nothing``), or may be something else."""
    symbolic = ev.symbolic(expr)
    found = alternatives(_seen(ev, instance, symbolic))
    if not nothing:
        return found != (NONE,)
    if any(one == NONE or (isinstance(one, Option) and one.default == NONE) for one in found):
        return True
    return not _rests_on_parameter(symbolic)


def _seen(ev: Evaluator, instance: Instance, symbolic: Value) -> Value:
    """A value in the constructor, for the call that made the object, or for all known calls."""
    return ev.resolve(attributes.as_built(ev, instance, symbolic))


def _rests_on_parameter(symbolic: Value) -> bool:
    for inner in alternatives(symbolic):
        while isinstance(inner, Derived):
            inner = inner.base
        if isinstance(inner, Parameter):
            return True
    return False


def _defaults_to_none(parameter: Parameter) -> bool:
    default = parameter.param.default
    return isinstance(default, ast.Constant) and default.value is None
