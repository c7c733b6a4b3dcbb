"""Synchronisation: whether the host waits for the device beside a copy whatever that copy does."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.flow import call_graph, enclosing
from dl_lint.flow.interpreter import tensor_memory
from dl_lint.flow.interpreter.tensor_memory import VIEWS
from dl_lint.flow.values import Batch, Collection, External, Loader, Made, Tensor, Value, Wrapped, alternatives
from dl_lint.pipeline import loaders, loops
from dl_lint.pipeline.training import names_in, words
from dl_lint.source.positions import span
from dl_lint.source.syntax import (
    Assignment,
    Comprehension,
    Display,
    ForStatement,
    called,
    children,
    dotted,
    fields,
    targets,
)
from dl_lint.transfers import copies
from dl_lint.transfers.host_reads import READING

if TYPE_CHECKING:
    from dl_lint.flow.enclosing import LoopNode
    from dl_lint.flow.program import Program
    from dl_lint.transfers.copies import Transfer


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

_COMPUTED = VIEWS | tensor_memory.COPIES | tensor_memory.CASTS | {"type", "type_as"}

_MADE = tensor_memory.LEGACY | tensor_memory.FROM_DATA | {"zeros", "ones", "full", "empty", "arange"}
"""Functions that make a tensor of numbers at hand."""

_DEVICES = frozenset({"cuda", "gpu"})

_TRANSFORMS = "torchvision.transforms."


def is_waited_for(program: Program, call: ast.Call) -> bool:
    """Whether the host waits soon after a copy in any case.

    That is for a synchronise with nothing but assignments before it, or, with only what is done at once before it, for
    a copy of pageable memory or for a value that was copied.
    """
    stmt: ast.AST | None = enclosing.statement_of(program, call)
    if _is_read_in(program, call) or any(
        blocks(program, other) for other in enclosing.simple(stmt) if span(other) > span(call)
    ):
        return True
    names = enclosing.assigned(stmt) if isinstance(stmt, ast.stmt) and is_cheap(program, stmt) else frozenset()
    at_once = True
    for later in enclosing.onward(program, stmt):
        if _synchronises(later):
            return True
        if at_once and (looks(program, later, names) or _decides(program, later) or _copies_pageable(program, later)):
            return True
        at_once = at_once and is_cheap(program, later)
        if not at_once and not isinstance(later, Assignment):
            return False
    return False


def _is_read_in(program: Program, copy: ast.Call) -> bool:
    """Whether the expression around a copy gives the host what little is computed of it: ``(best ==
    labels.to(d)).sum().item()``."""
    for above in enclosing.ancestors(program, copy):
        if isinstance(above, ast.stmt | ast.Lambda | Comprehension):
            return False
        if isinstance(above, ast.Call) and isinstance(above.func, ast.Attribute) and above.func.attr in READS:
            return _costs_little(program, above.func.value, READS | READING)
    return False


def follows_wait(program: Program, call: ast.Call) -> bool:
    """Whether the host has just waited for the device, or for another part of the batch: ``a, b = cat(a).to(d),
    b.to(d)``.

    The device has nothing to do by then, so that what is to be gained is the time of this copy alone.
    """
    stmt = enclosing.statement_of(program, call)
    if any(blocks(program, other) for other in enclosing.simple(stmt) if span(other) < span(call)):
        return True
    for earlier in enclosing._preceding(program, stmt):
        if _synchronises(earlier) or any(_moves_pageable(program, other) for other in enclosing.simple(earlier)):
            return True
        if not is_cheap(program, earlier) and not (
            isinstance(earlier, ast.Assert) and _costs_little(program, earlier.test, frozenset())
        ):
            return False
    return False


def _moves_pageable(program: Program, node: ast.AST) -> bool:
    """Whether an expression copies a part of the batch of pageable memory, or one that is an object that stays so."""
    return blocks(program, node) and _is_of_batch(program, node)


def _is_of_batch(program: Program, copy: ast.AST) -> bool:
    """Whether a copy is of a part of the batch, or of a list that picks from the device's: ``joints[:, PICKED]``."""
    if isinstance(copy, ast.Subscript):
        return True
    moved = copy.func.value if isinstance(copy, ast.Call) and isinstance(copy.func, ast.Attribute) else None
    if isinstance(moved, ast.Call) and called(moved) in tensor_memory.FROM_DATA:
        return False  # of numbers, such as the length of the batch
    return bool(loops.batches_in(program.value(moved)))


def _copies_pageable(program: Program, stmt: ast.stmt) -> bool:
    return any(blocks(program, other) for other in enclosing.simple(stmt))


def _synchronises(stmt: ast.stmt) -> bool:
    """Whether a statement waits for the device, if there is one: ``if torch.cuda.is_available(): synchronize()``."""
    if isinstance(stmt, ast.If) and not stmt.orelse:
        asked = {word for name in names_in(stmt.test) for part in name.split(".") for word in words(part)}
        return not _DEVICES.isdisjoint(asked) and any(map(_synchronises, stmt.body[:1]))
    func = stmt.value.func if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call) else None
    return isinstance(func, ast.Attribute) and func.attr == "synchronize"


def looks(program: Program, stmt: ast.stmt, names: frozenset[str]) -> bool:
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
        return _costs_little(program, stmt.value, READS | READING) and _reads(stmt.value, names)
    return isinstance(stmt, Assignment | ast.Expr) and is_cheap(program, stmt, READS | READING) and _reads(stmt, names)


def _shows(printing: ast.expr, names: frozenset[str]) -> bool:
    """Whether ``print`` is given a tensor of one of ``names``, or what is computed of it; not its shape."""
    given = [*printing.args] if isinstance(printing, ast.Call) else []
    given += [part for one in given if isinstance(one, ast.JoinedStr) for part in fields(one)]
    return any(root(one, through=_COMPUTED | READING) in names for one in given)


def _decides(program: Program, stmt: ast.stmt) -> bool:
    """Whether a test asks for the truth of a tensor of the device, as ``if torch.isnan(images).any()`` does."""
    test = stmt.test if isinstance(stmt, ast.If | ast.While | ast.Assert) else None
    while isinstance(test, ast.UnaryOp | ast.BoolOp):
        test = test.operand if isinstance(test, ast.UnaryOp) else test.values[0]
    return isinstance(test, ast.Call) and called(test) in _TRUTHS and _is_of_device(program, test)


def _is_of_device(program: Program, expr: ast.expr) -> bool:
    """Whether something is computed of a tensor of the device."""
    match expr:
        case ast.Call(func=ast.Attribute(value=base, attr=name), args=args) if name in _TRUTHS | _COMPUTED:
            return any(_is_of_device(program, one) for one in (base, *args))
        case _:
            return loaders.placement(program, program.value(expr)) == "device"


def _reads(node: ast.AST, names: frozenset[str]) -> bool:
    return any(
        isinstance(one, ast.Call)
        and isinstance(one.func, ast.Attribute)
        and one.func.attr in READS
        and _is_made_of(one.func.value, names)
        for one in enclosing._evaluated_once(node)
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


def is_cheap(program: Program, stmt: ast.stmt, besides: frozenset[str] = frozenset()) -> bool:
    """Whether a statement only assigns, copies to the device, or computes a little with tensors, in some cases only."""
    if isinstance(stmt, ast.If):
        return _costs_little(program, stmt.test, besides) and all(
            is_cheap(program, one, besides) for one in (*stmt.body, *stmt.orelse)
        )
    if isinstance(stmt, ast.AugAssign):
        return _costs_little(program, stmt.value, besides)
    return isinstance(stmt, Assignment | ast.Expr) and _costs_little(program, stmt, besides)


def _costs_little(program: Program, node: ast.AST, besides: frozenset[str]) -> bool:
    allowed = _CHEAP | MOVES | _COMPUTED | _MADE | besides
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.Call) and called(one) not in allowed and not _transforms(program, one):
            return False
        if isinstance(one, Assignment):
            waiting += [*targets(one), one.value] if one.value is not None else []
        else:
            waiting += children(one)
    return True


def _transforms(program: Program, call: ast.Call) -> bool:
    """Whether a call makes a transform of torchvision, or has the device compute one: ``Grayscale()(images)``."""
    for one in alternatives(program.value(call.func)):
        if not isinstance(one, External | Made) or not one.name.startswith(_TRANSFORMS):
            return False
        makes = isinstance(one, External) and one.name.rpartition(".")[2][:1].isupper()
        if not makes and not (call.args and loaders.placement(program, program.value(call.args[0])) == "device"):
            return False
    return True


MOVES = frozenset({"to", "cuda"})

_FROM_DATA = frozenset(f"torch.{name}" for name in tensor_memory.FROM_DATA)

_HOST = frozenset({"cpu", "pageable", "pinned", "host"})


def blocks(program: Program, node: ast.AST) -> bool:
    """Whether an expression takes pageable memory to the device, for which the host waits."""
    match node:
        case ast.Call(func=ast.Attribute(attr=name)) if name in MOVES:
            return _copies(program, node)
        case ast.Call(args=(data, *_)) if any(keyword.arg == "device" for keyword in node.keywords):
            return _makes_from_data(program, node, data)
        case ast.Subscript(value=base, slice=index):
            where = [index] if not isinstance(index, Display) or isinstance(index, ast.List) else index.elts
            return loaders.placement(program, program.value(base)) == "device" and any(
                _is_of_host(program, one) for one in where
            )
        case _:
            return False


def _copies(program: Program, call: ast.Call) -> bool:
    if not isinstance(call.func, ast.Attribute):
        return False
    move = copies.transfer(program, call, call.func)
    found = alternatives(move.receiver)
    return (
        move.destination == "device"
        and move.asynchronous is False
        and bool(found)
        and all(isinstance(one, Tensor) and _is_pageable(program, one) for one in found)
    )


def _makes_from_data(program: Program, call: ast.Call, data: ast.expr) -> bool:
    """Whether ``torch.tensor([…], device=device)`` makes a tensor on the host first, to copy it to the device."""
    found = alternatives(program.value(call.func))
    named = bool(found) and all(isinstance(one, External) and one.name in _FROM_DATA for one in found)
    on_device = loaders.placement(program, program.value(call)) == "device"
    return named and on_device and tensor_memory.is_data(program, data)


def _is_of_host(program: Program, index: ast.expr) -> bool:
    """Whether an index is a list or a tensor of the host, which is copied to the device that what it indexes is on."""
    found = alternatives(program.value(index))
    return bool(found) and all(
        (isinstance(one, Collection) and one.kind == "list") or loaders.placement(program, one) in _HOST
        for one in found
    )


def _is_pageable(program: Program, tensor: Tensor) -> bool:
    """Whether a tensor is, or may for all that is known be, of pageable memory, such as ``labels.float()``.

    Also one joined of batches that only the callers know, and ``torch.tensor(…)`` of whatever it is made.
    """
    if tensor.placement == "unknown":
        match tensor.node:
            case ast.Call(func=func) if program.value(func) == External("torch.tensor"):
                return True
            case ast.Call() if isinstance(tensor.source, Tensor) and tensor_memory.cast_dtype(program, tensor.node):
                return _is_pageable(program, tensor.source)
            case ast.Call(args=(ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts), *_)) if parts:
                return all(isinstance(one, Batch) for part in parts for one in alternatives(program.value(part)))
    return tensor.placement in ("pageable", "host")


PARTS = frozenset({"keys", "values", "items"})
"""Methods of a batch that is a dict, through which a loop goes over its tensors."""


def delays(program: Program, transfer: Transfer) -> bool:
    """Whether batch after batch is copied, with something else to do meanwhile."""
    around = call_graph.repeating(program, transfer.call)
    short = [loop for loop in around if _ends_at_once(program, loop)]
    begun_anew = {*short, *(outer for loop in short for outer in call_graph.repeating(program, loop))}
    for loop in around:
        if loop in begun_anew:
            continue
        if not _is_over_one_batch(program, loop) and not _copies_one_batch(program, transfer, loop):
            return not is_waited_for(program, transfer.call)
    return False


def _ends_at_once(program: Program, loop: LoopNode) -> bool:
    """Whether a loop over a loader itself, not over an iterator that goes on later, always ends with its first batch.

    What repeats such a loop starts the loader each time, beside which waiting for one copy is nothing.
    """
    if not isinstance(loop, ForStatement) or not _is_of_loaders(program.value(loop.iter)):
        return False
    arms = program.site(loop).scope.file.arms.get(loop, ())
    ends = any(arm.kind == "for" and arm.exits in ("break", "leave") for arm in arms) or _is_for_first(loop)
    return ends and not enclosing.goes_on_early(loop)


def _is_for_first(loop: ForStatement) -> bool:
    """Whether ``if i == 0: break`` leaves a loop over ``enumerate(loader)`` in its first pass."""
    index = loop.target.elts[0] if isinstance(loop.target, Display) and loop.target.elts else None
    if not isinstance(index, ast.Name) or called(loop.iter) != "enumerate":
        return False
    for stmt in loop.body:
        match stmt:
            case ast.If(
                test=ast.Compare(left=ast.Name(id=name), ops=(ast.Eq(),), comparators=(ast.Constant(value=0),)),
                body=(*_, ast.Break() | ast.Return()),
            ) if name == index.id:
                return True
            case _:
                continue
    return False


def _is_of_loaders(value: Value) -> bool:
    for one in alternatives(value):
        match one:
            case Loader():
                continue
            case Wrapped(kind=kind, inner=inner) if kind != "iter" and inner and all(map(_is_of_loaders, inner)):
                continue
            case _:
                return False
    return True


def _is_over_one_batch(program: Program, loop: LoopNode) -> bool:
    """Whether a loop goes over the tensors of a batch."""
    if isinstance(loop, ast.While):
        return False
    over = loop.iter
    if isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute) and over.func.attr in PARTS:
        over = over.func.value
    return any(isinstance(one, Batch) for one in alternatives(program.value(over)))


def _copies_one_batch(program: Program, transfer: Transfer, loop: LoopNode) -> bool:
    """Whether the same batch is copied in every pass, as in ``for _ in range(5)`` to warm a model up."""
    root = transfer.receiver_expr
    while isinstance(root, ast.Attribute | ast.Subscript):
        root = root.value
    if not isinstance(root, ast.Name) or program.site(root).scope.kind == "comprehension":
        return False
    bindings = enclosing.function_of(program, root).bindings.get(root.id, ())
    own = loop in enclosing.loops_around(program, transfer.call) and all(one.kind != "param" for one in bindings)
    return own and bool(bindings) and not any(_is_in(program, one.node, loop) for one in bindings)


def _is_in(program: Program, node: ast.AST, loop: LoopNode) -> bool:
    return node is loop or loop in enclosing.loops_around(program, node)
