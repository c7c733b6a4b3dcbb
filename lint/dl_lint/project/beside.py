"""What stands beside a copy to the device that makes the host wait whether or not that copy does."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.project import casts, tensors
from dl_lint.project.blocking import MOVES, blocks
from dl_lint.project.host_reads import READING
from dl_lint.project.repetition import names_in, words
from dl_lint.project.values import External, Made, alternatives
from dl_lint.project.views import VIEWS
from dl_lint.source.positions import span
from dl_lint.source.syntax import (
    Assignment,
    Comprehension,
    Display,
    ForStatement,
    FunctionDefinition,
    WithStatement,
    called,
    children,
    dotted,
    fields,
    targets,
)

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


def is_waited_for(project: Project, call: ast.Call) -> bool:
    """Whether the host waits soon after a copy in any case.

    That is for a synchronise with nothing but assignments before it, or, with only what is done at once before it, for
    a copy of pageable memory or for a value that was copied.
    """
    stmt: ast.AST | None = project.statement_of(call)
    if _is_read_in(project, call) or any(blocks(project, other) for other in simple(stmt) if span(other) > span(call)):
        return True
    names = assigned(stmt) if isinstance(stmt, ast.stmt) and is_cheap(project, stmt) else frozenset()
    at_once = True
    for later in onward(project, stmt):
        if _synchronises(later):
            return True
        if at_once and (looks(project, later, names) or _decides(project, later) or _copies_pageable(project, later)):
            return True
        at_once = at_once and is_cheap(project, later)
        if not at_once and not isinstance(later, Assignment):
            return False
    return False


def _is_read_in(project: Project, copy: ast.Call) -> bool:
    """Whether the expression around a copy gives the host what little is computed of it: ``(best ==
    labels.to(d)).sum().item()``."""
    for above in project.ancestors(copy):
        if isinstance(above, ast.stmt | ast.Lambda | Comprehension):
            return False
        if isinstance(above, ast.Call) and isinstance(above.func, ast.Attribute) and above.func.attr in READS:
            return _costs_little(project, above.func.value, READS | READING)
    return False


def follows_wait(project: Project, call: ast.Call) -> bool:
    """Whether the host has just waited for the device, or for another part of the batch: ``a, b = cat(a).to(d),
    b.to(d)``.

    The device has nothing to do by then, so that what is to be gained is the time of this copy alone.
    """
    stmt = project.statement_of(call)
    if any(blocks(project, other) for other in simple(stmt) if span(other) < span(call)):
        return True
    for before in _preceding(project, stmt):
        if _synchronises(before) or any(_moves_pageable(project, other) for other in simple(before)):
            return True
        if not is_cheap(project, before) and not (
            isinstance(before, ast.Assert) and _costs_little(project, before.test, frozenset())
        ):
            return False
    return False


def _moves_pageable(project: Project, node: ast.AST) -> bool:
    """Whether an expression copies a part of the batch of pageable memory, or one that is an object that stays so."""
    return blocks(project, node) and _is_of_batch(project, node)


def _is_of_batch(project: Project, copy: ast.AST) -> bool:
    """Whether a copy is of a part of the batch, or of a list that picks from the device's: ``joints[:, PICKED]``."""
    if isinstance(copy, ast.Subscript):
        return True
    moved = copy.func.value if isinstance(copy, ast.Call) and isinstance(copy.func, ast.Attribute) else None
    if isinstance(moved, ast.Call) and called(moved) in tensors.FROM_DATA:
        return False  # of numbers, such as the length of the batch
    return bool(project.batches_in(project.value(moved)))


def _copies_pageable(project: Project, stmt: ast.stmt) -> bool:
    return any(blocks(project, other) for other in simple(stmt))


def _preceding(project: Project, stmt: ast.AST | None) -> Iterator[ast.stmt]:
    """The statements before one in the same block, nearest first."""
    above = project.parent(stmt) if stmt is not None else None
    for body in (getattr(above, "body", ()), getattr(above, "orelse", ())):
        if isinstance(body, list) and stmt in body:
            yield from reversed(body[: body.index(stmt)])


def onward(project: Project, stmt: ast.AST | None) -> Iterator[ast.stmt]:
    """The statements that come next, those inside a ``with`` or at the start of a loop in its place."""
    for later in following(project, stmt):
        yield from _opened(later)


def _opened(stmt: ast.stmt) -> Iterator[ast.stmt]:
    if isinstance(stmt, WithStatement | ForStatement):
        for one in stmt.body:
            yield from _opened(one)
    if not isinstance(stmt, WithStatement):
        yield stmt


def following(project: Project, stmt: ast.AST | None) -> Iterator[ast.stmt]:
    """The statements that come next, out of the tests and contexts around but not round a loop."""
    while isinstance(stmt, ast.stmt):
        above = project.parent(stmt)
        for body in (getattr(above, "body", ()), getattr(above, "orelse", ())):
            if isinstance(body, list) and stmt in body:
                yield from body[body.index(stmt) + 1 :]
        stmt = above if isinstance(above, ast.If | WithStatement) else None


def _synchronises(stmt: ast.stmt) -> bool:
    """Whether a statement waits for the device, if there is one: ``if torch.cuda.is_available(): synchronize()``."""
    if isinstance(stmt, ast.If) and not stmt.orelse:
        asked = {word for name in names_in(stmt.test) for part in name.split(".") for word in words(part)}
        return not _DEVICES.isdisjoint(asked) and any(map(_synchronises, stmt.body[:1]))
    func = stmt.value.func if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call) else None
    return isinstance(func, ast.Attribute) and func.attr == "synchronize"


def before(project: Project, node: ast.AST) -> Iterator[ast.stmt]:
    """The statements of the blocks around a node, down to it, within its function."""
    stmt: ast.AST | None = project.statement_of(node)
    while isinstance(stmt, ast.stmt) and not isinstance(stmt, FunctionDefinition | ast.ClassDef):
        above = project.parent(stmt)
        for part in ("body", "orelse", "final"):
            block = getattr(above, part, ())
            if isinstance(block, list) and stmt in block:
                yield from block[: block.index(stmt)]
        stmt = above


def simple(stmt: ast.AST | None) -> Iterator[ast.AST]:
    """What a simple statement is certain to evaluate, once."""
    if isinstance(stmt, Assignment | ast.Expr | ast.Return):
        yield from _inside(stmt)


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a simple statement or expression that are evaluated whenever it is, and once."""
    waiting = [node]
    if isinstance(node, Assignment):
        waiting = [*targets(node), node.value] if node.value is not None else []
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.Lambda | Comprehension | ast.IfExp | ast.BoolOp):
            continue
        yield one
        waiting.extend(children(one))


def assigned(stmt: ast.AST | None) -> frozenset[str]:
    parts = [
        part
        for one in (targets(stmt) if stmt is not None else ())
        for part in (one.elts if isinstance(one, Display) else (one,))
    ]
    return frozenset(name for one in parts if (name := dotted(one)) is not None)


def looks(project: Project, stmt: ast.stmt, names: frozenset[str]) -> bool:
    """Whether the host reads, before anything else, a value of one of ``names``."""
    if isinstance(stmt, ast.If | ast.While):
        test = stmt.test
        if isinstance(test, ast.Compare) and not any(
            isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) for op in test.ops
        ):
            return any(root(one) in names for one in (test.left, *test.comparators))
        return _reads(test, names)
    if isinstance(stmt, ast.Expr) and called(stmt.value) == "print":
        return _shows(stmt.value, names)
    if isinstance(stmt, ast.AugAssign):
        return _costs_little(project, stmt.value, READS | READING) and _reads(stmt.value, names)
    return isinstance(stmt, Assignment | ast.Expr) and is_cheap(project, stmt, READS | READING) and _reads(stmt, names)


def _shows(printing: ast.expr, names: frozenset[str]) -> bool:
    """Whether ``print`` is given a tensor of one of ``names``, or what is computed of it; not its shape."""
    given = [*printing.args] if isinstance(printing, ast.Call) else []
    given += [part for one in given if isinstance(one, ast.JoinedStr) for part in fields(one)]
    return any(root(one, through=_COMPUTED | READING) in names for one in given)


def _decides(project: Project, stmt: ast.stmt) -> bool:
    """Whether a test asks for the truth of a tensor of the device, as ``if torch.isnan(images).any()`` does."""
    test = stmt.test if isinstance(stmt, ast.If | ast.While | ast.Assert) else None
    while isinstance(test, ast.UnaryOp | ast.BoolOp):
        test = test.operand if isinstance(test, ast.UnaryOp) else test.values[0]
    return isinstance(test, ast.Call) and called(test) in _TRUTHS and _is_of_device(project, test)


def _is_of_device(project: Project, expr: ast.expr) -> bool:
    """Whether something is computed of a tensor of the device."""
    match expr:
        case ast.Call(func=ast.Attribute(value=base, attr=name), args=args) if name in _TRUTHS | _COMPUTED:
            return any(_is_of_device(project, one) for one in (base, *args))
        case _:
            return project.placement(project.value(expr)) == "device"


def _reads(node: ast.AST, names: frozenset[str]) -> bool:
    return any(
        isinstance(one, ast.Call)
        and isinstance(one.func, ast.Attribute)
        and one.func.attr in READS
        and _is_made_of(one.func.value, names)
        for one in _inside(node)
    )


def _is_made_of(expr: ast.AST, names: frozenset[str]) -> bool:
    """Whether a value is computed of one of ``names``, and not of its shape: ``(best == labels).sum()``."""
    waiting = [expr]
    while waiting:
        one = waiting.pop()
        if dotted(one) in names:
            return True
        if not (isinstance(one, ast.Attribute) and one.attr in SHAPES):
            waiting.extend(children(one))
    return False


def root(expr: ast.expr, through: frozenset[str] = frozenset()) -> str | None:
    """The name that is indexed, or looked at as it is; not that of another attribute, such as a shape."""
    while True:
        if isinstance(expr, ast.Subscript):
            expr = expr.value
        elif isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute) and expr.func.attr in through:
            expr = expr.func.value
        else:
            return dotted(expr)


def is_cheap(project: Project, stmt: ast.stmt, besides: frozenset[str] = frozenset()) -> bool:
    """Whether a statement only assigns, copies to the device, or computes a little with tensors, in some cases only."""
    if isinstance(stmt, ast.If):
        return _costs_little(project, stmt.test, besides) and all(
            is_cheap(project, one, besides) for one in (*stmt.body, *stmt.orelse)
        )
    if isinstance(stmt, ast.AugAssign):
        return _costs_little(project, stmt.value, besides)
    return isinstance(stmt, Assignment | ast.Expr) and _costs_little(project, stmt, besides)


def _costs_little(project: Project, node: ast.AST, besides: frozenset[str]) -> bool:
    allowed = _CHEAP | MOVES | _COMPUTED | _MADE | besides
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.Call) and called(one) not in allowed and not _transforms(project, one):
            return False
        if isinstance(one, Assignment):
            waiting += [*targets(one), one.value] if one.value is not None else []
        else:
            waiting += children(one)
    return True


def _transforms(project: Project, call: ast.Call) -> bool:
    """Whether a call makes a transform of torchvision, or has the device compute one: ``Grayscale()(images)``."""
    for one in alternatives(project.value(call.func)):
        if not isinstance(one, External | Made) or not one.name.startswith(_TRANSFORMS):
            return False
        makes = isinstance(one, External) and one.name.rpartition(".")[2][:1].isupper()
        if not makes and not (call.args and project.placement(project.value(call.args[0])) == "device"):
            return False
    return True
