"""Loops over loaders, the loops that repeat them, and how often they do."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dl_lint.flow import call_graph, enclosing
from dl_lint.flow.features import NOTHING_MORE, feature
from dl_lint.flow.guards import is_conditional, is_switched_off
from dl_lint.flow.interpreter import calls
from dl_lint.flow.values import (
    NONE,
    Batch,
    Collection,
    Const,
    Generated,
    Instance,
    Loader,
    Option,
    Table,
    Tensor,
    Unknown,
    Value,
    Wrapped,
    alternatives,
)
from dl_lint.pipeline import endless
from dl_lint.source.positions import span
from dl_lint.source.syntax import (
    Assignment,
    Display,
    ForStatement,
    advanced,
    begun,
    dotted,
    identifiers,
    names_read,
    targets,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dl_lint.flow.enclosing import LoopNode
    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Scope


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


def loader_loops(program: Program) -> tuple[LoaderLoop, ...]:
    """Every loop over the batches of a loader in the linted files, in source order: for, comprehension, and
    ``next(iterator)`` in any loop."""
    return program.once("loader loops", lambda: tuple(_find_loops(program)))


def _find_loops(program: Program) -> Iterator[LoaderLoop]:
    for file in program.files:
        found = [one for scope in file.scopes for one in _in_scope(program, scope)]
        yield from sorted(found, key=lambda loop: span(loop.node))


def _in_scope(program: Program, scope: Scope) -> Iterator[LoaderLoop]:
    for loop in scope.loops:
        if isinstance(loop.node, ForStatement | ast.comprehension):
            yield from _over(program, loop.node, loop.node.iter, scope)
    for call in scope.calls:
        iterator = advanced(call)
        if iterator is not None and not isinstance(iterator, ast.Call):
            around = next(enclosing.loops_around(program, call), None)
            if around is not None:
                yield from _over(program, around, iterator, scope)


def _over(program: Program, node: LoopNode, source: ast.expr, scope: Scope) -> Iterator[LoaderLoop]:
    loaders, certain = iterated_loaders(program, program.value(source))
    if loaders:
        yield LoaderLoop(node, source, loaders, certain, scope.function)


def loaders_iterated(program: Program, expr: ast.expr) -> tuple[tuple[Loader, ...], bool]:
    """The loaders whose batches iterating ``expr`` gives, and whether it can be nothing else."""
    return iterated_loaders(program, program.value(expr))


def iterated_loaders(program: Program, value: Value) -> tuple[tuple[Loader, ...], bool]:
    """The loaders whose batches a loop over ``value`` gets, and whether there can be no others."""
    found: dict[Loader, None] = {}
    certain = True
    for one in alternatives(value):
        if one == NONE:
            continue
        inside = list(_loaders(program, one))
        found.update((loader, None) for loader in inside if loader is not None)
        certain = certain and None not in inside and bool(inside)
    return tuple(found), certain


def _loaders(program: Program, value: Value) -> Iterator[Loader | None]:
    match value:
        case Loader():
            yield value
        case Wrapped(kind="zip" | "chain") | Generated():
            yield from (
                loader
                for one in value.inner
                for part in alternatives(one)
                for loader in _loaders(program, part)
                if loader
            )
        case Wrapped():
            yield from (
                loader for one in value.inner for part in alternatives(one) for loader in _loaders(program, part)
            )
        case Collection(kind="generator", node=ast.GeneratorExp() as lazy):
            yield from (loader for loader in loaders_iterated(program, lazy.generators[0].iter)[0])
        case Instance():
            found = dict.fromkeys(batches_in(program.resolve(calls.iterated(program, value))))
            yield from _of_given(program, value, found) if found else ()
        case Unknown():
            yield None
        case _:
            return


def _of_given(program: Program, base: Instance, found: Iterable[Loader]) -> Iterable[Loader]:
    """The loaders that an object goes over, of those that objects of its class do: what it was given, if that is any.

    A batch that objects keep on themselves may be of each of them.
    """
    passed = _given(base.call) if base.call is not None else ()
    given = dict.fromkeys(one for arg in passed for one in _held_directly(program.value(arg)))
    calls_given = {one.call for one in given}
    if any(above is base.cls.scope.node for one in found for above in enclosing.ancestors(program, one.call)):
        return found  # it builds its own
    return [one for one in found if one.call in calls_given] or given or found


def _held_directly(value: Value) -> Iterator[Loader]:
    """The loaders that a value is, or wraps, other than by an object of the project: that may be given itself."""
    for one in alternatives(value):
        match one:
            case Loader():
                yield one
            case _:
                continue


def batches_in(value: Value) -> tuple[Loader, ...]:
    """The loaders whose batches ``value`` is, holds, or was computed from."""
    return tuple(dict.fromkeys(_batches_in(value)))


def _batches_in(value: Value) -> Iterator[Loader]:
    for one in alternatives(value):
        match one:
            case Batch():
                yield one.loader
            case Tensor():
                yield from _batches_in(one.source)
            case Collection(items=tuple() as items):
                for item in items:
                    yield from _batches_in(item)
            case Collection():
                yield from _batches_in(one.element)
            case _:
                continue


def repeated_by(program: Program, loop: LoaderLoop, loader: Loader) -> LoopNode | None:
    """The loop that iterates ``loader`` again and again, of those that do not also build it or choose it anew.

    That is ``loop`` itself where it calls ``iter(loader)`` once the loader has come to its end.
    """
    repeating = _coming_again(program, loop.node, loop.source, loop.function, loader)
    goes_on = endless.never_ends(program, loader)
    if goes_on and not enclosing.is_left_by_break(loop.node):
        here = [*enclosing.loops_around(program, loop.node)]
        left = endless.is_left_with_function(program, loop.node)
        repeating = [node for node in repeating if left and node not in here]
    if _draws_from_iterator(program, loop):
        if not goes_on and loop.node not in _building(program, loader) and _starts_over(program, loop, loader):
            return loop.node
        repeating = [node for node in repeating if _starts_again(program, loop, node, loader)]
    return _likeliest(program, repeating, loader)


def _coming_again(program: Program, node: ast.AST, source: ast.expr, function: Scope, loader: Loader) -> list[LoopNode]:
    """The loops that come again to ``node``, where ``source`` is iterated, with the same loader."""
    around = [one for one in enclosing.loops_around(program, node) if one is not node]
    choosing = {one for one in around if _chooses(program, one, source, loader)}
    for call in _bringing(program, function, source, loader):
        again = _repeating(program, call, loader)
        around += again
        choosing.update(one for one in again if _chooses(program, one, call, loader))
    building = _building(program, loader)
    return [one for one in around if not (one in building or one in choosing or at_most_once(program, one))]


def _likeliest(program: Program, repeating: list[LoopNode], loader: Loader) -> LoopNode | None:
    """A function that several scripts call has several loops around it: the script that makes the loader has its own,
    and one over epochs tells more than one over what a finished model is tried on."""
    home = program.sites[loader.call].scope.file
    repeating.sort(
        key=lambda node: (
            once_by_default(program, node),
            program.sites[node].scope.file is not home,
            not counts_epochs(node),
        )
    )
    return next(iter(repeating), None)


@feature("loops that build the loader", frozenset())
def _building(program: Program, loader: Loader) -> set[LoopNode]:
    """The loops that build a loader in each pass, however many calls below."""
    found: set[LoopNode] = set()
    entered: set[Scope] = set()
    waiting: list[ast.AST] = [loader.call, *(frame.call for frame in loader.frames)]
    while waiting:
        node = waiting.pop()
        found.update(enclosing.loops_around(program, node))
        scope = enclosing.function_of(program, node)
        if scope.kind in ("function", "lambda") and scope not in entered:
            entered.add(scope)
            waiting.extend(frame.call for frame in call_graph.all_callers(program, scope) or ())
    return found


def _repeating(program: Program, node: ast.AST, loader: Loader, seen: frozenset[Scope] = frozenset()) -> list[LoopNode]:
    """The loops that run a node again, but those around a call that passes another loader, or a list of others."""
    found = dict.fromkeys(enclosing.loops_around(program, node))
    scope = enclosing.function_of(program, node)
    if scope.kind in ("function", "lambda") and len(seen) < call_graph.FARTHEST and scope not in seen:
        for frame in call_graph.all_callers(program, scope) or ():
            if may_pass(program, frame.call, loader):
                found.update(dict.fromkeys(_repeating(program, frame.call, loader, seen | {scope})))
    return list(found)


def listed(value: Value, depth: int = 2) -> Iterator[Loader]:
    """The loaders in a list, tuple or dict, or in those that it holds."""
    for one in alternatives(value):
        if isinstance(one, Loader):
            yield one
        elif isinstance(one, Collection) and depth:
            for item in one.items if one.items is not None else (one.element,):
                yield from listed(item, depth - 1)
        elif isinstance(one, Table) and depth:
            for _, item in one.items:
                yield from listed(item, depth - 1)


def _bringing(program: Program, function: Scope, source: ast.expr, loader: Loader) -> list[ast.Call]:
    """The calls of a function that may bring it ``loader``: those that pass it, if ``source`` is a parameter."""
    calling = [frame.call for frame in call_graph.all_callers(program, function) or ()]
    passing = [call for call in calling if loader.call in _passed(program, call)]
    taken = {param.name for param in function.params}
    if passing and not taken.isdisjoint(_names(source)):
        return passing
    return [call for call in calling if may_pass(program, call, loader)]


def _draws_from_iterator(program: Program, loop: LoaderLoop) -> bool:
    """Whether a loop takes the next batch of an iterator made before, which goes on where it was."""
    found = alternatives(program.value(loop.source))
    return isinstance(program.parents.get(loop.source), ast.Call | ast.Attribute) and all(
        isinstance(one, Wrapped) and one.kind in ("iter", "enumerate") for one in found
    )


def _starts_again(program: Program, loop: LoaderLoop, node: LoopNode, loader: Loader) -> bool:
    """Whether ``iter(loader)`` is called in a loop, or in the function that it calls to take a batch."""
    outer = program.sites[node].scope.function
    return any(
        program.sites[call].scope.function is not outer or node in enclosing.loops_around(program, call)
        for scope in dict.fromkeys((outer, loop.function))
        for call in begins(program, scope, loader)
    )


def _starts_over(program: Program, loop: LoaderLoop, loader: Loader) -> bool:
    """Whether a loop that takes batch after batch of an iterator makes a new one in some of its passes."""
    return any(loop.node in enclosing.loops_around(program, call) for call in begins(program, loop.function, loader))


def begins(program: Program, scope: Scope, loader: Loader) -> Iterator[ast.Call]:
    """The calls in a function that make an iterator of ``loader`` to take batches from."""
    for call in scope.calls:
        iterable = begun(call) or _enumerated(program, call)
        if iterable is not None and _holds(program, iterable, loader):
            yield call


def _enumerated(program: Program, call: ast.Call) -> ast.expr | None:
    """What ``batches = enumerate(x)`` goes over, which is an iterator itself."""
    if not isinstance(call.func, ast.Name) or call.func.id != "enumerate" or not call.args:
        return None
    return call.args[0] if isinstance(program.parents.get(call), Assignment) else None


@feature("loaders begun again", NOTHING_MORE)
def drained_again(program: Program) -> Iterator[tuple[Loader, LoopNode]]:
    """The loaders that a generator hands on whole, again and again: ``while True: yield from loader``."""
    for scope in (scope for file in program.files for scope in file.scopes):
        for one in scope.yields:
            again = next(enclosing.loops_around(program, one), None) if isinstance(one, ast.YieldFrom) else None
            if again is None or one.value is None:
                continue
            for loader in iterated_loaders(program, program.value(one.value))[0]:
                if again not in call_graph.repeating(program, loader.call):
                    yield loader, again


@feature("loaders begun again", NOTHING_MORE)
def begun_again(program: Program) -> Iterator[tuple[Loader, LoopNode]]:
    """The loaders of which a method keeps a new iterator each time that a loop comes to it, as the constructor of a
    prefetcher does: ``self.batches = iter(loader)``."""
    for scope in (scope for file in program.files for scope in file.scopes if scope.is_method):
        for call in scope.calls:
            source, stored = begun(call), program.parents.get(call)
            if source is None or not isinstance(stored, Assignment) or is_conditional(program, call):
                continue
            if any(isinstance(target, ast.Attribute) for target in targets(stored)):
                for loader in loaders_iterated(program, source)[0]:
                    again = _likeliest(program, _coming_again(program, call, source, scope, loader), loader)
                    if again is not None:
                        yield loader, again


@feature("loops that choose a loader")
def _chooses(program: Program, node: LoopNode, source: ast.expr, loader: Loader) -> bool:
    """Whether each pass of a loop takes another loader: ``for loader in loaders``, ``loaders[phase]``."""
    if isinstance(node, ast.While) or program.sites[node].scope.function is not program.sites[source].scope.function:
        return False
    if isinstance(source, ast.Call):  # of ``tqdm(loaders[phase], desc=f"{epoch}")``, what holds the loader
        return any(_chooses(program, node, arg, loader) for arg in _given(source) if _holds(program, arg, loader))
    if not isinstance(source, ast.Name | ast.Subscript):
        return False
    return not _names(node.target).isdisjoint(_names(source))


def _names(expr: ast.expr) -> set[str]:
    return {one.id for one in names_read(expr)}


def _holds(program: Program, expr: ast.expr, loader: Loader) -> bool:
    return any(one.call is loader.call for one in iterated_loaders(program, program.value(expr))[0])


def _given(call: ast.Call) -> tuple[ast.expr, ...]:
    return (*call.args, *(keyword.value for keyword in call.keywords))


@feature("calls that pass another loader", True)
def may_pass(program: Program, call: ast.Call, loader: Loader) -> bool:
    """Whether a call passes ``loader``, or no loader at all, so that it comes to the function in some other way."""
    passed = _passed(program, call)
    return not passed or loader.call in passed


def _passed(program: Program, call: ast.Call) -> set[ast.Call]:
    """The loaders that a call passes."""
    return {one.call for arg in _given(call) for one in iterated_loaders(program, program.value(arg))[0]}


RANGES = frozenset({"range", "trange", "tqdm.trange"})


@feature("loops of one pass")
def at_most_once(program: Program, loop: LoopNode) -> bool:
    """Whether a loop has one pass at most: ``for phase in ["train"]``, ``range(epochs)`` where epochs is always 1.

    So has one that is switched off: ``if TRAINING:``, where that is always False.
    """
    return is_switched_off(program, loop) or _has_passes(program, loop, 1, by_default=False)


def twice_at_most(program: Program, loop: ast.AST) -> bool:
    """Whether a loop has two passes at most, as it is written: ``range(2)``."""
    return isinstance(loop, ForStatement | ast.While | ast.comprehension) and _has_passes(
        program, loop, 2, by_default=False
    )


@feature("loops of one pass")
def once_by_default(program: Program, loop: ast.AST) -> bool:
    """Whether a loop has one pass unless somebody asks for more: ``range(args.epochs)``, ``range(epochs)`` of a
    function with ``epochs=1`` that nobody calls."""
    return isinstance(loop, ForStatement | ast.While | ast.comprehension) and _has_passes(
        program, loop, 1, by_default=True
    )


def counts_epochs(loop: ast.AST) -> bool:
    """Whether a loop goes over epochs, by its names; not over the ``steps_per_epoch``."""
    match loop:
        case ast.While(test=named):
            spoken: tuple[ast.AST, ...] = (named,)
        case (
            ast.For(target=target, iter=over)
            | ast.AsyncFor(target=target, iter=over)
            | ast.comprehension(target=target, iter=over)
        ):
            spoken = (target, over)
        case _:
            return False
    names = (name.lower() for one in spoken for name in identifiers(one))
    return any("epoch" in name and "per_epoch" not in name for name in names)


def _has_passes(program: Program, loop: LoopNode, most: int, *, by_default: bool) -> bool:
    """Whether a loop has ``most`` passes or fewer."""
    if isinstance(loop, ast.While):
        return False
    over = loop.iter
    while isinstance(over, ast.Call) and dotted(over.func) not in RANGES and over.args:
        over = over.args[0]  # a progress bar around it
    if isinstance(over, Display):
        return len(over.elts) <= most and not any(isinstance(one, ast.Starred) for one in over.elts)
    match program.value(over) if isinstance(over, ast.Name) else None:
        case Collection(items=tuple() as items, grown=()):
            return len(items) <= most
    if not isinstance(over, ast.Call) or dotted(over.func) not in RANGES:
        return False
    ends = [_number(program, one, by_default=by_default) for one in over.args]
    known = [one for one in ends if one is not None]
    return len(known) == len(ends) in (1, 2, 3) and 0 not in known[2:] and len(range(*known)) <= most


def _number(program: Program, expr: ast.expr, *, by_default: bool) -> int | None:
    value = program.value(expr)
    if by_default and isinstance(value, Option):
        value = value.default
    return value.value if isinstance(value, Const) and type(value.value) is int else None
