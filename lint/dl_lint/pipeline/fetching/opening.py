"""Files and connections that are opened anew for each sample, although all samples are in the same one."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from dl_lint.flow import call_graph, enclosing, guards, scopes
from dl_lint.flow.interpreter.classes import lineage
from dl_lint.flow.outcomes import truth, truth_of
from dl_lint.flow.values import Class, Const, Instance, Option, alternatives
from dl_lint.pipeline import datasets, loaders, workers
from dl_lint.pipeline.handles import what_opens
from dl_lint.source.syntax import called, children, dotted, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Scope
    from dl_lint.pipeline.datasets import DatasetClass


PURE = frozenset({"join", "str", "Path", "expanduser", "abspath", "format", "fspath", "with_suffix", "joinpath"})
"""Functions that make a path of their arguments alone."""

PLAIN = frozenset({"property", "staticmethod", "classmethod", "override", "no_grad"})
"""Decorators under which a function runs whenever it is called."""

DEEPEST = 3
"""Calls that a path is followed out of, and names from one to the next."""


@dataclass(frozen=True, slots=True)
class Opening:
    """``call`` opens ``what`` for each sample, and by nothing that tells samples apart."""

    call: ast.Call
    what: str


def openings(program: Program, dataset: DatasetClass) -> Iterator[Opening]:
    """The openings while a sample is fetched of what does not depend on the sample, under no condition but settings."""
    functions = tuple(f for f in datasets.fetching(program, dataset.cls) if f.name not in ("__iter__", "__next__"))
    own = {function for function, _ in workers.methods(program, dataset.cls)}
    fetching = _Fetching(program, dataset.cls, functions)
    for function in functions:
        if function.is_method and function not in own:
            continue  # of an object that is made for the sample
        for call, name in datasets.outside_calls(program, function):
            what = _costly(program, name)
            if what is not None and _reads_only(program, call) and not fetching.is_guarded(call, DEEPEST):
                given = call.args[:1] or [one.value for one in call.keywords if one.arg in ("name", "filename", "path")]
                if given and not fetching.differs(given[0], function, DEEPEST):
                    yield Opening(call, what)


def _costly(program: Program, name: str) -> str | None:
    """What opening takes longer than to read a sample, as a header, an index or the whole is read first."""
    if program.models.has(name, "Table"):
        return "a table"
    opened = what_opens(program, name)
    return None if opened == "a file" else opened


def _reads_only(program: Program, call: ast.Call) -> bool:
    mode = loaders.passed(program, call, "mode", "name", "mode")
    known = all(isinstance(one, Const) and str(one.value).startswith("r") for one in alternatives(mode.value))
    return not mode.given or known


def _may_be(program: Program, test: ast.expr, outcome: bool) -> bool:
    """Whether a test may have an outcome, options left at their defaults."""
    known = [one.default if isinstance(one, Option) else one for one in alternatives(program.value(test))]
    return {truth_of(one) for one in known} != {not outcome}


@dataclass(frozen=True, slots=True)
class _Fetching:
    """What a path is made of, and a place depends on, while objects of ``cls`` fetch a sample in ``functions``."""

    program: Program
    cls: Class
    functions: tuple[Scope, ...]

    def is_guarded(self, node: ast.AST, depth: int) -> bool:
        """Whether a place depends on a test, a handler or a cache, here or wherever its function is called."""
        program = self.program
        function = enclosing.function_of(program, node)
        blocks = tuple(enclosing.blocks(program, node))
        tests = [*enclosing.tests_around(program, node)]
        tests += (test for block in blocks for test in enclosing.jumps(program, block, node, "leave"))
        if (
            any(block.kind in ("except", "case", "try-else") for block in blocks)
            or any(isinstance(one, ast.BoolOp) for one in enclosing.ancestors(program, node))
            or not scopes.decorators(function) <= PLAIN
            or not all(self._lets_through(test, outcome, function) for test, outcome in tests)
        ):
            return True
        calling = [one.call for one in call_graph.callers(program, function)] if depth else []
        inside = [one for one in calling if enclosing.function_of(program, one) in self.functions]
        return bool(inside) and all(self.is_guarded(one, depth - 1) for one in inside)

    def _lets_through(self, test: ast.expr, outcome: bool, function: Scope) -> bool:
        """Whether a test has its outcome for all samples alike: always, or by a setting that may be so."""
        if self._is_setting(test, function):
            return guards.may_have(test, outcome, partial(_may_be, self.program))
        return truth(self.program, test) is outcome and function.receiver not in map(dotted, walk(test))

    def _is_setting(self, expr: ast.AST, function: Scope) -> bool:
        """Whether an expression is made of what the constructor has set, and nothing sets later."""
        match expr:
            case ast.Constant():
                return True
            case ast.Attribute(value=ast.Name(id=owner), attr=attribute) if owner == function.receiver:
                return self._is_set_once(attribute)
            case ast.Attribute(value=inner):
                return self._is_setting(inner, function)
            case ast.Compare() | ast.BoolOp() | ast.UnaryOp() | ast.Tuple() | ast.List() | ast.Set():
                return all(self._is_setting(one, function) for one in children(expr) if isinstance(one, ast.expr))
            case _:
                return False

    def _is_set_once(self, attribute: str) -> bool:
        building = set(workers.building(self.program, self.cls)).difference(self.functions)
        setting = {one.method for one in datasets.kept(self.program, self.cls) if one.attribute == attribute}
        return bool(setting) and setting <= building and not any(map(self._is_of, self._set_outside(attribute)))

    def _set_outside(self, attribute: str) -> Iterator[ast.expr]:
        """The objects that functions which are no methods of theirs set an attribute of."""
        for store in self.program.attribute_stores(attribute):
            if dotted(store.target.value) != store.site.scope.function.receiver:
                yield store.target.value

    def _is_of(self, expr: ast.expr) -> bool:
        """Whether an expression may be an object of the class."""
        lines = [lineage(self.program, one.cls) if isinstance(one, Instance) else () for one in
                 alternatives(self.program.value(expr))]  # fmt: skip
        return any(not line or self.cls in line or line[0] in lineage(self.program, self.cls) for line in lines)

    def differs(self, expr: ast.AST, function: Scope, depth: int) -> bool:
        """Whether an expression may be another for another sample; so it may where that is not known."""
        match expr:
            case ast.Constant():
                return False
            case ast.Name(id=name):
                return self._name_differs(name, function, depth)
            case ast.Attribute(value=ast.Name(id=owner), attr=attribute) if owner == function.receiver:
                return self._is_set_while_fetching(attribute, function)
            case ast.Call() if called(expr) not in PURE:
                return True
            case ast.Lambda() | ast.Await() | ast.Yield() | ast.NamedExpr():
                return True
            case _:
                return any(self.differs(one, function, depth) for one in children(expr))

    def _name_differs(self, name: str, function: Scope, depth: int) -> bool:
        bindings = function.bindings.get(name)
        if bindings is None:
            return function.parent is not None and function.parent.kind == "function"
        for one in bindings:
            if one.kind == "param":
                if name != function.receiver and (not depth or self._passed_differs(name, function, depth)):
                    return True
            elif one.kind != "assign" or one.value is None or not depth or self.differs(one.value, function, depth - 1):
                return True
        return False

    def _passed_differs(self, name: str, function: Scope, depth: int) -> bool:
        """Whether a call while a sample is fetched passes what differs for a parameter."""
        frames = call_graph.callers(self.program, function)
        inside = [one.call for one in frames if enclosing.function_of(self.program, one.call) in self.functions]
        for call in inside:
            given = loaders.passed(self.program, call, name, *function.positions)
            if given.given and self.differs(given.expr, enclosing.function_of(self.program, call), depth - 1):
                return True
        return not inside

    def _is_set_while_fetching(self, attribute: str, function: Scope) -> bool:
        """Whether an attribute is another for each sample, or not one of a dataset's."""
        if function.parent is None or Class(function.parent) not in lineage(self.program, self.cls):
            return True
        return any(
            kept.attribute == attribute and kept.method in self.functions
            for kept in datasets.kept(self.program, self.cls)
        )
