"""Escape analysis: where an object goes that no loop or loader is known to take, and where it is lost sight of."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.flow import call_graph, enclosing
from dl_lint.flow.interpreter import classes
from dl_lint.flow.interpreter.library_calls import WRAPPED
from dl_lint.flow.provenance import Origin, quoted
from dl_lint.flow.values import Class, External, Made, alternatives
from dl_lint.source.syntax import called, targets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.scopes import Scope
    from dl_lint.flow.values import Value
    from dl_lint.project import Project

FARTHEST = 24
"""Expressions that one object is followed through."""

_CARRIERS = (
    ast.Tuple, ast.List, ast.Set, ast.Dict, ast.Starred, ast.IfExp, ast.BoolOp, ast.keyword, ast.NamedExpr, ast.Await,
    ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp,
)  # fmt: skip
"""What hands an object on that stands in it."""


def of_loader(project: Project, call: ast.Call) -> Origin:
    """Where the loader made at ``call`` leaves what can be followed."""
    return _outcome(_Escape(project).of(call), Origin("left to the caller", "nothing here iterates it", call))


def of_class(project: Project, cls: Class) -> Origin:
    """Where the objects of a dataset class leave what can be followed."""
    node = cls.scope.node
    assert node is not None
    kinds = (cls, *classes.subclasses(project, cls))
    calls = [
        call
        for one in kinds
        for call in project.modules.calls.get(one.scope.name, ())
        if one in alternatives(project.value(call.func))
    ]
    found = [one for call in calls for one in _Escape(project).of(call)]
    return _outcome(iter(found), Origin("left to the caller", f"nothing here makes a `{cls.scope.name}`", node))


def _outcome(found: Iterator[Origin], otherwise: Origin) -> Origin:
    """What was lost, rather than what is open."""
    left = list(found)
    return next((one for one in left if not one.is_open), left[0] if left else otherwise)


Items = tuple[int, ...]
"""The way to an item of tuples in each other."""


class _Escape:
    """The ways of one object; an expression that is met again tells nothing new."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._seen: set[tuple[ast.AST, Items]] = set()

    def of(self, node: ast.AST, path: Items = ()) -> Iterator[Origin]:
        """Where what ``node`` stands for goes, or the item of it that ``path`` leads to."""
        if (node, path) in self._seen or len(self._seen) >= FARTHEST:
            return
        self._seen.add((node, path))
        child, above = node, self._project.parent(node)
        while isinstance(above, _CARRIERS):
            if isinstance(above, ast.Tuple | ast.List) and child in above.elts:
                path = (above.elts.index(child), *path)
            child, above = above, self._project.parent(above)
        match above:
            case ast.Return() | ast.Lambda() | ast.Yield() | ast.YieldFrom():
                yield from self._returned(child, path)
            case ast.Assign() | ast.AnnAssign():
                for target in targets(above):
                    yield from self._bound(target, path)
            case ast.Call() if child is not above.func:
                yield from self._passed(above, node, path)
            case ast.For(iter=over) | ast.AsyncFor(iter=over) | ast.comprehension(iter=over) if over is child:
                yield Origin("iterated in its own way", quoted(over), over)
            case ast.Subscript(value=held, slice=index) if held is child:
                if not path or not isinstance(index, ast.Constant) or index.value in (path[0], None):
                    yield from self.of(above, path[1:])
            case ast.withitem(optional_vars=ast.Name() as name):
                yield from self._named(name.id, self._project.site(name).scope, path)
            case _:
                return

    def _returned(self, node: ast.AST, path: Items) -> Iterator[Origin]:
        scope = enclosing.function_of(self._project, node)
        frames = call_graph.all_callers(self._project, scope)
        if frames is None:
            yield Origin("called at too many places", f"`{scope.name}`", node)
        elif not frames:
            yield Origin("left to the caller", f"nothing here calls `{scope.name}`", scope.node or node)
        for frame in frames or ():
            yield from self.of(frame.call, path)

    def _bound(self, target: ast.expr, path: Items) -> Iterator[Origin]:
        match target:
            case ast.Name() as name:
                yield from self._named(name.id, self._project.site(name).scope, path)
            case ast.Attribute(value=ast.Name(id=owner), attr=attr) as kept:
                yield from self._kept(owner, attr, kept, path)
            case ast.Subscript(value=held):
                yield from self._bound(held, ())
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                is_apart = path and not any(isinstance(one, ast.Starred) for one in parts)
                for part in parts[path[0] : path[0] + 1] if is_apart else parts:
                    yield from self._bound(part, path[1:])
            case ast.Starred(value=inner):
                yield from self._bound(inner, ())
            case _:
                return

    def _named(self, name: str, scope: Scope, path: Items) -> Iterator[Origin]:
        for inner in classes.with_inner(scope):
            for load in inner.loads.get(name, ()):
                yield from self.of(load, path)

    def _kept(self, owner: str, attr: str, node: ast.AST, path: Items) -> Iterator[Origin]:
        """What becomes of ``self.attr``: the reads in the class and in those below it."""
        scope = enclosing.function_of(self._project, node)
        if owner != scope.receiver or scope.parent is None:
            yield from self._reads([scope], owner, attr, path)
            return
        cls = Class(scope.parent)
        kinds = (cls, *classes.subclasses(self._project, cls))
        methods = [method for one in kinds for method in classes.methods(one)]
        found = list(self._reads(methods, None, attr, path))
        yield from found
        if not found:
            yield Origin("left to the caller", f"kept as `{owner}.{attr}`", node)

    def _reads(self, functions: list[Scope], owner: str | None, attr: str, path: Items) -> Iterator[Origin]:
        for function in functions:
            for scope in classes.with_inner(function):
                for load in scope.loads.get(owner or function.receiver or "", ()):
                    above = self._project.parent(load)
                    if isinstance(above, ast.Attribute) and above.attr == attr and isinstance(above.ctx, ast.Load):
                        yield from self.of(above, path)

    def _passed(self, call: ast.Call, node: ast.AST, path: Items) -> Iterator[Origin]:
        if self._project.models.is_method(
            called(call), "Prepared", "Same"
        ):  # gives back what it is given, several as a tuple
            at = next((at for at, arg in enumerate(call.args) if _holds(arg, node)), 0)
            yield from self.of(call, (at, *path) if len(call.args) > 1 else path)
            return
        entered = call_graph.entered(self._project, call)
        callee = alternatives(self._project.value(call.func))
        for one in callee:
            init = classes.of_class(self._project, one, "__init__") if isinstance(one, Class) else None
            scope = getattr(init, "scope", None)
            entered = (*entered, scope) if scope is not None else entered
        for scope in entered:
            for name in self._parameters(scope, call, node):
                yield from self._named(name, scope, path)
        outside = [said for one in callee if (said := _outside(one)) is not None]
        if outside and self._project.models.has(outside[0], *WRAPPED):
            yield from self.of(call)
            return
        if not entered and outside:
            if not outside[0].startswith("builtins."):
                yield Origin("what a library does", f"`{outside[0]}` is given it", call)
        elif not entered:
            yield Origin("chosen at run time", f"{quoted(call.func)} is given it", call)

    def _parameters(self, scope: Scope, call: ast.Call, node: ast.AST) -> Iterator[str]:
        """The parameters that a call gives an object to."""
        positions = scope.positions
        for at, argument in enumerate(call.args):
            if _holds(argument, node):
                yield from positions[at : at + 1]
        for keyword in call.keywords:
            if keyword.arg is not None and _holds(keyword.value, node):
                yield keyword.arg


def _holds(expr: ast.AST, node: ast.AST) -> bool:
    return any(one is node for one in ast.walk(expr))


def _outside(value: Value) -> str | None:
    """The name of what a library has, or of a method of what it made."""
    match value:
        case External(name=name):
            return name
        case Made(name=name):
            return name
        case _:
            base = getattr(value, "base", None)
            return None if base is None else _outside(base)
