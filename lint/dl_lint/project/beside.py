"""What stands beside a copy to the device that makes the host wait whether or not that copy does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import tensors, transfers
from dl_lint.project.syntax import children, dotted
from dl_lint.project.values import Batch, Collection, External, Tensor, alternatives

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.model import Project

READS = frozenset({"item", "tolist", "cpu", "numpy"})
"""Methods that hand the host what a tensor of the device holds."""

_CHEAP = frozenset({"size", "dim", "numel", "len", "zero_grad", "index", "append", "time", "perf_counter"})
"""Calls that are done before a copy has got anywhere."""

_TRUTHS = frozenset({"any", "all", "equal", "allclose", "isnan", "isinf", "isfinite"})
"""Functions and methods whose result the host needs to decide."""

_MOVES = frozenset({"to", "cuda"})

_FROM_DATA = frozenset(f"torch.{name}" for name in tensors.FROM_DATA)

_HOST = frozenset({"cpu", "pageable", "pinned"})

_COMPUTED = tensors.VIEWS | tensors.COPIES


def is_waited_for(project: Project, call: t.Call) -> bool:
    """Whether the host waits soon after a copy in any case.

    That is for a synchronise with nothing but assignments before it, or, with only what is done at once before it, for
    a copy of pageable memory or for a value that was copied.
    """
    stmt: t.Node | None = project.statement_of(call)
    if any(_blocks(project, other) for other in _simple(stmt) if other.at > call.at):
        return True
    names = _assigned(stmt) if isinstance(stmt, t.Stmt) and _is_cheap(stmt) else frozenset()
    at_once = True
    for following in _following(project, stmt):
        if _synchronises(following):
            return True
        if at_once and (
            _looks(following, names) or _decides(project, following) or _copies_pageable(project, following)
        ):
            return True
        at_once = at_once and _is_cheap(following)
        if not at_once and not isinstance(following, t.Assign):
            return False
    return False


def follows_wait(project: Project, call: t.Call) -> bool:
    """Whether the host has just waited for another part of the batch: ``a, b = cat(a).to(d), b.to(d)``.

    The device has nothing to do by then, so that what is to be gained is the time of this copy alone.
    """
    stmt = project.statement_of(call)
    if any(_blocks(project, other) for other in _simple(stmt) if other.at < call.at):
        return True
    for before in _preceding(project, stmt):
        if any(_blocks(project, other) and _is_of_batch(project, other) for other in _simple(before)):
            return True
        if not _is_cheap(before):
            return False
    return False


def _is_of_batch(project: Project, copy: t.Node) -> bool:
    moved = copy.func.value if isinstance(copy, t.Call) and isinstance(copy.func, t.Attribute) else None
    if isinstance(moved, t.Call) and _called(moved) in tensors.FROM_DATA:
        return False  # of numbers, such as the length of the batch
    return bool(project.batches_in(project.value(moved)))


def _copies_pageable(project: Project, stmt: t.Stmt) -> bool:
    return any(_blocks(project, other) for other in _simple(stmt))


def _preceding(project: Project, stmt: t.Node | None) -> Iterator[t.Stmt]:
    """The statements before one in the same block, nearest first."""
    above = project.parent(stmt) if stmt is not None else None
    for body in (getattr(above, "body", ()), getattr(above, "orelse", ())):
        if isinstance(body, tuple) and stmt in body:
            yield from reversed(body[: body.index(stmt)])


def _following(project: Project, stmt: t.Node | None) -> Iterator[t.Stmt]:
    """The statements that come next, out of the tests and contexts around but not round a loop."""
    while isinstance(stmt, t.Stmt):
        above = project.parent(stmt)
        for body in (getattr(above, "body", ()), getattr(above, "orelse", ())):
            if isinstance(body, tuple) and stmt in body:
                yield from body[body.index(stmt) + 1 :]
        stmt = above if isinstance(above, t.If | t.With) else None


def _synchronises(stmt: t.Stmt) -> bool:
    func = stmt.value.func if isinstance(stmt, t.ExprStmt) and isinstance(stmt.value, t.Call) else None
    return isinstance(func, t.Attribute) and func.attr == "synchronize"


def _simple(stmt: t.Node | None) -> Iterator[t.Node]:
    """What a simple statement is certain to evaluate, once."""
    if isinstance(stmt, t.Assign | t.ExprStmt):
        yield from _inside(stmt)


def _inside(node: t.Node) -> Iterator[t.Node]:
    """The parts of a simple statement or expression that are evaluated whenever it is, and once."""
    waiting = [node]
    if isinstance(node, t.Assign):
        waiting = [*node.targets, node.value] if node.value is not None else []
    while waiting:
        one = waiting.pop()
        if isinstance(one, t.Lambda | t.Comprehension | t.Conditional | t.BoolOp):
            continue
        yield one
        waiting.extend(children(one))


def _blocks(project: Project, node: t.Node) -> bool:
    """Whether an expression takes pageable memory to the device, for which the host waits."""
    match node:
        case t.Call(func=t.Attribute(attr=name)) if name in _MOVES:
            return _copies(project, node)
        case t.Call(args=(data, *_)) if any(keyword.name == "device" for keyword in node.keywords):
            return _makes_from_data(project, node, data)
        case t.Subscript(value=base, index=index):
            where = [index] if not isinstance(index, t.Sequence) or index.kind == "list" else index.items
            return project.placement(project.value(base)) == "device" and any(
                _is_of_host(project, one) for one in where
            )
        case _:
            return False


def _copies(project: Project, call: t.Call) -> bool:
    if not isinstance(call.func, t.Attribute):
        return False
    move = transfers.transfer(project.evaluator, call, call.func)
    found = alternatives(move.receiver)
    return (
        move.destination == "device"
        and move.asynchronous is False
        and bool(found)
        and all(isinstance(one, Tensor) and _is_pageable(project, one) for one in found)
    )


def _makes_from_data(project: Project, call: t.Call, data: t.Expr) -> bool:
    """Whether ``torch.tensor([…], device=device)`` makes a tensor on the host first, to copy it to the device."""
    found = alternatives(project.value(call.func))
    named = bool(found) and all(isinstance(one, External) and one.name in _FROM_DATA for one in found)
    on_device = project.placement(project.value(call)) == "device"
    return named and on_device and tensors.is_data(project.evaluator, data)


def _is_of_host(project: Project, index: t.Expr) -> bool:
    """Whether an index is a list or a tensor of the host, which is copied to the device that what it indexes is on."""
    found = alternatives(project.value(index))
    return bool(found) and all(
        (isinstance(one, Collection) and one.kind == "list") or project.placement(one) in _HOST for one in found
    )


def _is_pageable(project: Project, tensor: Tensor) -> bool:
    """Whether a tensor is of pageable memory, also one joined of batches that only the callers know."""
    if tensor.placement == "unknown":
        match tensor.node:
            case t.Call(args=(t.Sequence(items=parts), *_)) if parts:
                return all(isinstance(one, Batch) for part in parts for one in alternatives(project.value(part)))
    return tensor.placement == "pageable"


def _assigned(stmt: t.Node | None) -> frozenset[str]:
    targets = stmt.targets if isinstance(stmt, t.Assign) else ()
    parts = [part for one in targets for part in (one.items if isinstance(one, t.Sequence) else (one,))]
    return frozenset(name for one in parts if (name := dotted(one)) is not None)


def _looks(stmt: t.Stmt, names: frozenset[str]) -> bool:
    """Whether the host reads, before anything else, a value of one of ``names``."""
    if isinstance(stmt, t.If | t.While):
        test = stmt.test
        if isinstance(test, t.Compare) and not {"is", "is not", "in", "not in"} & set(test.ops):
            return any(_root(one) in names for one in (test.left, *test.comparators))
        return _reads(test, names)
    return isinstance(stmt, t.Assign | t.ExprStmt) and _is_cheap(stmt, READS) and _reads(stmt, names)


def _decides(project: Project, stmt: t.Stmt) -> bool:
    """Whether a test asks for the truth of a tensor of the device, as ``if torch.isnan(images).any()`` does."""
    test = stmt.test if isinstance(stmt, t.If | t.While | t.Assert) else None
    while isinstance(test, t.UnaryOp | t.BoolOp):
        test = test.operand if isinstance(test, t.UnaryOp) else test.values[0]
    return isinstance(test, t.Call) and _called(test) in _TRUTHS and _is_of_device(project, test)


def _is_of_device(project: Project, expr: t.Expr) -> bool:
    """Whether something is computed of a tensor of the device."""
    match expr:
        case t.Call(func=t.Attribute(value=base, attr=name), args=args) if name in _TRUTHS | _COMPUTED:
            return any(_is_of_device(project, one) for one in (base, *args))
        case _:
            return project.placement(project.value(expr)) == "device"


def _reads(node: t.Node, names: frozenset[str]) -> bool:
    return any(
        isinstance(one, t.Call)
        and isinstance(one.func, t.Attribute)
        and one.func.attr in READS
        and _root(one.func.value, through=_COMPUTED) in names
        for one in _inside(node)
    )


def _root(expr: t.Expr, through: frozenset[str] = frozenset()) -> str | None:
    """The name that is indexed, or looked at as it is; not that of another attribute, such as a shape."""
    while True:
        if isinstance(expr, t.Subscript):
            expr = expr.value
        elif isinstance(expr, t.Call) and isinstance(expr.func, t.Attribute) and expr.func.attr in through:
            expr = expr.func.value
        else:
            return dotted(expr)


def _is_cheap(stmt: t.Stmt, besides: frozenset[str] = frozenset()) -> bool:
    """Whether a statement only assigns, copies to the device, or computes a little with tensors, in some cases only."""
    if isinstance(stmt, t.If):
        return _costs_little(stmt.test, besides) and all(_is_cheap(one, besides) for one in (*stmt.body, *stmt.orelse))
    return isinstance(stmt, t.Assign | t.ExprStmt) and _costs_little(stmt, besides)


def _costs_little(node: t.Node, besides: frozenset[str]) -> bool:
    allowed = _CHEAP | _MOVES | _COMPUTED | besides
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, t.Call) and _called(one) not in allowed:
            return False
        if isinstance(one, t.Assign):
            waiting += [*one.targets, one.value] if one.value is not None else []
        else:
            waiting += children(one)
    return True


def _called(call: t.Call) -> str:
    func = call.func
    return func.attr if isinstance(func, t.Attribute) else func.id if isinstance(func, t.Name) else ""
