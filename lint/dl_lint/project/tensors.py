"""Where tensors live: what each operation does to the placement of its result."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.hints import names_one
from dl_lint.project import apply, arguments, casts, loaders, views
from dl_lint.project.frameworks import ACCELERATORS, FRESH_TENSORS
from dl_lint.project.values import (
    UNKNOWN,
    Batch,
    Collection,
    Const,
    Derived,
    External,
    Made,
    Number,
    Tensor,
    Value,
    WhenAccelerated,
    alternatives,
    union,
)
from dl_lint.source.syntax import Comprehension, Display, dotted

if TYPE_CHECKING:
    from dl_lint.project.evaluate import Evaluator

COPIES = frozenset(
    {"clone", "index_select", "masked_select", "repeat", "flip", "roll", "add", "sub", "mul", "div", "sum", "mean",
     "max", "min", "abs", "cat", "gather", "sort", "argmax", "softmax", "repeat_interleave", "cumsum", "log", "exp",
     "sqrt"}
)  # fmt: skip
"""Methods that return new memory: pageable for a tensor of the CPU, even if that was pinned."""

_ON_HOST = frozenset({"batch", "pinned", "pageable", "cpu", "host"})

NUMPY = frozenset({"numpy", "tolist", "item", "size", "dim", "numel", "shape", "is_pinned", "keys", "__len__"})


def method(ev: Evaluator, receiver: Batch | Tensor, name: str, expr: ast.Call) -> Value:
    """A method of a tensor, or of a batch (which may be a dict or an object that holds tensors)."""
    moved_ = moved(ev, receiver, name, expr)
    if moved_ is not None:
        return moved_
    if name in views.VIEWS:
        if not views.is_of_one_piece(ev, name, expr):
            return renewed(receiver, expr)
        return Batch(receiver.loader, whole=False) if isinstance(receiver, Batch) else receiver
    if name == "items" and isinstance(receiver, Batch):
        part = Batch(receiver.loader, whole=False)
        return Collection("list", None, apply.pair(UNKNOWN, part), None)
    if name in casts.METHODS:
        return cast(ev, receiver, expr)
    if name in ("type", "type_as"):
        return cast(ev, receiver, expr) if casts.dtype(ev, expr) else Tensor(receiver, _unmoved(receiver), expr)
    if name in COPIES:
        return computed(receiver, expr)
    if isinstance(receiver, Tensor) and name.endswith("_") and not name.startswith("_"):
        return receiver  # in place
    if name in NUMPY:
        return apply.derived(receiver, "attr", name) if name == "numpy" else UNKNOWN
    return UNKNOWN


def computed(operand: Batch | Tensor, node: ast.AST) -> Tensor:
    """New memory where ``operand`` lives: on the host pageable, even if the operand is pinned."""
    where = placement_of(operand)
    return Tensor(operand, "pageable" if where in _ON_HOST else where, node)


def scattered(operand: Batch | Tensor, node: ast.AST) -> Tensor:
    """What may not lie in one piece of the memory of ``operand``, or be new: of the host, no one knows if pinned."""
    return Tensor(operand, "device" if placement_of(operand) == "device" else "unknown", node)


def renewed(operand: Batch | Tensor, node: ast.AST) -> Tensor:
    """The memory of ``operand``, or new memory where that lives, which of the host is pageable."""
    where = placement_of(operand)
    return Tensor(operand, "host" if where in ("batch", "pinned") else where, node)


def cast(ev: Evaluator, operand: Batch | Tensor, call: ast.Call) -> Tensor:
    """``operand`` itself if it is of the dtype that ``call`` asks for, else new memory: pageable on the host."""
    before = operand.node if isinstance(operand, Tensor) else None
    known = {casts.dtype(ev, before) if isinstance(before, ast.Call) else None, casts.dtype(ev, call)}
    return computed(operand, call) if len(known) == 2 and None not in known else renewed(operand, call)


def _unmoved(operand: Batch | Tensor) -> str:
    """Where the result of ``type(…)`` is, which may be given a type of the device."""
    return "device" if placement_of(operand) == "device" else "unknown"


def placement_of(value: Batch | Tensor) -> str:
    """Where a tensor lives: batch (wherever its loader put it), or as ``Tensor.placement``."""
    return "batch" if isinstance(value, Batch) else value.placement


def moved(ev: Evaluator, receiver: Value, name: str, expr: ast.Call) -> Value | None:
    """The result of a transfer; None for any other method."""
    match name:
        case "cuda" | "xpu" | "npu":
            return Tensor(receiver, "device", expr)
        case "pin_memory":
            return Tensor(receiver, "pinned", expr)
        case "cpu":
            return Tensor(receiver, "cpu", expr)
        case "to":
            kind = destination(ev, expr)
            if kind == "dtype":
                if isinstance(receiver, Batch | Tensor):
                    return cast(ev, receiver, expr)
                return Tensor(receiver, "unknown", expr)
            return Tensor(receiver, {"device": "device", "cpu": "cpu"}.get(kind, "unknown"), expr)
        case _:
            return None


def destination(ev: Evaluator, expr: ast.Call) -> str:
    """Where ``.to(…)`` moves to: device, cpu, dtype or unknown."""
    target = arguments.given(ev, expr, ("device",), "device")
    node = target.node.value if isinstance(target.node, ast.keyword) else target.node
    if node is expr:
        return "dtype" if arguments.given(ev, expr, (), "dtype").node is not expr else "unknown"
    found = {_kind(one) for one in alternatives(target.symbolic)}
    if found <= {"device", "cpu"} and "device" in found:
        return "device"
    if len(found) == 1 and found != {"unknown"}:
        return found.pop()
    return _named(ev, node)


def _kind(value: Value) -> str:
    match value:
        case Const(value=str() as text):
            family = text.partition(":")[0]
            return "device" if family in ACCELERATORS else "cpu" if family == "cpu" else "unknown"
        case Const(value=int(), kind="int"):
            return "device"
        case External():
            last = value.name.rpartition(".")[2]
            return "dtype" if value.name.startswith("torch.") and last[:1].islower() and last != "device" else "unknown"
        case Made():
            return "device" if value.name.endswith(".current_device") else "unknown"
        case Derived(step="attr", key="device"):
            return "device"
        case Derived(step="attr", key="dtype"):
            return "dtype"
        case _:
            return "unknown"


def _named(ev: Evaluator, node: ast.AST) -> str:
    """By its name, as torch code goes: ``device``, ``self.device``, ``gpu``, ``rank``; ``dtype``."""
    written = dotted(node.func if isinstance(node, ast.Call) else node)
    if written is not None and names_one(ev.hints.device_names, written):
        return "device"
    name = (dotted(node) or "").rpartition(".")[2].lower().strip("_")
    if isinstance(node, ast.Call):
        name = (dotted(node.func) or "").rpartition(".")[2].lower()
    if "dtype" in name:
        return "dtype"
    if name == "dev" or "device" in name or name in ("gpu", "gpu_id", "cuda", "rank", "local_rank"):
        return "device"
    return "unknown"


def function(ev: Evaluator, name: str, expr: ast.Call) -> Value | None:
    """The tensor that a function of torch returns, as far as its placement goes; None for other functions."""
    if name == "torch.device":
        return device(ev, expr)
    package, _, last = name.rpartition(".")
    if package == "torch" and last in LEGACY:
        return _from_operands(ev, expr, last)
    if package != "torch" or last not in FRESH_TENSORS:
        return None
    where = arguments.given(ev, expr, (), "device")
    if where.node is not expr:
        return Tensor(UNKNOWN, _given_device(ev, where), expr)
    pinned = arguments.given(ev, expr, (), "pin_memory")
    if pinned.node is not expr and pinned.symbolic != Const(False, "bool"):
        return Tensor(UNKNOWN, "pinned", expr)
    return Tensor(UNKNOWN, "pageable", expr) if last in _OF_THE_HOST else _from_operands(ev, expr, last)


def _given_device(ev: Evaluator, where: arguments.Given) -> str:
    """What ``device=`` says: cpu, unknown, or device, also where that is used if there is one."""
    found = {_kind(one) for one in alternatives(where.symbolic)}
    if found <= {"device", "cpu"} and found:
        return "device" if "device" in found else "cpu"
    named = _named(ev, where.node.value if isinstance(where.node, ast.keyword) else where.node)
    return "device" if named == "device" else "unknown"


_OF_THE_HOST = frozenset(
    {"from_numpy", "zeros", "ones", "rand", "randn", "randint", "randperm", "arange", "full", "empty", "linspace"}
)
"""Functions that are given no tensors, so that the result is on the CPU unless ``device`` says otherwise."""


LEGACY = frozenset(
    f"{kind}Tensor"
    for kind in ("", "Byte", "Char", "Short", "Int", "Long", "Half", "BFloat16", "Float", "Double", "Bool")
)
"""Constructors of torch's first years: of sizes or of data, on the host."""

FROM_DATA = frozenset({"tensor", "as_tensor"})
"""Functions that are given numbers, lists of such, or arrays: of these the result is made on the host."""


def is_data(ev: Evaluator, expr: ast.expr) -> bool:
    """Whether an expression is a number or a list, ``[label] * count``, of which torch makes a tensor on the host."""
    match expr:
        case (
            ast.Tuple() | ast.List() | ast.Set() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp()
        ):
            return True
        case ast.BinOp(left=left, op=ast.Mult() | ast.Add(), right=right):
            return isinstance(left, Display | Comprehension) or isinstance(right, Display | Comprehension)
        case _:
            found = alternatives(ev.symbolic(expr))
            return bool(found) and all(isinstance(one, Collection | Const | Number) for one in found)


def _from_operands(ev: Evaluator, expr: ast.Call, last: str) -> Value:
    """New memory where the operands live, or for ``as_tensor`` and the old constructors an operand itself."""
    operands: list[Value] = []
    for arg in expr.args[:1]:
        value = ev.symbolic(arg)
        operands.extend(
            value.items or () if isinstance(value, Collection) and value.items is not None else alternatives(value)
        )
    tensors = [one for one in operands if isinstance(one, Batch | Tensor)]
    if not tensors:
        plain = not operands or _plain(operands) or (last in FROM_DATA | LEGACY and is_data(ev, expr.args[0]))
        plain = plain or (last in LEGACY and len(expr.args) > 1)
        return Tensor(UNKNOWN, "pageable" if plain else "host" if last in LEGACY else "unknown", expr)
    if (last == "as_tensor" or last in LEGACY) and len(tensors) == len(operands) == 1:
        return renewed(tensors[0], expr)
    placements = {placement_of(one) for one in tensors}
    if placements <= _ON_HOST:
        return Tensor(union(_source(one) for one in tensors), "pageable", expr)
    return Tensor(union(_source(one) for one in tensors), "device" if placements == {"device"} else "unknown", expr)


def _plain(values: list[Value]) -> bool:
    return all(isinstance(value, Const) for value in values)


def _source(value: Value) -> Value:
    return value


def device(ev: Evaluator, expr: ast.Call) -> Value:
    """``torch.device("cuda" if … else "cpu")`` is its argument."""
    if not expr.args:
        return UNKNOWN
    value = ev.symbolic(expr.args[0])
    return value if not isinstance(value, WhenAccelerated) else UNKNOWN


def placed(ev: Evaluator, value: Value) -> str:
    """Where a tensor lives: pinned, pageable, device, cpu, host or unknown."""
    match value:
        case Batch():
            if value.loader.prepared:
                return "device"
            return {"yes": "pinned", "no": "pageable", "unknown": "unknown"}[loaders.pins(ev, value.loader)]
        case Tensor(placement="host"):
            found = {placed(ev, one) for one in alternatives(value.source)}
            return found.pop() if found in ({"pageable"}, {"device"}) else "unknown" if "device" in found else "host"
        case _:
            return value.placement if isinstance(value, Tensor) else "unknown"
