"""A program: all its files, linked, and what their expressions stand for.

``symbolic`` works within a function and through the functions that it calls; a parameter stays a ``Parameter``.
``value`` then replaces each by what all known calls of its function pass. What each kind of expression stands for, and
what can be done with a value, is registered by the modules that know it (``evaluates``, ``operation``): the recursion
of the interpreter goes through these two tables."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from operator import is_
from typing import TYPE_CHECKING, Any, TypeVar

from dl_lint.flow.hints import NO_HINTS, Hints
from dl_lint.flow.solver import Solver
from dl_lint.flow.subprojects import Tokens
from dl_lint.flow.values import (
    NOTHING,
    UNKNOWN,
    Absent,
    Batch,
    Bound,
    Class,
    Collection,
    Const,
    CpuCount,
    Derived,
    External,
    Frame,
    Frames,
    Function,
    Generated,
    Instance,
    Loader,
    Made,
    Module,
    Namespace,
    Nothing,
    Number,
    OneOf,
    Option,
    Package,
    Parameter,
    Partial,
    Picked,
    Sampler,
    Table,
    Tensor,
    Unknown,
    Value,
    WhenAccelerated,
    Wrapped,
    alternatives,
    union,
)
from dl_lint.source.file import is_notebook
from dl_lint.source.positions import Place, span

if TYPE_CHECKING:
    from dl_lint.flow.imports import Files
    from dl_lint.flow.scopes import FileIndex, Scope, Site, Store
    from dl_lint.source.syntax import FunctionDefinition

LONGEST_CHAIN = 6
"""Calls remembered between where an object is made and where it is used."""


_PLAIN = frozenset(
    {
        Absent,
        Class,
        Const,
        CpuCount,
        External,
        Function,
        Module,
        Nothing,
        Number,
        Package,
        Picked,
        Unknown,
        WhenAccelerated,
    }
)
"""What holds no other value, so that nothing in it can be bound."""

_OBJECTS = frozenset({Instance, Loader, Made, Sampler})

Bind = Callable[[Parameter], Value]
_Object = TypeVar("_Object", bound=Made | Instance)
_T = TypeVar("_T")


_Function = TypeVar("_Function", bound=Callable[..., Any])

_EXPRESSIONS: dict[type[ast.expr], Callable[[Program, Any], Value]] = {}
_OPERATIONS: dict[str, Callable[..., Any]] = {}


def evaluates(*kinds: type[ast.expr]) -> Callable[[_Function], _Function]:
    """Register what says which value expressions of some kinds have, their parameters left open."""

    def register(function: _Function) -> _Function:
        _EXPRESSIONS.update(dict.fromkeys(kinds, function))
        return function

    return register


def operation(name: str) -> Callable[[_Function], _Function]:
    """Register what the method ``name`` of a program does."""

    def register(function: _Function) -> _Function:
        _OPERATIONS[name] = function
        return function

    return register


class Program:
    """All files of a program, linked. Everything is worked out on demand and once."""

    def __init__(self, modules: Files, linted: list[FileIndex], hints: Hints = NO_HINTS) -> None:
        self.files: tuple[FileIndex, ...] = tuple(linted)
        """The linted files; ``modules`` also has those that are only imported."""
        self.modules = modules
        self.hints = hints
        self.models = modules.models
        self.sites = modules.sites
        self.parents = modules.parents
        self.solver = Solver()
        self._tokens = Tokens(modules)
        self._scopes: dict[ast.AST, Scope] = {}
        self._scoped: set[FileIndex] = set()
        self._answers: dict[Hashable, Any] = {}

    # --- answers that are kept ----------------------------------------------------------

    def once(self, key: Hashable, work: Callable[[], _T]) -> _T:
        """What ``work`` answers, which rests on values alone; kept under ``key`` if no value was still open."""
        if key in self._answers:
            found: _T = self._answers[key]
            return found
        is_final = self.solver.is_idle
        answer = work()
        if is_final:
            self._answers[key] = answer
        return answer

    def read_off(self, key: Hashable, work: Callable[[], _T]) -> _T:
        """What ``work`` answers, which rests on no value but on the code as it stands alone; kept under ``key``."""
        if key not in self._answers:
            self._answers[key] = work()
        found: _T = self._answers[key]
        return found

    # --- where things stand -------------------------------------------------------------

    def site(self, node: ast.AST) -> Site:
        """The scope, the block and the place in the order of evaluation."""
        return self.sites[node]

    def parent(self, node: ast.AST) -> ast.AST | None:
        return self.parents.get(node)

    def path(self, node: ast.AST) -> str:
        return self.sites[node].scope.file.path

    def place(self, node: ast.AST) -> Place:
        file = self.sites[node].scope.file
        return Place(file.path, file.syntax.place(node))

    def told(self, place: Place) -> str:
        """``train.py:41``; of a notebook, whose lines nobody sees counted through, the cell and the line in it."""
        row = place.span[0]
        shown = self.modules.around.shown(place.path)
        source = self.modules.source(place.path) if is_notebook(place.path) else None
        cell = None if source is None or source.notebook is None else source.notebook.cell(row)
        return f"{shown}:{row}" if cell is None else f"cell {cell.number}, line {row - cell.first + 1} of {shown}"

    def scope_of(self, node: FunctionDefinition | ast.ClassDef | ast.Lambda) -> Scope:
        """The scope that a definition opens."""
        file = self.sites[node].scope.file
        if file not in self._scoped:
            self._scoped.add(file)
            self._scopes.update((scope.node, scope) for scope in file.scopes if scope.node is not None)
        return self._scopes[node]

    def mentions(self, near: ast.AST, word: str, *endings: str) -> bool:
        """Whether any Python file of the sub-project around ``near``, linted or not, holds ``word``; or any with one of
        ``endings``."""
        return self._tokens.mentions(self.sites[near].scope.file, word, *endings)

    def mentions_unread(self, near: ast.AST, word: str) -> bool:
        """Whether a Python file of the sub-project around ``near`` holds ``word`` that is not linted."""
        read = self.read_off("linted", lambda: frozenset(self.modules.keys[file] for file in self.files))
        return self._tokens.mentions(self.sites[near].scope.file, word, except_in=read)

    def are_near(self, one: ast.AST, other: ast.AST) -> bool:
        """Whether two nodes stand in the same sub-project."""
        return self._tokens.are_near(self.sites[one].scope.file, self.sites[other].scope.file)

    # --- calls and stores ---------------------------------------------------------------

    def calls(self, *qualified: str) -> Iterator[ast.Call]:
        """The calls of outside functions by their qualified names, such as ``torch.cuda.empty_cache``."""
        last = {name.rpartition(".")[2] for name in qualified}
        for file in self.files:
            names = last.union(*(file.renamed.get(name, ()) for name in last))
            found = (call for name in names for call in file.methods.get(name, ()))
            for call in sorted(found, key=span):
                callee = alternatives(self.symbolic(call.func))
                if any(isinstance(one, External) and one.name in qualified for one in callee):
                    yield call

    def method_calls(self, *methods: str) -> Iterator[ast.Call]:
        """The calls of ``anything.method(…)``, by file, in source order."""
        for file in self.files:
            found = (call for name in methods for call in file.methods.get(name, ()))
            yield from sorted((call for call in found if isinstance(call.func, ast.Attribute)), key=span)

    def attribute_stores(self, *attributes: str) -> Iterator[Store]:
        """The assignments to ``anything.attribute``, by file, in source order."""
        for file in self.files:
            found = (store for name in attributes for store in file.stores.get(name, ()))
            yield from sorted(found, key=lambda store: span(store.target))

    # --- values ------------------------------------------------------------------------

    def symbolic(self, expr: ast.expr | None) -> Value:
        """What ``expr`` stands for, parameters left open."""
        evaluate = None if expr is None else _EXPRESSIONS.get(type(expr))
        if expr is None or evaluate is None:
            return UNKNOWN
        return self.solver.done.get(expr) or self.solver.solve(expr, lambda: evaluate(self, expr))

    def value(self, expr: ast.expr | None) -> Value:
        """What ``expr`` stands for over all known callers; the empty union is unknown."""
        key = ("value", expr)
        found = self.solver.done.get(key) or self.solver.solve(key, lambda: self.resolve(self.symbolic(expr)))
        return UNKNOWN if isinstance(found, Nothing) else found

    def attribute(self, base: Value, name: str) -> Value:
        """``base.name``."""
        found: Value = _OPERATIONS["attribute"](self, base, name)
        return found

    def called(self, callee: Value, call: ast.Call) -> Value:
        """What ``call``, which calls ``callee``, returns."""
        found: Value = _OPERATIONS["called"](self, callee, call)
        return found

    def method_called(self, receiver: Value, name: str, call: ast.Call) -> Value:
        """``receiver.name(…)``."""
        found: Value = _OPERATIONS["method_called"](self, receiver, name, call)
        return found

    def iterated(self, base: Instance) -> Value:
        """What a loop over an object of a class of the program gives each time."""
        found: Value = _OPERATIONS["iterated"](self, base)
        return found

    def of_torch(self, operand: Value, call: Made) -> Value:
        """What a function of torch makes of its first operand, now that this is known."""
        found: Value = _OPERATIONS["of_torch"](self, operand, call)
        return found

    def _derived(self, base: Value, step: str, key: str | Value | ast.Call | None) -> Value:
        """A step that waited for its base, taken now."""
        found: Value = _OPERATIONS["derived"](self, base, step, key)
        return found

    def _passed_for(self, frame: Frame, parameter: Parameter) -> Value:
        found: Value = _OPERATIONS["passed_for"](self, frame, parameter)
        return found

    def _bind(self, parameter: Parameter) -> Value:
        """What a parameter may be over all known calls."""
        found: Value = _OPERATIONS["bind"](self, parameter)
        return found

    def _is_excluded(self, loader: Loader) -> bool:
        found: bool = _OPERATIONS["is_excluded"](self, loader)
        return found

    # --- parameters ---------------------------------------------------------------------

    def resolve(self, value: Value) -> Value:
        """``value`` with its parameters bound from all known calls."""
        return self.rewrite(value, self._bind_from_callers, None)

    def enter(self, value: Value, frame: Frame) -> Value:
        """``value``, found inside ``frame.scope``, as its caller sees it."""
        return self.rewrite(value, lambda p: self._passed_for(frame, p) if p.scope is frame.scope else p, frame)

    def through(self, value: Value, frames: Frames) -> Value:
        for frame in frames:
            value = self.enter(value, frame)
        return value

    def _bind_from_callers(self, parameter: Parameter) -> Value:
        return self.solver.solve(("parameter", parameter.param), lambda: self._bind(parameter))

    def rewrite(self, value: Value, bind: Bind, frame: Frame | None) -> Value:
        """``value`` with its parameters bound, and the same object if it holds none."""
        kind = type(value)
        if kind is Parameter:
            return bind(value)  # type: ignore[arg-type]
        if kind in _PLAIN or (frame is None and kind in _OBJECTS):
            return value
        match value:
            case Derived():
                return self._rederive(value, bind, frame)
            case OneOf():
                members = self._each(value.members, bind, frame)
                return value if members is value.members else union(members)
            case Made() | Instance():
                made = self._from_within(value, frame)
                if isinstance(made, Loader) and made is not value and self._is_excluded(made):
                    return NOTHING
                return made
            case Batch():
                loader = self._from_within(value.loader, frame)
                if loader is value.loader:
                    return value
                return NOTHING if self._is_excluded(loader) else replace(value, loader=loader)
            case Tensor():
                source = self.rewrite(value.source, bind, frame)
                return value if source is value.source else replace(value, source=source)
            case Wrapped():
                inner = self._each(value.inner, bind, frame)
                return value if inner is value.inner else replace(value, inner=inner)
            case _:
                return self._rewrite_rare(value, bind, frame)

    def _each(self, values: tuple[Value, ...], bind: Bind, frame: Frame | None) -> tuple[Value, ...]:
        found = tuple([self.rewrite(one, bind, frame) for one in values])
        return values if all(map(is_, found, values)) else found

    def _rewrite_rare(self, value: Value, bind: Bind, frame: Frame | None) -> Value:
        match value:
            case Generated():
                inner = self._each(value.inner, bind, frame)
                return Generated(self.rewrite(value.element, bind, frame), inner)
            case Collection():
                items = None if value.items is None else self._each(value.items, bind, frame)
                element = self.rewrite(value.element, bind, frame)
                same = items is value.items and element is value.element
                return value if same else replace(value, items=items, element=element)
            case Table():
                table = tuple((k, self.rewrite(v, bind, frame)) for k, v in value.items)
                return replace(value, items=table, rest=self.rewrite(value.rest, bind, frame))
            case Bound():
                return replace(value, receiver=self.rewrite(value.receiver, bind, frame))
            case Partial():
                return replace(value, func=self.rewrite(value.func, bind, frame))
            case Namespace() if not isinstance(value.parser, Made):
                return replace(value, parser=self.rewrite(value.parser, bind, frame))
            case Option():
                default = self.rewrite(value.default, bind, frame)
                return value if default is value.default else replace(value, default=default)
            case _:
                return value

    def _rederive(self, value: Derived, bind: Bind, frame: Frame | None) -> Value:
        base = value.base
        if value.step == "call" and isinstance(base, Derived) and base.step == "attr":
            receiver = self.rewrite(base.base, bind, frame)
            if receiver == base.base:
                return value
            made = self.method_called(receiver, str(base.key), _call_of(value))
            return made if made == value else self._again(made, bind, frame)
        found = self.rewrite(base, bind, frame)
        key = value.key
        if value.step in ("otherwise", "item", "laid") and isinstance(key, Value):
            key = self.rewrite(key, bind, frame)
        if found == base and key == value.key:
            return value
        made = self._derived(found, value.step, key)
        return self._again(made, bind, frame) if value.step == "call" or _is_open(made) else made

    def _again(self, value: Value, bind: Bind, frame: Frame | None) -> Value:
        """Bind what the arguments of a call brought in, that only now could be followed."""
        key = ("again", value, frame)
        return self.solver.solve(key, lambda: self.rewrite(value, bind, frame))

    def _from_within(self, value: _Object, frame: Frame | None) -> _Object:
        """Remember the call that brought an object out of a function, if its arguments may depend on it."""
        if frame is None or len(value.frames) >= LONGEST_CHAIN or value.call is None:
            return value
        at: Scope | None = self.sites[value.frames[-1].call if value.frames else value.call].scope
        while at is not None:
            if at is frame.scope or (at.kind == "class" and _constructs(frame, at)):
                return replace(value, frames=(*value.frames, frame))
            at = at.parent
        return value


def _is_open(value: Value) -> bool:
    """Whether a step came to something that other calls say more about."""
    if isinstance(value, OneOf):
        return any(map(_is_open, value.members))
    while isinstance(value, Derived):
        value = value.base
    return isinstance(value, Parameter)


def _constructs(frame: Frame, cls: Scope) -> bool:
    return frame.scope.name == "__init__" and frame.scope.parent is cls


def _call_of(value: Derived) -> ast.Call:
    assert isinstance(value.key, ast.Call)
    return value.key
