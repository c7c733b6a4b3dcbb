"""What expressions stand for: evaluated on demand, once, first with parameters left open, then bound from all callers.

``symbolic`` works within a function and through the functions that it calls; a parameter stays a ``Parameter``.
``value`` then replaces each by what all known calls of its function pass.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable
from dataclasses import replace
from operator import is_
from typing import TYPE_CHECKING, Any, TypeVar

from dl_lint.hints import NO_HINTS, Hints
from dl_lint.project import apply, attributes, callers, calls, excluded, expressions
from dl_lint.project.solver import Solver
from dl_lint.project.values import (
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
    union,
)

if TYPE_CHECKING:
    from dl_lint.project.modules import Files
    from dl_lint.project.scopes import FileIndex, Scope, Site
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


class Evaluator:
    """The values of one project's expressions."""

    def __init__(self, files: Files, linted: list[FileIndex], hints: Hints = NO_HINTS) -> None:
        self.files = files
        self.hints = hints
        self.linted = linted
        self.sites = files.sites
        self.parents = files.parents
        self.solver = Solver()
        self.callers = callers.Callers(self)
        self._scopes: dict[ast.AST, Scope] = {}
        self._scoped: set[FileIndex] = set()
        self._storing: dict[Class, dict[str, list[tuple[Scope, str]]]] = {}
        self._answers: dict[Hashable, Any] = {}

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

    def scope_of(self, node: FunctionDefinition | ast.ClassDef | ast.Lambda) -> Scope:
        """The scope that a definition opens."""
        file = self.sites[node].scope.file
        if file not in self._scoped:
            self._scoped.add(file)
            self._scopes.update((scope.node, scope) for scope in file.scopes if scope.node is not None)
        return self._scopes[node]

    def storing(self, cls: Class) -> dict[str, list[tuple[Scope, str]]]:
        """Which methods of ``cls`` store each attribute of self."""
        if cls not in self._storing:
            self._storing[cls] = attributes.storing(cls)
        return self._storing[cls]

    def site(self, node: ast.AST) -> Site:
        return self.sites[node]

    # --- values ------------------------------------------------------------------------

    def symbolic(self, expr: ast.expr | None) -> Value:
        """What ``expr`` stands for, parameters left open."""
        if expr is None:
            return UNKNOWN
        return self.solver.solve(expr, lambda: expressions.evaluate(self, expr))

    def value(self, expr: ast.expr | None) -> Value:
        """What ``expr`` stands for over all known callers; the empty union is unknown."""
        found = self.solver.solve(("value", expr), lambda: self.resolve(self.symbolic(expr)))
        return UNKNOWN if isinstance(found, Nothing) else found

    def resolve(self, value: Value) -> Value:
        """``value`` with its parameters bound from all known calls."""
        return self.rewrite(value, self._bind_from_callers, None)

    def enter(self, value: Value, frame: Frame) -> Value:
        """``value``, found inside ``frame.scope``, as its caller sees it."""
        return self.rewrite(value, lambda p: callers.argument(self, frame, p) if p.scope is frame.scope else p, frame)

    def through(self, value: Value, frames: Frames) -> Value:
        for frame in frames:
            value = self.enter(value, frame)
        return value

    def _bind_from_callers(self, parameter: Parameter) -> Value:
        return self.solver.solve(("parameter", parameter.param), lambda: self.callers.bind(parameter))

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
                if isinstance(made, Loader) and made is not value and excluded.is_excluded(self, made):
                    return NOTHING
                return made
            case Batch():
                loader = self._from_within(value.loader, frame)
                if loader is value.loader:
                    return value
                return NOTHING if excluded.is_excluded(self, loader) else replace(value, loader=loader)
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
                return replace(value, items=tuple((k, self.rewrite(v, bind, frame)) for k, v in value.items))
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
            made = calls.method(self, receiver, str(base.key), _call_of(value))
            return made if made == value else self._again(made, bind, frame)
        found = self.rewrite(base, bind, frame)
        key = value.key
        if value.step in ("otherwise", "item") and isinstance(key, Value):
            key = self.rewrite(key, bind, frame)
        if found == base and key == value.key:
            return value
        made = apply.step(self, found, value.step, key)
        return self._again(made, bind, frame) if value.step == "call" else made

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


def _constructs(frame: Frame, cls: Scope) -> bool:
    return frame.scope.name == "__init__" and frame.scope.parent is cls


def _call_of(value: Derived) -> ast.Call:
    assert isinstance(value.key, ast.Call)
    return value.key
