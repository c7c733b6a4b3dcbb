"""Why a value is not known: the place where it comes from outside the program, or where the program lost it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Literal

from dl_lint.flow import call_graph
from dl_lint.flow.interpreter import arguments, classes, configurations, names
from dl_lint.flow.reaching import reaching, visible_at_end
from dl_lint.flow.values import (
    ABSENT,
    Class,
    Collection,
    Derived,
    Function,
    Instance,
    Made,
    Module,
    Namespace,
    Option,
    Table,
    Unknown,
    Value,
    alternatives,
)
from dl_lint.source.syntax import called

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Binding, Scope, Site

FARTHEST = 12
"""Steps from an expression back to where its value was lost."""

MOST_BINDINGS = 2
"""Bindings of one name that are asked, the newest first: over 62 checkouts 8 told nothing that 2 did not, and took
twice the time where a name is bound anew all over a function."""

Reason = Literal[
    "left to the caller",
    "left to the user",
    "called at too many places",
    "chosen at run time",
    "a setting without a known origin",
    "a file is read",
    "an attribute that nothing sets",
    "an item of a container",
    "an import that is not found",
    "a name that nothing binds",
    "what a library returns",
    "what a library does",
    "iterated in its own way",
    "computed",
]

OPEN: frozenset[Reason] = frozenset({"left to the caller", "left to the user"})
"""What the program itself leaves open: nothing was overlooked."""

LOOKED_UP = frozenset({"getattr", "globals", "locals", "eval", "exec", "import_module", "__import__", "instantiate"})
"""Functions that find what they return by a name that may be anything."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value comes from that is not known, at ``node``; ``detail`` completes the reason."""

    reason: Reason
    detail: str
    node: ast.AST

    @property
    def is_open(self) -> bool:
        return self.reason in OPEN


def is_known(program: Program, value: Value) -> bool:
    """Whether something is known of a value in every way that leads to it."""
    found = alternatives(value)
    return bool(found) and not any(_is_lost(program, one) for one in found)


def _is_lost(program: Program, value: Value) -> bool:
    match value:
        case Unknown():
            return True
        case Option():
            return any(_is_lost(program, one) for one in alternatives(value.default))
        case Derived():
            return _is_setting(program, value)
        case _:
            return value == ABSENT


def origin(program: Program, expr: ast.AST | None) -> Origin | None:
    """The origin of what is not known of an expression; None where all of it is known."""
    if not isinstance(expr, ast.expr) or is_known(program, program.value(expr)):
        return None
    return _Search(program).of(expr)


class _Search:
    """The way back from one expression; a place that is met again tells nothing new."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._seen: set[ast.AST] = set()

    def of(self, expr: ast.expr) -> Origin | None:
        if expr in self._seen or len(self._seen) >= FARTHEST:
            return None
        self._seen.add(expr)
        return self._of(expr) or Origin("computed", quoted(expr), expr)

    def _of(self, expr: ast.expr) -> Origin | None:
        asked = [
            one
            for one in alternatives(self._program.value(expr))
            if isinstance(one, Option) and _is_lost(self._program, one)
        ]
        if asked:
            return Origin("left to the user", f"the {asked[0].source} gives no default", asked[0].node)
        match expr:
            case ast.Name():
                return self._name(expr)
            case ast.Call():
                return self._call(expr)
            case ast.Attribute():
                return self._attribute(expr)
            case ast.Subscript():
                return self._item(expr)
            case ast.IfExp(body=body, orelse=other):
                return self._first(body, other)
            case ast.BoolOp(values=values):
                return self._first(*values)
            case ast.BinOp(left=left, right=right):
                return self._first(left, right)
            case ast.Starred(value=inner) | ast.Await(value=inner) | ast.NamedExpr(value=inner):
                return self._first(inner)
            case _:
                return None

    def _first(self, *parts: ast.expr | None) -> Origin | None:
        """The origin of the first part that is not known."""
        for part in parts:
            if part is not None and not is_known(self._program, self._program.value(part)):
                found = self.of(part)
                if found is not None:
                    return found
        return None

    # --- names -------------------------------------------------------------------------

    def _name(self, expr: ast.Name) -> Origin | None:
        bindings = list(islice(_bindings(self._program, expr), MOST_BINDINGS))
        for binding in bindings:
            found = self._binding(binding)
            if found is not None:
                return found
        return None if bindings else Origin("a name that nothing binds", f"`{expr.id}`", expr)

    def _binding(self, binding: Binding) -> Origin | None:
        match binding.kind, binding.node:
            case "param", ast.arg() as node:
                return self._parameter(node, binding.site.scope)
            case (("import" | "from"), ast.ImportFrom() | ast.Import()):
                if is_known(self._program, names.bound_value(self._program, binding)):
                    return None
                named = f"{getattr(binding.node, 'module', None) or ''}.{binding.name}".lstrip(".")
                return Origin("an import that is not found", f"`{named}`", binding.node)
            case _:
                return self._first(binding.value)

    def _parameter(self, node: ast.arg, scope: Scope) -> Origin | None:
        frames = call_graph.all_callers(self._program, scope)
        if frames is None:
            return Origin("called at too many places", f"`{scope.name}`", node)
        frames = tuple(call_graph.uses(self._program, frames))
        if not frames:
            return Origin("left to the caller", f"nothing here calls `{scope.name}`", node)
        param = next(one for one in scope.params if one.node is node)
        for frame in frames:
            if is_known(self._program, self._program.resolve(arguments.bound(self._program, frame, param))):
                continue
            given = arguments.passed(self._program, frame, param.name).node
            passed = given.value if isinstance(given, ast.keyword | ast.Starred) else given
            found = self.of(passed) if isinstance(passed, ast.expr) and passed is not frame.call else None
            if found is not None:
                return found
        return None

    # --- calls -------------------------------------------------------------------------

    def _call(self, expr: ast.Call) -> Origin | None:
        name = called(expr)
        if name in LOOKED_UP:
            return Origin("chosen at run time", quoted(expr), expr)
        for one in alternatives(self._program.value(expr.func)):
            match one:
                case Function(scope=scope):
                    return self._returned(scope)
                case _ if _is_lost(self._program, one):
                    return self._callee(expr.func)
                case _:
                    continue
        entered = call_graph.entered(self._program, expr)
        return self._returned(entered[0]) if entered else self._first(*_receiver(expr), *expr.args[:1])

    def _callee(self, func: ast.expr) -> Origin | None:
        if isinstance(func, ast.Call | ast.Subscript):
            return Origin("chosen at run time", quoted(func), func)
        return self.of(func)

    def _returned(self, scope: Scope) -> Origin | None:
        if isinstance(scope.node, ast.Lambda):
            return self._first(scope.node.body)
        return self._first(*(one.value for one in (*scope.returns, *scope.yields)))

    # --- attributes and items ----------------------------------------------------------

    def _attribute(self, expr: ast.Attribute) -> Origin | None:
        base = self._program.value(expr.value)
        for one in alternatives(base):
            match one:
                case Instance(cls=cls) | Made(cls=Class() as cls):
                    return self._stored(cls, expr)
                case Namespace():
                    return Origin("a setting without a known origin", f"no option `{expr.attr}` is declared", expr)
                case Module():
                    return Origin("a name that nothing binds", quoted(expr), expr)
                case _ if _is_setting(self._program, one):
                    return self._setting(one, expr)
                case Derived():
                    return Origin("what a library returns", quoted(expr), expr)
                case _:
                    continue
        return self.of(expr.value)

    def _stored(self, cls: Class, expr: ast.Attribute) -> Origin | None:
        is_set = False
        for one in classes.lineage(self._program, cls):
            stores = classes.storing(self._program, one).get(expr.attr, ()) if isinstance(one, Class) else ()
            for method, key in stores:
                is_set = True
                for binding in visible_at_end(method, key).bindings:
                    found = self._binding(binding)
                    if found is not None:
                        return found
            body = one.scope.bindings.get(expr.attr, ()) if isinstance(one, Class) else ()
            for binding in body:
                is_set = True
                function = names.of_binding(self._program, binding)
                if isinstance(function, Function):
                    return self._returned(function.scope)
        if is_set:
            return None
        detail = f"no method of `{cls.scope.name}` stores `{expr.attr}`"
        return Origin("an attribute that nothing sets", detail, expr)

    def _setting(self, value: Value, expr: ast.expr) -> Origin:
        """Of a setting that no code and no file of the repository is known to make."""
        root = _root(value)
        if isinstance(root, Made) and configurations.is_read(self._program, root):
            return Origin("left to the user", f"{quoted(expr)} is of the file that `{root.name}` reads", expr)
        return Origin("a setting without a known origin", quoted(expr), expr)

    def _item(self, expr: ast.Subscript) -> Origin | None:
        base = self._program.value(expr.value)
        for one in alternatives(base):
            if _is_setting(self._program, one):
                return self._setting(one, expr)
        if not is_known(self._program, base):
            return self.of(expr.value)
        kinds = tuple(one for one in alternatives(base) if isinstance(one, Table | Collection))
        return Origin("an item of a container" if kinds else "what a library returns", quoted(expr), expr)


def _receiver(call: ast.Call) -> tuple[ast.expr, ...]:
    return (call.func.value,) if isinstance(call.func, ast.Attribute) else ()


def _root(value: Value) -> Value:
    while isinstance(value, Derived):
        value = value.base
    return value


def _is_setting(program: Program, value: Value) -> bool:
    return configurations.is_configuration(program, _root(value)) or (
        isinstance(value, Table) and isinstance(value.node, ast.Call)
    )


def _bindings(program: Program, expr: ast.Name) -> Iterator[Binding]:
    """What may give a name its value where it is read."""
    for scope, at in names.enclosing_scopes(program.site(expr)):
        found = _reaching(scope, expr.id, at)
        yield from found
        if found:
            return


def _reaching(scope: Scope, name: str, at: Site | None) -> tuple[Binding, ...]:
    return (visible_at_end(scope, name) if at is None else reaching(scope, name, at)).bindings


SHOWN = 60
"""Characters of an expression that a message quotes."""


def quoted(expr: ast.AST) -> str:
    """An expression as messages quote it, in one line."""
    text = " ".join(ast.unparse(expr).split())
    return f"`{text}`" if len(text) <= SHOWN else f"`{text[: SHOWN - 1]}…`"
