"""Loops over loaders, and the loops that repeat them."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dl_lint.project import calls, context, rounds
from dl_lint.project.values import (
    NONE,
    Batch,
    Collection,
    Generated,
    Instance,
    Loader,
    Tensor,
    Unknown,
    Value,
    Wrapped,
    alternatives,
)
from dl_lint.source.positions import span
from dl_lint.source.syntax import Assignment, ForStatement, advanced, begun, children

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dl_lint.project.context import LoopNode
    from dl_lint.project.evaluate import Evaluator
    from dl_lint.project.scopes import Scope


@dataclass(frozen=True, slots=True)
class LoaderLoop:
    """A loop over the batches of a loader.

    ``loaders`` are those that may be iterated; ``certain`` if there can be no others. ``source`` is the expression
    iterated (in ``while True: batch = next(it)``, what ``next`` draws from).
    """

    node: LoopNode
    source: ast.expr
    loaders: tuple[Loader, ...]
    certain: bool
    function: Scope


def loader_loops(ev: Evaluator) -> Iterator[LoaderLoop]:
    """Every loop over a loader in the linted files, in source order."""
    for file in ev.linted:
        found = [one for scope in file.scopes for one in _in_scope(ev, scope)]
        yield from sorted(found, key=lambda loop: span(loop.node))


def _in_scope(ev: Evaluator, scope: Scope) -> Iterator[LoaderLoop]:
    for loop in scope.loops:
        if isinstance(loop.node, ForStatement | ast.comprehension):
            yield from _over(ev, loop.node, loop.node.iter, scope)
    for call in scope.calls:
        iterator = advanced(call)
        if iterator is not None and not isinstance(iterator, ast.Call):
            around = next(context.loops_around(ev, call), None)
            if around is not None:
                yield from _over(ev, around, iterator, scope)


def _over(ev: Evaluator, node: LoopNode, source: ast.expr, scope: Scope) -> Iterator[LoaderLoop]:
    loaders, certain = iterated_loaders(ev, ev.value(source))
    if loaders:
        yield LoaderLoop(node, source, loaders, certain, scope.function)


def iterated_loaders(ev: Evaluator, value: Value) -> tuple[tuple[Loader, ...], bool]:
    """The loaders whose batches a loop over ``value`` gets, and whether there can be no others."""
    found: dict[Loader, None] = {}
    certain = True
    for one in alternatives(value):
        if one == NONE:
            continue
        inside = list(_loaders(ev, one))
        found.update((loader, None) for loader in inside if loader is not None)
        certain = certain and None not in inside and bool(inside)
    return tuple(found), certain


def _loaders(ev: Evaluator, value: Value) -> Iterator[Loader | None]:
    match value:
        case Loader():
            yield value
        case Wrapped(kind="zip" | "chain"):
            yield from (
                loader for one in value.inner for part in alternatives(one) for loader in _loaders(ev, part) if loader
            )
        case Wrapped():
            yield from (loader for one in value.inner for part in alternatives(one) for loader in _loaders(ev, part))
        case Generated():
            yield from (
                loader for one in value.inner for part in alternatives(one) for loader in _loaders(ev, part) if loader
            )
        case Instance():
            found = dict.fromkeys(batches_in(ev.resolve(calls.iterated(ev, value))))
            yield from _of_given(ev, value, found) if found else ()
        case Unknown():
            yield None
        case _:
            return


def _of_given(ev: Evaluator, base: Instance, found: Iterable[Loader]) -> Iterable[Loader]:
    """The loaders that an object goes over, of those that objects of its class do: what it was given, if that is any.

    A batch that objects keep on themselves may be of each of them.
    """
    passed = _given(base.call) if base.call is not None else ()
    given = dict.fromkeys(one for arg in passed for one in _held_directly(ev.value(arg)))
    calls_given = {one.call for one in given}
    if any(above is base.cls.scope.node for one in found for above in context.ancestors(ev, one.call)):
        return found  # it builds its own
    return [one for one in found if one.call in calls_given] or given or found


def _held_directly(value: Value) -> Iterator[Loader]:
    """The loaders that a value is, or wraps, other than by an object of the project: that may be given itself."""
    for one in alternatives(value):
        match one:
            case Loader():
                yield one
            case Wrapped():
                yield from (loader for inner in one.inner for loader in _held_directly(inner))
            case _:
                continue


def batches_in(value: Value) -> Iterator[Loader]:
    """The loaders of the batches that ``value`` holds."""
    for one in alternatives(value):
        match one:
            case Batch():
                yield one.loader
            case Tensor():
                yield from batches_in(one.source)
            case Collection(items=tuple() as items):
                for item in items:
                    yield from batches_in(item)
            case Collection():
                yield from batches_in(one.element)
            case _:
                continue


def repeated_by(ev: Evaluator, loop: LoaderLoop, loader: Loader) -> LoopNode | None:
    """The loop that iterates ``loader`` again and again, of those that do not also build it or choose it anew.

    That is ``loop`` itself where it calls ``iter(loader)`` once the loader has come to its end.
    """
    around = [node for node in context.loops_around(ev, loop.node) if node is not loop.node]
    choosing = {node for node in around if _chooses(ev, node, loop.source, loader)}
    for call in _bringing(ev, loop, loader):
        again = _repeating(ev, call, loader)
        around += again
        choosing.update(node for node in again if _chooses(ev, node, call, loader))
    building = _building(ev, loader)
    repeating = [node for node in around if not (node in building or node in choosing or rounds.at_most_once(ev, node))]
    if _draws_from_iterator(ev, loop):
        if loop.node not in building and _starts_over(ev, loop, loader):
            return loop.node
        repeating = [node for node in repeating if _starts_again(ev, loop, node, loader)]
    # A function that several scripts call has several loops around it: the script that makes the loader has its own,
    # and one over epochs tells more than one over what a finished model is tried on.
    home = ev.sites[loader.call].scope.file
    repeating.sort(
        key=lambda node: (
            rounds.once_by_default(ev, node),
            ev.sites[node].scope.file is not home,
            not rounds.counts_epochs(node),
        )
    )
    return next(iter(repeating), None)


def _building(ev: Evaluator, loader: Loader) -> set[LoopNode]:
    """The loops that build a loader in each pass, however many calls below."""
    found: set[LoopNode] = set()
    entered: set[Scope] = set()
    waiting: list[ast.AST] = [loader.call, *(frame.call for frame in loader.frames)]
    while waiting:
        node = waiting.pop()
        found.update(context.loops_around(ev, node))
        scope = context.function_of(ev, node)
        if scope.kind in ("function", "lambda") and scope not in entered:
            entered.add(scope)
            waiting.extend(frame.call for frame in ev.callers.of(scope) or ())
    return found


def _repeating(ev: Evaluator, node: ast.AST, loader: Loader, seen: frozenset[Scope] = frozenset()) -> list[LoopNode]:
    """The loops that run a node again, but those around a call that passes a list of other loaders."""
    found = dict.fromkeys(context.loops_around(ev, node))
    scope = context.function_of(ev, node)
    if scope.kind in ("function", "lambda") and len(seen) < context.FARTHEST and scope not in seen:
        for frame in ev.callers.of(scope) or ():
            if not _lists_others(ev, frame.call, loader):
                found.update(dict.fromkeys(_repeating(ev, frame.call, loader, seen | {scope})))
    return list(found)


def _lists_others(ev: Evaluator, call: ast.Call, loader: Loader) -> bool:
    """Whether a call passes a list of what the function around ``loader`` built for other callers than this one's."""
    held = [one for arg in _given(call) for one in _listed(ev.value(arg)) if one.call is loader.call and one.frames]
    return bool(held and loader.frames) and all(one.frames[0] != loader.frames[0] for one in held)


def _listed(value: Value, depth: int = 2) -> Iterator[Loader]:
    """The loaders in a list or tuple, or in those that it holds."""
    for one in alternatives(value):
        if isinstance(one, Loader):
            yield one
        elif isinstance(one, Collection) and depth:
            for item in one.items if one.items is not None else (one.element,):
                yield from _listed(item, depth - 1)


def _bringing(ev: Evaluator, loop: LoaderLoop, loader: Loader) -> list[ast.Call]:
    """The calls of the function of ``loop`` that may bring it ``loader``: those that pass it, if it is a parameter."""
    calling = [frame.call for frame in ev.callers.of(loop.function) or ()]
    passing = [call for call in calling if loader.call in _passed(ev, call)]
    taken = {param.name for param in loop.function.params}
    if passing and not taken.isdisjoint(_names(loop.source)):
        return passing
    return [call for call in calling if may_pass(ev, call, loader)]


def _draws_from_iterator(ev: Evaluator, loop: LoaderLoop) -> bool:
    """Whether a loop takes the next batch of an iterator made before, which goes on where it was."""
    found = alternatives(ev.value(loop.source))
    return isinstance(ev.parents.get(loop.source), ast.Call | ast.Attribute) and all(
        isinstance(one, Wrapped) and one.kind in ("iter", "enumerate") for one in found
    )


def _starts_again(ev: Evaluator, loop: LoaderLoop, node: LoopNode, loader: Loader) -> bool:
    """Whether ``iter(loader)`` is called in a loop, or in the function that it calls to take a batch."""
    outer = ev.sites[node].scope.function
    return any(
        ev.sites[call].scope.function is not outer or node in context.loops_around(ev, call)
        for scope in dict.fromkeys((outer, loop.function))
        for call in begins(ev, scope, loader)
    )


def _starts_over(ev: Evaluator, loop: LoaderLoop, loader: Loader) -> bool:
    """Whether a loop that takes batch after batch of an iterator makes a new one in some of its passes."""
    return any(
        loop.node in context.loops_around(ev, call)
        and (context.in_handler(ev, call) or any(context.tests_around(ev, call)))
        for call in begins(ev, loop.function, loader)
    )


def begins(ev: Evaluator, scope: Scope, loader: Loader) -> Iterator[ast.Call]:
    """The calls in a function that make an iterator of ``loader`` to take batches from."""
    for call in scope.calls:
        iterable = begun(call) or _enumerated(ev, call)
        if iterable is not None and _holds(ev, iterable, loader):
            yield call


def _enumerated(ev: Evaluator, call: ast.Call) -> ast.expr | None:
    """What ``batches = enumerate(x)`` goes over, which is an iterator itself."""
    if not isinstance(call.func, ast.Name) or call.func.id != "enumerate" or not call.args:
        return None
    return call.args[0] if isinstance(ev.parents.get(call), Assignment) else None


def drained_again(ev: Evaluator) -> Iterator[tuple[Loader, LoopNode]]:
    """The loaders that a generator hands on whole, again and again: ``while True: yield from loader``."""
    for scope in (scope for file in ev.linted for scope in file.scopes):
        for one in scope.yields:
            again = next(context.loops_around(ev, one), None) if isinstance(one, ast.YieldFrom) else None
            if again is None or one.value is None:
                continue
            for loader in iterated_loaders(ev, ev.value(one.value))[0]:
                if again not in context.repeating(ev, loader.call) and not _chooses(ev, again, one.value, loader):
                    yield loader, again


def _chooses(ev: Evaluator, node: LoopNode, source: ast.expr, loader: Loader) -> bool:
    """Whether each pass of a loop takes another loader: ``for loader in loaders``, ``loaders[phase]``."""
    if isinstance(node, ast.While) or ev.sites[node].scope.function is not ev.sites[source].scope.function:
        return False
    if isinstance(source, ast.Call):  # of ``tqdm(loaders[phase], desc=f"{epoch}")``, what holds the loader
        return any(_chooses(ev, node, arg, loader) for arg in _given(source) if _holds(ev, arg, loader))
    if not isinstance(source, ast.Name | ast.Subscript):
        return False
    return not _names(node.target).isdisjoint(_names(source))


def _names(expr: ast.expr) -> set[str]:
    found, waiting = set(), [expr]
    while waiting:
        node: ast.AST = waiting.pop()
        if isinstance(node, ast.Name):
            found.add(node.id)
        waiting += [one for one in children(node) if isinstance(one, ast.expr)]
    return found


def _holds(ev: Evaluator, expr: ast.expr, loader: Loader) -> bool:
    return any(one.call is loader.call for one in iterated_loaders(ev, ev.value(expr))[0])


def _given(call: ast.Call) -> tuple[ast.expr, ...]:
    return (*call.args, *(keyword.value for keyword in call.keywords))


def may_pass(ev: Evaluator, call: ast.Call, loader: Loader) -> bool:
    """Whether a call passes ``loader``, or no loader at all, so that it comes to the function in some other way."""
    passed = _passed(ev, call)
    return not passed or loader.call in passed


def _passed(ev: Evaluator, call: ast.Call) -> set[ast.Call]:
    """The loaders that a call passes."""
    return {one.call for arg in _given(call) for one in iterated_loaders(ev, ev.value(arg))[0]}
