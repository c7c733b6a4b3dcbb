"""What stands beside a copy to the device that makes the host wait whether or not that copy does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import casts, tensors
from dl_lint.project.blocking import MOVES, blocks
from dl_lint.project.host_reads import READING
from dl_lint.project.repetition import names_in, words
from dl_lint.project.syntax import called, children, dotted
from dl_lint.project.values import External, Made, alternatives
from dl_lint.project.views import VIEWS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.model import Project

READS = frozenset({"item", "tolist", "cpu", "numpy"})
"""Methods that hand the host what a tensor of the device holds."""

SHAPES = frozenset({"shape", "dtype", "device", "ndim", "is_cuda", "size", "dim", "numel", "type", "ndimension"})
"""Attributes and methods of a tensor that are known without its values."""

_CHEAP = frozenset(
    {
        "size",
        "dim",
        "numel",
        "len",
        "zero_grad",
        "index",
        "append",
        "time",
        "perf_counter",
        "record",
        "fill_",
        "zero_",
        "numpy",
    }
)
"""Calls that are done before a copy has got anywhere; ``numpy`` is one of tensors of the host only."""

_TRUTHS = frozenset({"any", "all", "equal", "allclose", "isnan", "isinf", "isfinite"})
"""Functions and methods whose result the host needs to decide."""

_COMPUTED = VIEWS | tensors.COPIES | casts.METHODS | {"type", "type_as"}

_MADE = tensors.LEGACY | tensors.FROM_DATA | {"zeros", "ones", "full", "empty", "arange"}
"""Functions that make a tensor of numbers at hand."""

_DEVICES = frozenset({"cuda", "gpu"})

_TRANSFORMS = "torchvision.transforms."


def is_waited_for(project: Project, call: t.Call) -> bool:
    """Whether the host waits soon after a copy in any case.

    That is for a synchronise with nothing but assignments before it, or, with only what is done at once before it, for
    a copy of pageable memory or for a value that was copied.
    """
    stmt: t.Node | None = project.statement_of(call)
    if _is_read_in(project, call) or any(blocks(project, other) for other in simple(stmt) if other.at > call.at):
        return True
    names = assigned(stmt) if isinstance(stmt, t.Stmt) and is_cheap(project, stmt) else frozenset()
    at_once = True
    for later in onward(project, stmt):
        if _synchronises(later):
            return True
        if at_once and (looks(project, later, names) or _decides(project, later) or _copies_pageable(project, later)):
            return True
        at_once = at_once and is_cheap(project, later)
        if not at_once and not isinstance(later, t.Assign):
            return False
    return False


def _is_read_in(project: Project, copy: t.Call) -> bool:
    """Whether the expression around a copy gives the host what little is computed of it: ``(best ==
    labels.to(d)).sum().item()``."""
    for above in project.ancestors(copy):
        if isinstance(above, t.Stmt | t.Lambda | t.Comprehension):
            return False
        if isinstance(above, t.Call) and isinstance(above.func, t.Attribute) and above.func.attr in READS:
            return _costs_little(project, above.func.value, READS | READING)
    return False


def follows_wait(project: Project, call: t.Call) -> bool:
    """Whether the host has just waited for the device, or for another part of the batch: ``a, b = cat(a).to(d),
    b.to(d)``.

    The device has nothing to do by then, so that what is to be gained is the time of this copy alone.
    """
    stmt = project.statement_of(call)
    if any(blocks(project, other) for other in simple(stmt) if other.at < call.at):
        return True
    for before in _preceding(project, stmt):
        if _synchronises(before) or any(_moves_pageable(project, other) for other in simple(before)):
            return True
        if not is_cheap(project, before) and not (
            isinstance(before, t.Assert) and _costs_little(project, before.test, frozenset())
        ):
            return False
    return False


def _moves_pageable(project: Project, node: t.Node) -> bool:
    """Whether an expression copies a part of the batch of pageable memory, or one that is an object that stays so."""
    return blocks(project, node) and _is_of_batch(project, node)


def _is_of_batch(project: Project, copy: t.Node) -> bool:
    """Whether a copy is of a part of the batch, or of a list that picks from the device's: ``joints[:, PICKED]``."""
    if isinstance(copy, t.Subscript):
        return True
    moved = copy.func.value if isinstance(copy, t.Call) and isinstance(copy.func, t.Attribute) else None
    if isinstance(moved, t.Call) and called(moved) in tensors.FROM_DATA:
        return False  # of numbers, such as the length of the batch
    return bool(project.batches_in(project.value(moved)))


def _copies_pageable(project: Project, stmt: t.Stmt) -> bool:
    return any(blocks(project, other) for other in simple(stmt))


def _preceding(project: Project, stmt: t.Node | None) -> Iterator[t.Stmt]:
    """The statements before one in the same block, nearest first."""
    above = project.parent(stmt) if stmt is not None else None
    for body in (getattr(above, "body", ()), getattr(above, "orelse", ())):
        if isinstance(body, tuple) and stmt in body:
            yield from reversed(body[: body.index(stmt)])


def onward(project: Project, stmt: t.Node | None) -> Iterator[t.Stmt]:
    """The statements that come next, those inside a ``with`` or at the start of a loop in its place."""
    for later in following(project, stmt):
        yield from _opened(later)


def _opened(stmt: t.Stmt) -> Iterator[t.Stmt]:
    if isinstance(stmt, t.With | t.For):
        for one in stmt.body:
            yield from _opened(one)
    if not isinstance(stmt, t.With):
        yield stmt


def following(project: Project, stmt: t.Node | None) -> Iterator[t.Stmt]:
    """The statements that come next, out of the tests and contexts around but not round a loop."""
    while isinstance(stmt, t.Stmt):
        above = project.parent(stmt)
        for body in (getattr(above, "body", ()), getattr(above, "orelse", ())):
            if isinstance(body, tuple) and stmt in body:
                yield from body[body.index(stmt) + 1 :]
        stmt = above if isinstance(above, t.If | t.With) else None


def _synchronises(stmt: t.Stmt) -> bool:
    """Whether a statement waits for the device, if there is one: ``if torch.cuda.is_available(): synchronize()``."""
    if isinstance(stmt, t.If) and not stmt.orelse:
        asked = {word for name in names_in(stmt.test) for part in name.split(".") for word in words(part)}
        return not _DEVICES.isdisjoint(asked) and any(map(_synchronises, stmt.body[:1]))
    func = stmt.value.func if isinstance(stmt, t.ExprStmt) and isinstance(stmt.value, t.Call) else None
    return isinstance(func, t.Attribute) and func.attr == "synchronize"


def before(project: Project, node: t.Node) -> Iterator[t.Stmt]:
    """The statements of the blocks around a node, down to it, within its function."""
    stmt: t.Node | None = project.statement_of(node)
    while isinstance(stmt, t.Stmt) and not isinstance(stmt, t.FunctionDef | t.ClassDef):
        above = project.parent(stmt)
        for part in ("body", "orelse", "final"):
            block = getattr(above, part, ())
            if isinstance(block, tuple) and stmt in block:
                yield from block[: block.index(stmt)]
        stmt = above


def simple(stmt: t.Node | None) -> Iterator[t.Node]:
    """What a simple statement is certain to evaluate, once."""
    if isinstance(stmt, t.Assign | t.ExprStmt | t.Return):
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


def assigned(stmt: t.Node | None) -> frozenset[str]:
    targets = stmt.targets if isinstance(stmt, t.Assign) else ()
    parts = [part for one in targets for part in (one.items if isinstance(one, t.Sequence) else (one,))]
    return frozenset(name for one in parts if (name := dotted(one)) is not None)


def looks(project: Project, stmt: t.Stmt, names: frozenset[str]) -> bool:
    """Whether the host reads, before anything else, a value of one of ``names``."""
    if isinstance(stmt, t.If | t.While):
        test = stmt.test
        if isinstance(test, t.Compare) and not {"is", "is not", "in", "not in"} & set(test.ops):
            return any(root(one) in names for one in (test.left, *test.comparators))
        return _reads(test, names)
    if isinstance(stmt, t.ExprStmt) and called(stmt.value) == "print":
        return _shows(stmt.value, names)
    if isinstance(stmt, t.AugAssign):
        return _costs_little(project, stmt.value, READS | READING) and _reads(stmt.value, names)
    return isinstance(stmt, t.Assign | t.ExprStmt) and is_cheap(project, stmt, READS | READING) and _reads(stmt, names)


def _shows(printing: t.Expr, names: frozenset[str]) -> bool:
    """Whether ``print`` is given a tensor of one of ``names``, or what is computed of it; not its shape."""
    given = list(printing.args) if isinstance(printing, t.Call) else []
    given += [part for one in given if isinstance(one, t.FString) for part in one.values]
    return any(root(one, through=_COMPUTED | READING) in names for one in given)


def _decides(project: Project, stmt: t.Stmt) -> bool:
    """Whether a test asks for the truth of a tensor of the device, as ``if torch.isnan(images).any()`` does."""
    test = stmt.test if isinstance(stmt, t.If | t.While | t.Assert) else None
    while isinstance(test, t.UnaryOp | t.BoolOp):
        test = test.operand if isinstance(test, t.UnaryOp) else test.values[0]
    return isinstance(test, t.Call) and called(test) in _TRUTHS and _is_of_device(project, test)


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
        and _is_made_of(one.func.value, names)
        for one in _inside(node)
    )


def _is_made_of(expr: t.Node, names: frozenset[str]) -> bool:
    """Whether a value is computed of one of ``names``, and not of its shape: ``(best == labels).sum()``."""
    waiting = [expr]
    while waiting:
        one = waiting.pop()
        if dotted(one) in names:
            return True
        if not (isinstance(one, t.Attribute) and one.attr in SHAPES):
            waiting.extend(children(one))
    return False


def root(expr: t.Expr, through: frozenset[str] = frozenset()) -> str | None:
    """The name that is indexed, or looked at as it is; not that of another attribute, such as a shape."""
    while True:
        if isinstance(expr, t.Subscript):
            expr = expr.value
        elif isinstance(expr, t.Call) and isinstance(expr.func, t.Attribute) and expr.func.attr in through:
            expr = expr.func.value
        else:
            return dotted(expr)


def is_cheap(project: Project, stmt: t.Stmt, besides: frozenset[str] = frozenset()) -> bool:
    """Whether a statement only assigns, copies to the device, or computes a little with tensors, in some cases only."""
    if isinstance(stmt, t.If):
        return _costs_little(project, stmt.test, besides) and all(
            is_cheap(project, one, besides) for one in (*stmt.body, *stmt.orelse)
        )
    if isinstance(stmt, t.AugAssign):
        return _costs_little(project, stmt.value, besides)
    return isinstance(stmt, t.Assign | t.ExprStmt) and _costs_little(project, stmt, besides)


def _costs_little(project: Project, node: t.Node, besides: frozenset[str]) -> bool:
    allowed = _CHEAP | MOVES | _COMPUTED | _MADE | besides
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, t.Call) and called(one) not in allowed and not _transforms(project, one):
            return False
        if isinstance(one, t.Assign):
            waiting += [*one.targets, one.value] if one.value is not None else []
        else:
            waiting += children(one)
    return True


def _transforms(project: Project, call: t.Call) -> bool:
    """Whether a call makes a transform of torchvision, or has the device compute one: ``Grayscale()(images)``."""
    for one in alternatives(project.value(call.func)):
        if not isinstance(one, External | Made) or not one.name.startswith(_TRANSFORMS):
            return False
        makes = isinstance(one, External) and one.name.rpartition(".")[2][:1].isupper()
        if not makes and not (call.args and project.placement(project.value(call.args[0])) == "device"):
            return False
    return True
