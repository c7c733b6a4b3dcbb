"""Copies to the host that the host does not wait for, and where it reads them too early."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dl_lint.flow import call_graph, enclosing, reaching
from dl_lint.flow.models import NO_MODEL
from dl_lint.flow.values import Batch, Bound, External, Function, Tensor, Value, alternatives
from dl_lint.source.positions import span
from dl_lint.source.syntax import Assignment, Display, called, dotted, targets
from dl_lint.transfers import copies

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.program import Program
    from dl_lint.flow.scopes import Binding, FileIndex, Scope, Site
    from dl_lint.transfers.copies import Transfer


Kind = Literal["tensor", "array", "container"]
"""What holds the copy: the tensor or a view of it, an array over its memory, or a list, tuple or dict of such."""

Use = Literal["read", "handed on"]

READING = ("Read", "Fresh", "Cast", "Writes")
"""What methods and functions give, as stubs say, that read the memory of a tensor on the spot."""

BLOCKING = frozenset({"item", "cpu", "tolist", "numpy", "nonzero"})
"""Methods of a tensor of the device that return once all work queued before is done."""

WAITING = ("synchronize", "sync", "wait", "query", "barrier", "join", "result")
"""Parts of the names of what waits for the device, or may."""

FILE_MARKS = frozenset({"synchronize", "wait_stream", "wait_event", "Event", "query", "current_stream", "Stream"})
"""Calls that show that a file knows of streams: what it hands on may be awaited by whoever reads it."""


@dataclass(frozen=True, slots=True)
class EarlyRead:
    """``copy`` may still be under way when ``read`` looks at its result."""

    copy: ast.Call
    read: ast.AST


def early_reads(program: Program) -> Iterator[EarlyRead]:
    """Every asynchronous copy to the host that its own function reads without waiting."""
    for move in copies.transfers(program):
        if move.asynchronous is not True:
            continue
        if move.method == "to" and move.destination == "cpu" and not _on_host(move.receiver):
            read = _Trail(program, move.call).from_expression(move.call)
        elif move.method == "copy_" and _is_pinned(move.receiver) and _from_device(program, move):
            read = _Trail(program, move.call).from_buffer(move.receiver_expr)
        else:
            continue
        if read is not None:
            yield EarlyRead(move.call, read)


def _on_host(value: Value) -> bool:
    return any(
        isinstance(one, Batch) or (isinstance(one, Tensor) and one.placement in ("pinned", "pageable", "cpu", "host"))
        for one in alternatives(value)
    )


def _is_pinned(value: Value) -> bool:
    found = alternatives(value)
    return bool(found) and all(isinstance(one, Tensor) and one.placement == "pinned" for one in found)


def _from_device(program: Program, move: Transfer) -> bool:
    """Whether ``host.copy_(source)`` may copy from the device. A plain copy within the host is done when it returns."""
    return bool(move.call.args) and not _on_host(program.value(move.call.args[0]))


class _Trail:
    """Where the result of one copy goes within its function."""

    def __init__(self, program: Program, copy: ast.Call) -> None:
        self.program = program
        self.copy = copy
        self.site = program.sites[copy]
        self.scope = self.site.scope.function
        self.chain = {copy, *enclosing.ancestors(program, copy)}
        self.seen: set[tuple[str, Kind]] = set()

    def from_expression(self, expr: ast.expr) -> ast.AST | None:
        return self._first(self._uses(expr, "tensor"))

    def from_buffer(self, buffer: ast.expr) -> ast.AST | None:
        name = dotted(buffer)
        return self._first(self._held(name, "tensor", self.site)) if name is not None else None

    def _first(self, uses: Iterator[tuple[ast.AST, Use]]) -> ast.AST | None:
        found = [node for node, use in uses if self._too_early(node, use)]
        return min(found, key=span, default=None)

    # --- where it goes -----------------------------------------------------------------

    def _uses(self, expr: ast.AST, kind: Kind) -> Iterator[tuple[ast.AST, Use]]:
        """What becomes of ``expr``, which holds the copy: follow the expressions around it, then the names."""
        above = self.program.parents.get(expr)
        match above:
            case ast.Attribute(value=value) if value is expr:
                yield from self._attribute(above, kind)
            case ast.Subscript(value=value) if value is expr:
                yield from self._uses(above, "tensor" if kind == "container" else kind)
            case ast.BinOp() | ast.AugAssign() | ast.JoinedStr() if kind != "container":
                yield above, "read"
            case ast.Compare() if kind != "container" and not _is_identity(above):
                yield above, "read"
            case ast.UnaryOp() | ast.If() | ast.While() | ast.Assert() if kind != "container":
                yield above, "read"
            case ast.IfExp() if above.test is not expr:
                yield from self._uses(above, kind)
            case ast.keyword() | ast.Starred() | ast.NamedExpr():
                yield from self._uses(above, kind)
            case (
                ast.Tuple()
                | ast.List()
                | ast.Set()
                | ast.Dict()
                | ast.ListComp()
                | ast.SetComp()
                | ast.DictComp()
                | ast.GeneratorExp()
            ):
                yield from self._gathered(above, expr, kind)
            case ast.comprehension() | ast.For() | ast.AsyncFor() if above.iter is expr:
                yield from self._targets(above.target, "tensor" if kind == "container" else kind)
            case ast.Call() if expr is not above.func:
                yield from self._argument(above, kind)
            case ast.Assign() | ast.AnnAssign():
                yield from self._assigned(above, kind)
            case ast.Return() | ast.Yield() | ast.YieldFrom() if kind == "array":
                yield above, "handed on"
            case _:
                return

    def _attribute(self, node: ast.Attribute, kind: Kind) -> Iterator[tuple[ast.AST, Use]]:
        call = self.program.parents.get(node)
        model = self.program.models.get(f"torch.Tensor.{node.attr}")
        if not isinstance(call, ast.Call) or call.func is not node:
            if model.has("View") and kind != "container":
                yield from self._uses(node, kind)
        elif kind == "container":
            if node.attr in ("values", "items", "copy", "get", "pop"):
                yield from self._uses(call, "container" if node.attr != "get" else "tensor")
        elif model.has("View"):
            yield from self._uses(call, kind)
        elif kind == "tensor" and model.has("Array"):
            yield from self._uses(call, "array")
        elif kind == "array" or model.has(*READING):
            yield call, "read"

    def _gathered(self, above: ast.AST, expr: ast.AST, kind: Kind) -> Iterator[tuple[ast.AST, Use]]:
        """A display or comprehension around ``expr``; ``a, b = x, y`` binds the name that stands where it does."""
        outer = self.program.parents.get(above)
        if isinstance(above, Display) and isinstance(outer, ast.Assign) and len(outer.targets) == 1:
            target = outer.targets[0]
            if isinstance(target, Display) and len(target.elts) == len(above.elts):
                [bound] = [to for to, given in zip(target.elts, above.elts, strict=True) if given is expr]
                yield from self._targets(bound, kind)
                return
        yield from self._uses(above, "container")

    def _assigned(self, stmt: Assignment, kind: Kind) -> Iterator[tuple[ast.AST, Use]]:
        for target in targets(stmt):
            if isinstance(target, ast.Subscript) and kind != "container":
                if _is_slice(target.slice):
                    yield stmt, "read"
                elif kind == "array":
                    yield stmt, "handed on"
            else:
                yield from self._targets(target, kind)

    def _targets(self, target: ast.expr, kind: Kind) -> Iterator[tuple[ast.AST, Use]]:
        if isinstance(target, Display):
            for item in target.elts if kind == "container" else ():
                yield from self._targets(item, "tensor")
            return
        name = dotted(target)
        if name is not None:
            yield from self._held(name, kind, self.program.sites[target], bound=True)

    def _argument(self, call: ast.Call, kind: Kind) -> Iterator[tuple[ast.AST, Use]]:
        """``expr`` is passed to a call."""
        func = call.func
        if isinstance(func, ast.Attribute) and func.attr in ("append", "extend", "add", "insert", "appendleft"):
            name = dotted(func.value)
            if name is not None:
                yield from self._held(name, "container", self.program.sites[call])
            return
        for one in alternatives(self.program.value(func)):
            if isinstance(one, External):
                package, _, last = one.name.rpartition(".")
                model = self.program.models.get(one.name)
                if package == "builtins" and last in ("list", "tuple", "reversed", "enumerate", "zip", "iter", "dict"):
                    yield from self._uses(call, "container")
                elif model.has("View") and kind != "container":
                    yield from self._uses(call, "array" if package == "numpy" else "tensor")
                elif model.has(*READING) and not (package == "builtins" and kind == "container"):
                    yield call, "read"
                elif package != "builtins" and model == NO_MODEL:
                    continue
                return
        if kind == "array":
            yield call, "handed on"

    def _held(self, name: str, kind: Kind, since: Site, bound: bool = False) -> Iterator[tuple[ast.AST, Use]]:
        """The uses of a name that holds the copy since ``since``: it is ``bound`` to it there, or takes it in."""
        if (name, kind) in self.seen:
            return
        self.seen.add((name, kind))
        first, _, rest = name.partition(".")
        holding = None if bound else frozenset(reaching.reaching(since.scope, name, since).bindings)
        for scope in _with_comprehensions(self.scope):
            for load in scope.loads.get(first, ()):
                node: ast.AST | None = load
                for attr in rest.split(".") if rest else ():
                    node = self.program.parents.get(node) if node is not None else None
                    node = node if isinstance(node, ast.Attribute) and node.attr == attr else None
                if node is not None and self._still_holds(name, load, since, holding):
                    yield from self._uses(node, kind)

    def _still_holds(self, name: str, load: ast.Name, since: Site, holding: frozenset[Binding] | None) -> bool:
        """Whether ``name`` may hold at ``load`` what it was given at ``since``, in the same pass of every loop."""
        at = self.program.sites[load]
        if at.scope is since.scope and at.scope.kind == "comprehension":
            return True
        while at.scope is not since.scope and at.scope.kind == "comprehension" and at.scope.site is not None:
            at = at.scope.site
        if at.scope is not since.scope or at.order <= since.order or reaching.reached_by(since, at) == "never":
            return False
        now = reaching.reaching(at.scope, name, at).bindings
        if holding is None:
            return any(one.site.order == since.order + 1 for one in now)
        return not holding.isdisjoint(now) or not (holding or now)

    # --- whether somebody waits ----------------------------------------------------------

    def _too_early(self, node: ast.AST, use: Use) -> bool:
        if use == "handed on" and _knows_streams(self.scope.file):
            return False
        mine = self.chain | {node, *enclosing.ancestors(self.program, node)}
        read = self.program.sites[node]
        for scope in _with_comprehensions(self.scope):
            for call in scope.calls:
                site = self.program.sites[call]
                if self.site.order <= site.order <= read.order and self._waits(call, call in mine):
                    return False
        return True

    def _waits(self, call: ast.Call, mine: bool) -> bool:
        """Whether the host, once ``call`` returns, may have waited for the copy."""
        func, last = call.func, called(call)
        if any(part in last.lower() for part in WAITING):
            return True
        if isinstance(func, ast.Attribute):
            return not mine and (self._blocks(call, func) or self._waits_inside(func))
        if last in ("float", "int", "bool"):
            return not mine and bool(call.args) and not isinstance(call.args[0], ast.Constant)
        return self._waits_inside(func)

    def _blocks(self, call: ast.Call, func: ast.Attribute) -> bool:
        """Whether ``call`` copies something else from the device and waits for that: the stream is in order."""
        if func.attr != "to" and func.attr not in BLOCKING:
            return False
        move = copies.transfer(self.program, call, func)
        back = func.attr != "to" or (move.destination == "cpu" and move.asynchronous is False)
        return back and not _on_host(move.receiver)

    def _waits_inside(self, func: ast.expr) -> bool:
        """Whether a function of the project waits, or one that it calls."""
        found = (one.function if isinstance(one, Bound) else one for one in alternatives(self.program.value(func)))
        roots = tuple(one.scope for one in found if isinstance(one, Function))
        return any(
            called(inner) in WAITING or called(inner) in BLOCKING
            for scope in call_graph.reachable(self.program, *roots)
            for inner in scope.calls
        )


def _is_identity(test: ast.Compare) -> bool:
    """Whether a comparison has ``is``, which reads no value."""
    return any(isinstance(op, ast.Is | ast.IsNot) for op in test.ops)


def _is_slice(index: ast.expr) -> bool:
    return isinstance(index, ast.Slice) or (isinstance(index, Display) and any(map(_is_slice, index.elts)))


def _with_comprehensions(scope: Scope) -> Iterator[Scope]:
    yield scope
    for inner in scope.children:
        if inner.kind == "comprehension":
            yield from _with_comprehensions(inner)


def _knows_streams(file: FileIndex) -> bool:
    return any(file.methods.get(name) for name in FILE_MARKS)
