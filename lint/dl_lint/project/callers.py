"""Who calls a function of the project, and what its parameters therefore are."""

from __future__ import annotations

import ast
from collections import defaultdict
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePath
from typing import TYPE_CHECKING

from dl_lint.project import arguments, attributes, inherited
from dl_lint.project.values import (
    UNKNOWN,
    Bound,
    Class,
    Collection,
    Frame,
    Function,
    Instance,
    Number,
    Option,
    Parameter,
    Partial,
    Value,
    alternatives,
    union,
)
from dl_lint.source.syntax import Assignment, FunctionDefinition, called, dotted

if TYPE_CHECKING:
    from dl_lint.project.evaluate import Evaluator
    from dl_lint.project.scopes import Binding, Scope

MOST_CALLS = 16
"""Calls of one function that its parameters are bound from; a function with more is taken for a general one."""

MOST_CANDIDATES = 300
"""Calls by one name that are looked at; names such as ``get`` and ``forward`` tell nothing."""

SPAWNERS = {"spawn": 1, "start_processes": 1, "Process": 0, "Thread": 0, "elastic_launch": 0}
"""Functions that call one of their arguments with ``args``, after so many arguments of their own (the rank)."""


@dataclass(frozen=True, slots=True)
class _Callers(Value):
    """The known calls of one function as a fact to be solved for; None if there are too many to tell."""

    frames: tuple[Frame, ...] | None


def is_test(path: str) -> bool:
    """Whether a file belongs to a test suite; ``test.py`` of a research project evaluates a model."""
    *folders, name = path.split("/")
    return not {"test", "tests"}.isdisjoint(folders) or name.startswith("test_") or name == "conftest.py"


class Callers:
    """The call sites of each function, found by name and confirmed by value."""

    def __init__(self, ev: Evaluator) -> None:
        self.ev = ev
        self._names: dict[str, set[str]] | None = None
        self._below: dict[Class, list[Class]] | None = None

    # --- who calls ---------------------------------------------------------------------

    def of(self, scope: Scope) -> tuple[Frame, ...] | None:
        """All known calls of a function; None if there are too many to tell."""
        found = self._solved(scope)
        return found.frames if isinstance(found, _Callers) else ()

    def _solved(self, scope: Scope) -> Value:
        """The callers, or nothing while they are being looked for."""
        return self.ev.solver.solve(("callers", scope), lambda: self._find(scope))

    def _find(self, scope: Scope) -> Value:
        if scope.name == "__call__":
            return _Callers(None)
        likely = (call for call in self._candidates(scope) if self._may_call(call, scope))
        candidates = list(islice(likely, MOST_CANDIDATES + 1))
        if len(candidates) > MOST_CANDIDATES:
            return _Callers(None)
        found: list[Frame] = []
        for call in candidates:
            if self._calls(call, scope) and not self._is_replaced(call, scope):
                found.append(Frame(scope, call))
                if len(found) > MOST_CALLS:
                    return _Callers(None)
        return _Callers(tuple(found))

    def _candidates(self, scope: Scope) -> list[ast.Call]:
        names = {scope.name}
        if scope.name == "__init__" and scope.parent is not None:
            names |= {scope.parent.name, "cls"} | {sub.scope.name for sub in self.subclasses(Class(scope.parent))}
        names |= {alias for name in names for alias in self._aliases().get(name, ())}
        names |= SPAWNERS.keys()
        return [call for name in names for call in self.ev.files.calls.get(name, ())]

    def _aliases(self) -> dict[str, set[str]]:
        """The other names that imports and assignments give to a name."""
        if self._names is None:
            names: defaultdict[str, set[str]] = defaultdict(set)
            self._names = names
            for file in self.ev.linted:
                for name, others in file.renamed.items():
                    names[name] |= others
                for scope in file.scopes:
                    for name, bindings in scope.bindings.items():
                        for binding in bindings:
                            node = binding.node
                            if isinstance(node, Assignment) and isinstance(node.value, ast.Name | ast.Attribute):
                                names[(dotted(node.value) or "").rpartition(".")[2]].add(name.rpartition(".")[2])
        return self._names

    def _calls(self, call: ast.Call, scope: Scope) -> bool:
        target = _entered(call, scope)
        found = self._values(target) if target is not None else ()
        return any(_is(one, scope) or self._constructs(one, scope) for one in found)

    def _is_replaced(self, call: ast.Call, scope: Scope) -> bool:
        """Whether a base calls ``self.step()`` in a method that objects with ``scope`` for a step have not: their class
        defines that method anew."""
        outer = self.ev.sites[call].scope.function
        own = outer.params[0].name if outer.is_method and outer.params else None
        if not isinstance(call.func, ast.Attribute) or own is None or dotted(call.func.value) != own:
            return False
        if scope.parent is None or outer.parent is None or scope.parent is outer.parent or not scope.is_method:
            return False
        cls = Class(scope.parent)
        above = Class(outer.parent) in attributes.lineage(self.ev, cls)
        return above and outer not in inherited.in_effect(self.ev, cls)

    def _may_call(self, call: ast.Call, scope: Scope) -> bool:
        target = _entered(call, scope)
        return target is not None and self._may_be(target, scope)

    def _may_be(self, func: ast.expr, scope: Scope) -> bool:
        """Whether ``func`` is worth evaluating in search of ``scope``: often a file would have to be read for it."""
        if scope.is_method and scope.name != "__init__" and isinstance(func, ast.Name) and func.id == scope.name:
            return False
        root = func
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name):
            return scope.is_method
        at: Scope | None = self.ev.sites[root].scope
        outer = scope.parent
        if outer is not None and outer.kind == "function" and at is not None and at.file is not scope.file:
            return False
        bindings: list[Binding] = []
        while at is not None:
            bindings.extend(at.bindings.get(root.id, ()))
            at = at.parent
        if not bindings:
            return "*" in self.ev.sites[root].scope.file.module.bindings
        return scope.is_method or any(_may_bind(one, scope, isinstance(func, ast.Name)) for one in bindings)

    def _values(self, expr: ast.expr) -> tuple[Value, ...]:
        return alternatives(self.ev.value(expr))

    def _constructs(self, value: Value, scope: Scope) -> bool:
        if not isinstance(value, Class) or scope.name != "__init__":
            return False
        init = attributes.of_class(self.ev, value, "__init__")
        return isinstance(init, Function) and init.scope is scope

    # --- what they pass ----------------------------------------------------------------

    def bind(self, parameter: Parameter) -> Value:
        """What a parameter may be over all known calls."""
        callers = self._solved(parameter.scope)
        if not isinstance(callers, _Callers):
            return callers
        frames = callers.frames
        if frames is None:
            return UNKNOWN
        shown = [frame for frame in frames if self._is_use(frame)]
        if shown:
            return union(self.ev.resolve(argument(self.ev, frame, parameter)) for frame in shown)
        return self._uncalled(parameter) if not frames else UNKNOWN

    def _is_use(self, frame: Frame) -> bool:
        """Whether a call says what a function is given in use: tests call with small values of their own."""
        sites = self.ev.sites
        return not is_test(sites[frame.call].scope.file.path) or is_test(frame.scope.file.path)

    def _uncalled(self, parameter: Parameter) -> Value:
        """A parameter of a function that nobody in the project calls."""
        option = self._click_option(parameter)
        if option is not None:
            return option
        param = parameter.param
        if param.node.annotation is not None:
            for one in alternatives(self.ev.symbolic(param.node.annotation)):
                if isinstance(one, Class) and not attributes.external_bases(self.ev, one):
                    return Instance(one)
        if param.default is None:
            return UNKNOWN
        return Option(self.ev.symbolic(param.default), "parameter", param.node)

    def _click_option(self, parameter: Parameter) -> Value | None:
        node = parameter.scope.node
        for decorator in node.decorator_list if isinstance(node, FunctionDefinition) else ():
            if isinstance(decorator, ast.Call) and (dotted(decorator.func) or "").endswith("option"):
                names = [
                    str(a.value) for a in decorator.args if isinstance(a, ast.Constant) and isinstance(a.value, str)
                ]
                plain = {name.lstrip("-").replace("-", "_") for name in names}
                if parameter.param.name in plain:
                    default = arguments.given(self.ev, decorator, (), "default").symbolic
                    return Option(apply_absent(default), "command line", decorator)
        return None

    # --- classes -----------------------------------------------------------------------

    def subclasses(self, cls: Class) -> tuple[Class, ...]:
        """The classes of the linted files that derive from ``cls``, at any depth."""
        if self._below is None:
            below: defaultdict[Class, list[Class]] = defaultdict(list)
            self._below = below
            for file in self.ev.linted:
                for scope in file.scopes:
                    if scope.kind == "class":
                        one = Class(scope)
                        for base in attributes.lineage(self.ev, one)[1:]:
                            if isinstance(base, Class):
                                below[base].append(one)
        return tuple(self._below.get(cls, ()))


def apply_absent(value: Value) -> Value:
    from dl_lint.project.values import Absent

    return UNKNOWN if isinstance(value, Absent) else value


def _is(value: Value, scope: Scope) -> bool:
    match value:
        case Function():
            return value.scope is scope
        case Bound():
            return value.function.scope is scope
        case Partial():
            return _is(value.func, scope)
        case _:
            return False


def _entered(call: ast.Call, scope: Scope) -> ast.expr | None:
    """The expression that a call enters, if it enters ``scope``: what it calls, or what it spawns."""
    if called(call) not in SPAWNERS or scope.name in SPAWNERS:
        return call.func
    for keyword in call.keywords:
        if keyword.arg in ("target", "fn"):
            return keyword.value
    return call.args[0] if call.args else None


def _is_last(module: str, scope: Scope) -> bool:
    """Whether the file of ``scope``, or a folder on the way to it, has the name of a module."""
    return module.rpartition(".")[2] in PurePath(scope.file.path).with_suffix("").parts


def _may_bind(binding: Binding, scope: Scope, plain: bool) -> bool:
    """Whether a binding may give its name the function ``scope``, or (not ``plain``) a module that holds it."""
    match binding.node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return plain and binding.node is scope.node
        case ast.ImportFrom(module=module) if binding.alias is not None:
            return not module or _is_last(module, scope) or _is_last(binding.alias.name, scope)
        case ast.Import() if binding.alias is not None:
            return _is_last(binding.alias.name, scope)
        case _:
            return True


def argument(ev: Evaluator, frame: Frame, parameter: Parameter) -> Value:
    """What one call passes for a parameter."""
    last = called(frame.call)
    if last in SPAWNERS and frame.scope.name != last:
        return _spawned(ev, frame, parameter, SPAWNERS[last])
    return arguments.bound(ev, frame, parameter.param)


def _spawned(ev: Evaluator, frame: Frame, parameter: Parameter, own: int) -> Value:
    params = [p for p in frame.scope.params if p.kind in ("plain", "positional")]
    if frame.scope.is_method:
        params = params[1:]
    if parameter.param not in params:
        return UNKNOWN
    at = params.index(parameter.param)
    if at < own:
        return Number()
    given = arguments.given(ev, frame.call, ("fn", "args"), "args").symbolic
    if isinstance(given, Collection) and given.items is not None and at - own < len(given.items):
        return given.items[at - own]
    return UNKNOWN
