"""Loops that count steps, not epochs: how often they go over their data depends on how much there is."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project.loops import may_pass
from dl_lint.project.passes import passes
from dl_lint.project.repetition import STEPS, names_in, words
from dl_lint.project.syntax import advanced, children, dotted
from dl_lint.project.values import Generated, Instance, Wrapped, alternatives

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dl_lint.project.context import LoopNode
    from dl_lint.project.loops import LoaderLoop
    from dl_lint.project.model import Project
    from dl_lint.project.scopes import Scope
    from dl_lint.project.values import Loader, Value

DEEPEST = 3
"""Names that a limit is followed through."""

_ORDER = frozenset({"<", "<=", ">", ">=", "=="})


def are_counted(project: Project, loader: Loader, again: t.Node | None, loop: LoopNode | None) -> bool:
    """Whether ``again``, which begins ``loop`` over a loader anew, ends after so many steps, whatever epochs they make.

    Not where another loop repeats it, nor where the number of steps is made from epochs or from a length. A generator
    without an end ends with the loops that take its batches.
    """
    if isinstance(again, t.While) and _is_endless(project, again):
        return _is_drawn_for_steps(project, loader, project.function_of(again))
    return _ends_by_steps(project, again, loop)


def _ends_by_steps(project: Project, again: t.Node | None, loop: LoopNode | None, *, by_batch: bool = False) -> bool:
    while isinstance(again, t.For) and isinstance(again.iter, t.Sequence):
        again = next((node for node in project.loops_around(again) if node is not again), None)
    if not isinstance(again, t.For | t.While) or any(node is not again for node in project.repeating(again)):
        return False
    by_batch = by_batch or (loop is not None and _is_by_batch(project, again, loop))
    return _are_of_steps(project, _limits(project, again, by_batch=by_batch))


def _are_of_steps(project: Project, limits: Iterable[t.Expr]) -> bool:
    found = list(limits)
    return bool(found) and not any(_speaks_of_epochs(project, one, DEEPEST) for one in found)


def _is_endless(project: Project, loop: t.While) -> bool:
    """Whether a generator goes on in ``loop`` for as long as it is asked for more."""
    function = project.function_of(loop)
    goes_on = isinstance(loop.test, t.Constant) and not project.is_left_by_break(loop)
    return goes_on and bool(function.yields) and not function.returns


def _is_drawn_for_steps(project: Project, loader: Loader, generator: Scope) -> bool:
    """Whether every loop that takes batches of ``loader`` from ``generator`` ends after so many steps."""
    stepping = [node for call in _draws(project, loader) for node in _innermost(project, call, loader)]
    over = [one.node for one in project.loader_loops() if _goes_over(project, one, loader, generator)]
    return (
        bool(stepping or over)
        and all(_ends_by_steps(project, one, None, by_batch=True) for one in stepping)
        and all(_is_left_after_steps(project, one) for one in over)
    )


def _is_left_after_steps(project: Project, loop: LoopNode) -> bool:
    again = any(node is not loop for node in project.repeating(loop))
    return not again and _are_of_steps(project, _leaving(project, loop))


def _draws(project: Project, loader: Loader) -> Iterator[t.Call]:
    """The calls that take the next batch of ``loader`` from a generator, or from an object that has one."""
    for file in project.files:
        for call in (*file.methods.get("next", ()), *file.methods.get("__next__", ())):
            iterator = advanced(call)
            if iterator is not None and _is_generated(project, iterator, loader):
                yield call


def _innermost(project: Project, call: t.Call, loader: Loader) -> Iterator[LoopNode]:
    """The loop around a call, or on each way to it that may bring ``loader`` the first one around a caller."""
    found: set[tuple[t.Call, ...]] = set()
    for one in passes(project.evaluator, call):
        ways = {one.through[:end] for end in range(len(one.through) + 1)}
        if isinstance(one.loop, t.FunctionDef) or not found.isdisjoint(ways):
            continue
        if all(may_pass(project.evaluator, caller, loader) for caller in one.through):
            found.add(one.through)
            yield one.loop


def _goes_over(project: Project, loop: LoaderLoop, loader: Loader, generator: Scope) -> bool:
    """Whether a ``for`` goes over what a generator gives of ``loader``."""
    is_own = loop.function is generator or project.parent(loop.source) is not loop.node
    return not is_own and _is_generated(project, loop.source, loader)


def _is_generated(project: Project, source: t.Expr, loader: Loader) -> bool:
    generated = _gives_generated(project.value(source))
    return generated and any(one.call is loader.call for one in project.iterated_loaders(source)[0])


def _gives_generated(value: Value) -> bool:
    found = alternatives(value)
    inner = (part for one in found if isinstance(one, Wrapped) for part in one.inner)
    return any(isinstance(one, Generated | Instance) for one in found) or any(map(_gives_generated, inner))


def _is_by_batch(project: Project, again: t.For | t.While, loop: LoopNode) -> bool:
    """Whether each pass of ``again`` takes a batch of each of a few iterators, and no more."""
    drawn = any(one.node is loop and project.parent(one.source) is not loop for one in project.loader_loops())
    between = takewhile(lambda node: node is not again, (loop, *project.loops_around(loop)))
    return drawn and all(isinstance(one, t.For) and isinstance(one.iter, t.Sequence) for one in between)


def _limits(project: Project, again: t.For | t.While, *, by_batch: bool) -> Iterator[t.Expr]:
    """What ends a loop at a number of steps; ``by_batch`` if each of its passes is a step."""
    if isinstance(again, t.For):
        over = again.iter
        while isinstance(over, t.Call) and dotted(over.func) not in ("range", "trange") and over.args:
            over = over.args[0]
        if by_batch and isinstance(over, t.Call) and dotted(over.func) in ("range", "trange"):
            yield from over.args
    elif not isinstance(again.test, t.Constant):
        if _compares_steps(again.test):
            yield again.test
        else:
            yield from _lowering(project, again)
    else:
        yield from _leaving(project, again)


def _lowering(project: Project, again: t.While) -> Iterator[t.Expr]:
    """The tests of steps, or of epochs, under which a flag is set that ends a loop: ``while keep_on``."""
    flag = again.test.operand if isinstance(again.test, t.UnaryOp) else again.test
    scope, name = project.site(again).scope, dotted(flag)
    for binding in scope.bindings.get(name, ()) if name is not None else ():
        if isinstance(binding.value, t.Constant) and again in project.loops_around(binding.node):
            tests = (test for test, _ in project.tests_around(binding.node))
            yield from (test for test in tests if _compares_steps(test) or _is_of_epochs(test))


def _leaving(project: Project, again: LoopNode) -> Iterator[t.Expr]:
    """The tests of steps, or of epochs, that leave a loop."""
    for owner, arms in project.site(again).scope.file.arms.items():
        if isinstance(owner, t.If) and again in project.loops_around(owner):
            ends = any(arm.exits in ("leave", "break") for arm in arms)
            if ends and (_compares_steps(owner.test) or _is_of_epochs(owner.test)):
                yield owner.test


def _compares_steps(test: t.Expr) -> bool:
    """Whether a test compares what is called a number of steps: ``i >= max_iterations``."""
    if isinstance(test, t.BoolOp):
        return any(_compares_steps(one) for one in test.values)
    if not isinstance(test, t.Compare) or not _ORDER.issuperset(test.ops):
        return False
    sides = (test.left, *test.comparators)
    if any(isinstance(one, t.BinOp) and one.op == "%" for one in sides):
        return False
    return any(STEPS & set(words(name)[-1:]) for one in sides for name in names_in(one))


def _speaks_of_epochs(project: Project, expr: t.Expr, depth: int) -> bool:
    """Whether a number is made from epochs, or from the length of something."""
    if _is_of_epochs(expr):
        return True
    return depth > 0 and any(
        _speaks_of_epochs(project, value, depth - 1)
        for name in names_in(expr)
        for value in assigned(project, expr, name)
    )


def _is_of_epochs(expr: t.Expr) -> bool:
    waiting: list[t.Node] = [expr]
    while waiting:
        node = waiting.pop()
        if isinstance(node, t.Call) and dotted(node.func) == "len":
            return True
        waiting.extend(children(node))
    return any({"epoch", "epochs"} & set(words(name)) for name in names_in(expr))


def assigned(project: Project, near: t.Expr, name: str) -> Iterator[t.Expr]:
    """What a name or an attribute is assigned in the same function or class."""
    scope = project.site(near).scope.function
    bound = [*scope.bindings.get(name, ())]
    if "." in name and scope.parent is not None:
        bound += (one for other in scope.parent.children for one in other.bindings.get(name, ()))
    yield from (one.value for one in bound if one.value is not None and one.kind == "assign")
