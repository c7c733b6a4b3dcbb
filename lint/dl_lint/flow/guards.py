"""Guards: the tests that a node depends on, and whether they can hold, for all callers or for one."""

from __future__ import annotations

import ast
from functools import partial
from typing import TYPE_CHECKING

from dl_lint.flow import enclosing, scopes
from dl_lint.flow.features import feature
from dl_lint.flow.interpreter import classes, objects
from dl_lint.flow.outcomes import against, compared, decided, truth, truth_of
from dl_lint.flow.program import operation
from dl_lint.flow.values import (
    NONE,
    UNKNOWN,
    Class,
    Derived,
    Instance,
    Option,
    Parameter,
    Value,
    alternatives,
)
from dl_lint.source.syntax import dotted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dl_lint.flow.program import Program
    from dl_lint.flow.values import Frames, Loader


def is_conditional(
    program: Program,
    node: ast.AST,
    within: ast.AST | None = None,
    spared: Callable[[ast.expr], bool] = lambda _test: False,
) -> bool:
    """Whether a place is reached only where a test holds or something fails, within its function or a loop around it.
    A test that always has the outcome that the place needs is none, nor is one that is ``spared``."""
    for block in enclosing.blocks(program, node):
        if within is not None and block.owner is within:
            return False
        if block.kind in ("except", "case"):
            return True
        if isinstance(block.owner, ast.If):
            is_none = truth(program, block.owner.test) is (block.kind == "if") or spared(block.owner.test)
            if not is_none:
                return True
    return any(truth(program, test) is not outcome for test, outcome in enclosing.conditionals(program, node))


@feature("code under a constant test")
def is_switched_off(program: Program, node: ast.AST) -> bool:
    """Whether a test keeps a node of its function from ever being run: ``if False:``."""
    return any(truth(program, test) is (not outcome) for test, outcome in enclosing.tests_around(program, node))


_PLAIN = frozenset({"staticmethod", "classmethod"})
"""Decorators that pass on the arguments as they are given."""


@operation("is_excluded")
@feature("loaders that the arguments of a caller exclude")
def is_excluded(program: Program, loader: Loader) -> bool:
    """Whether a call on the way to ``loader`` passes what keeps it from being made: ``if split == "train":``.

    Of each function on the way, the tests around the construction count, or around the call that leads on to it, and
    those of earlier ``if`` statements with an arm that returns.
    """
    inner = loader.call
    for at, frame in enumerate(loader.frames):
        if scopes.decorators(frame.scope) <= _PLAIN:
            for test, wanted in _tests(program, inner):
                if _outcome(program, test, loader.frames[at:]) is (not wanted):
                    return True
        inner = frame.call
    return False


def _tests(program: Program, node: ast.Call) -> tuple[tuple[ast.expr, bool], ...]:
    return program.read_off(
        ("tests around", node), lambda: (*enclosing.tests_around(program, node), *_returning(program, node))
    )


def _returning(program: Program, node: ast.Call) -> Iterator[tuple[ast.expr, bool]]:
    for block in enclosing.blocks(program, node):
        yield from enclosing.jumps(program, block, node, "leave")


def _outcome(program: Program, test: ast.expr, frames: Frames) -> bool | None:
    """How a test of parameters, and of nothing else, goes for one chain of calls; None if that is not known."""
    return decided(test, partial(_of_parameters, program, frames))


def _of_parameters(program: Program, frames: Frames, test: ast.expr) -> bool | None:
    match test:
        case ast.Name():
            value = _passed(program, test, frames)
            return truth_of(value) if value is not None else None
        case ast.Compare(left=ast.Name() as name, ops=(op,), comparators=(ast.expr() as other,)):
            return against(_passed(program, name, frames), op, program.symbolic(other))
        case _:
            return None


def _passed(program: Program, name: ast.Name, frames: Frames) -> Value | None:
    """What the calls pass for a parameter; None for another name, and for one that is assigned since."""
    value = program.symbolic(name)
    if not isinstance(value, Parameter) or value.scope is not frames[0].scope:
        return None
    return program.through(value, frames)


@feature("attributes that a constructor stores under a condition", True)
def is_taken(program: Program, instance: Instance, node: ast.AST) -> bool:
    """Whether making ``instance`` comes to ``node``, which stands in a constructor or in what that calls.

    It does not where a test that ``node`` depends on is known to come out otherwise. Nor does it, as far as is known,
    where ``node`` is there for a parameter that is None, and nothing tells that it is.
    """
    of_part = partial(_may_be, program, instance)
    return all(may_have(test, outcome, of_part) for test, outcome in _tests_of_way(program, node))


def _tests_of_way(program: Program, node: ast.AST) -> Iterator[tuple[ast.expr, bool]]:
    yield from enclosing.tests_around(program, node)
    child = node
    for above in enclosing.ancestors(program, node):
        if isinstance(above, ast.stmt | ast.Lambda):
            break
        if isinstance(above, ast.BoolOp):
            for before in above.values:
                if before is child:
                    break
                yield before, isinstance(above.op, ast.And)
        child = above


@feature("settings that switch code off", True)
def may_run(program: Program, node: ast.AST, instance: Instance | None = None) -> bool:
    """Whether the known calls of its function, and the way ``instance`` was built, let a place be come to.

    It cannot where a test that it depends on, or one behind which an earlier ``if`` leaves, has another outcome with
    all that is passed for its parameters, and all that was stored in the attributes of the object.
    """
    tests = [*_tests_of_way(program, node)]
    tests += (
        test for block in enclosing.blocks(program, node) for test in enclosing.jumps(program, block, node, "leave")
    )
    return all(may_have(test, outcome, partial(_may_come_out, program, instance)) for test, outcome in tests)


def _may_come_out(program: Program, instance: Instance | None, test: ast.expr, outcome: bool) -> bool:
    match test:
        case ast.Name() | ast.Attribute():
            found = {truth_of(one) for one in alternatives(_for_object(program, instance, test))}
        case ast.Compare(left=left, ops=(op,), comparators=(right,)):
            values = [alternatives(_for_object(program, instance, one)) for one in (left, right)]
            found = {compared(op, one, other) for one in values[0] for other in values[1]}
        case _:
            return True
    return found != {not outcome}


def _for_object(program: Program, instance: Instance | None, expr: ast.expr) -> Value:
    """A value in a function, in a method of ``instance`` for that object; what others set there may be anything."""
    if isinstance(expr, ast.Attribute) and instance is not None:
        function = enclosing.function_of(program, expr)
        owner = Class(function.parent) if function.is_method and function.parent is not None else None
        if dotted(expr.value) == function.receiver and owner in classes.lineage(program, instance.cls):
            found = (
                UNKNOWN if _is_set_outside(program, expr.attr) else objects.of_instance(program, instance, expr.attr)
            )
            return program.resolve(found)
    return program.value(expr)


def _is_set_outside(program: Program, attribute: str) -> bool:
    """Whether functions that are no methods of it set an attribute of an object."""
    stores = program.attribute_stores(attribute)
    return any(dotted(store.target.value) != store.site.scope.function.receiver for store in stores)


def may_have(test: ast.expr, outcome: bool, of_part: Callable[[ast.expr, bool], bool]) -> bool:
    """Whether a test may have an outcome, by what is known of the parts that ``and``, ``or`` and ``not`` join."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return may_have(operand, not outcome, of_part)
        case ast.BoolOp(op=op, values=values):
            found = (may_have(one, outcome, of_part) for one in values)
            return all(found) if isinstance(op, ast.And) is outcome else any(found)
        case _:
            return of_part(test, outcome)


def _may_be(program: Program, instance: Instance, test: ast.expr, outcome: bool) -> bool:
    match test:
        case ast.Compare(
            left=left,
            ops=(ast.Is() | ast.IsNot() | ast.Eq() | ast.NotEq() as op,),
            comparators=(ast.Constant(value=None),),
        ):
            nothing = outcome is isinstance(op, ast.Is | ast.Eq)
            return _may_lack(program, instance, left, nothing)
        case ast.Name() | ast.Attribute():
            symbolic = program.symbolic(test)
            if not outcome and isinstance(symbolic, Parameter) and _defaults_to_none(symbolic):
                return _may_lack(program, instance, test, True)
            decided = {truth_of(one) for one in alternatives(_seen(program, instance, symbolic))}
            return decided != {not outcome}
        case _:
            return True


def _may_lack(program: Program, instance: Instance, expr: ast.expr, nothing: bool) -> bool:
    """Whether ``expr`` may be None (``nothing``), or may be something else."""
    symbolic = program.symbolic(expr)
    found = alternatives(_seen(program, instance, symbolic))
    if not nothing:
        return found != (NONE,)
    if any(one == NONE or (isinstance(one, Option) and one.default == NONE) for one in found):
        return True
    return not _rests_on_parameter(symbolic)


def _seen(program: Program, instance: Instance, symbolic: Value) -> Value:
    """A value in the constructor, for the call that made the object, or for all known calls."""
    return program.resolve(objects.as_built(program, instance, symbolic))


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
