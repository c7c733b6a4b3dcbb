"""The memory of tensors: what methods and functions of torch make of it, and which indices and views keep it whole."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.flow import placement
from dl_lint.flow.features import feature
from dl_lint.flow.hints import names_one
from dl_lint.flow.interpreter import arguments, operations
from dl_lint.flow.placement import ACCELERATORS
from dl_lint.flow.program import operation
from dl_lint.flow.values import (
    NOTHING,
    UNKNOWN,
    Absent,
    Batch,
    Collection,
    Const,
    Derived,
    External,
    Made,
    Number,
    Option,
    Picked,
    Tensor,
    Unknown,
    Value,
    WhenAccelerated,
    alternatives,
    union,
)
from dl_lint.source.syntax import Comprehension, Display, dotted

if TYPE_CHECKING:
    from dl_lint.flow.program import Program


PARTS = frozenset({"values", "get", "pop"})
"""Methods that take a part of a batch that is a dict."""


def kinds(program: Program, name: str) -> frozenset[str]:
    """What a method of a tensor gives, as the stubs of torch say."""
    return frozenset(mark.kind for mark in program.models.get(f"torch.Tensor.{name}").marks)


def tensor_method(program: Program, receiver: Batch | Tensor, name: str, expr: ast.Call) -> Value:
    """A method of a tensor, or of a batch (which may be a dict or an object that holds tensors)."""
    moved_ = moved(program, receiver, name, expr)
    if moved_ is not None:
        return moved_
    either = _function_or_method(program, receiver, name, expr, 0)
    if either is not None:
        return either
    if name == "items" and isinstance(receiver, Batch):
        part = Batch(receiver.loader, whole=False)
        return Collection("list", None, operations.pair(UNKNOWN, part), None)
    if name in ("type", "type_as"):
        return (
            cast(program, receiver, expr)
            if cast_dtype(program, expr)
            else Tensor(receiver, placement._unmoved(receiver), expr)
        )
    if "Cast" in kinds(program, name):
        return cast(program, receiver, expr)
    if isinstance(receiver, Tensor) and name.endswith("_") and not name.startswith("_"):
        return receiver  # in place
    if name == "tolist":
        return Collection("list", None, Number(), expr)
    return operations.derived(receiver, "attr", name) if "Array" in kinds(program, name) else UNKNOWN


def _function_or_method(
    program: Program, operand: Batch | Tensor, name: str, expr: ast.Call, first: int
) -> Value | None:
    """``operand.name(…)``, or ``torch.name(operand, …)``, whose other arguments begin at ``first``."""
    found = kinds(program, name)
    if "View" in found or name in PARTS:
        if not is_of_one_piece(program, name, expr, first):
            return placement.renewed(operand, expr)
        return Batch(operand.loader, whole=False) if isinstance(operand, Batch) else operand
    if isinstance(operand, Batch) and name in _OF_CONTAINERS:
        return None
    return placement.computed(operand, expr) if not found.isdisjoint(("Fresh", "New")) else None


def cast(program: Program, operand: Batch | Tensor, call: ast.Call) -> Tensor:
    """``operand`` itself if it is of the dtype that ``call`` asks for, else new memory: pageable on the host."""
    before = operand.node if isinstance(operand, Tensor) else None
    known = {cast_dtype(program, before) if isinstance(before, ast.Call) else None, cast_dtype(program, call)}
    return (
        placement.computed(operand, call) if len(known) == 2 and None not in known else placement.renewed(operand, call)
    )


def moved(program: Program, receiver: Value, name: str, expr: ast.Call) -> Value | None:
    """The result of a transfer; None for any other method."""
    match name:
        case "cuda" | "xpu" | "npu":
            return Tensor(receiver, "device", expr)
        case "pin_memory":
            return Tensor(receiver, "pinned", expr)
        case "cpu":
            return Tensor(receiver, "cpu", expr)
        case "to":
            kind = destination(program, expr)
            if kind == "dtype":
                if isinstance(receiver, Batch | Tensor):
                    return cast(program, receiver, expr)
                return Tensor(receiver, "unknown", expr)
            return Tensor(receiver, {"device": "device", "cpu": "cpu"}.get(kind, "unknown"), expr)
        case _:
            return None


def destination(program: Program, expr: ast.Call) -> str:
    """Where ``.to(…)`` moves to: device, cpu, dtype or unknown."""
    target = arguments.given(program, expr, ("device",), "device")
    node = target.node.value if isinstance(target.node, ast.keyword) else target.node
    if node is expr:
        return "dtype" if arguments.given(program, expr, (), "dtype").node is not expr else "unknown"
    found = {_kind(one) for one in alternatives(target.symbolic)}
    if found <= {"device", "cpu"} and "device" in found:
        return "device"
    if len(found) == 1 and found != {"unknown"}:
        return found.pop()
    return _named(program, node)


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


def _named(program: Program, node: ast.AST) -> str:
    """By its name, as torch code goes: ``device``, ``self.device``, ``gpu``, ``rank``; ``dtype``."""
    written = dotted(node.func if isinstance(node, ast.Call) else node)
    if written is not None and names_one(program.hints.device_names, written):
        return "device"
    name = (dotted(node) or "").rpartition(".")[2].lower().strip("_")
    if isinstance(node, ast.Call):
        name = (dotted(node.func) or "").rpartition(".")[2].lower()
    if "dtype" in name:
        return "dtype"
    if name == "dev" or "device" in name or name in ("gpu", "gpu_id", "cuda", "rank", "local_rank"):
        return "device"
    return "unknown"


@feature("functions of torch on tensors", None)
def torch_function(program: Program, name: str, expr: ast.Call) -> Value | None:
    """The tensor that a function of torch returns, as far as its placement goes; None for other functions."""
    if name == "torch.device":
        return device(program, expr)
    package, _, last = name.rpartition(".")
    called = Made(name, expr)
    if not name.startswith("torch."):
        return None
    model = program.models.get(name)
    if model.has("Fresh", "New") or last in FROM_DATA:
        return _fresh(program, called, last)
    if package != "torch" or (last not in LEGACY and not model.has("View")):
        return None
    operand = _first_operand(program, expr)
    return None if operand is None and last not in LEGACY else of_operand(program, operand or NOTHING, called)


def _fresh(program: Program, called: Made, last: str) -> Value:
    """The tensor that a function returns in new memory, wherever it is asked to be."""
    expr = called.call
    where = arguments.given(program, expr, (), "device")
    if where.node is not expr:
        return Tensor(UNKNOWN, _given_device(program, where), expr)
    pinned = arguments.given(program, expr, (), "pin_memory")
    if pinned.node is not expr and pinned.symbolic != Const(False, "bool"):
        return Tensor(UNKNOWN, "pinned", expr)
    if last == "from_numpy" or makes_of_nothing(program, called.name):
        return Tensor(UNKNOWN, "pageable", expr)
    return of_operand(program, _first_operand(program, expr), called)


def _first_operand(program: Program, expr: ast.Call) -> Value | None:
    given = arguments.given(program, expr, ("input",), "input").symbolic
    return None if isinstance(given, Absent) else given


@operation("of_torch")
def of_operand(program: Program, operand: Value | None, called: Made) -> Value:
    """What a function of torch makes of its first operand, which waits for parameters to be bound."""
    last = called.name.rpartition(".")[2]
    if last in LEGACY or last in FROM_DATA or program.models.has(called.name, "Fresh", "New"):
        return _from_operands(program, operand, called, last)
    return union(_of_operand(program, one, called, last) for one in alternatives(operand or UNKNOWN))


def _of_operand(program: Program, operand: Value, called: Made, last: str) -> Value:
    if operations.is_open(operand):
        return operations.derived(operand, "operand", called)
    made = _function_or_method(program, operand, last, called.call, 1) if isinstance(operand, Batch | Tensor) else None
    return called if made is None else made


def _given_device(program: Program, where: arguments.Given) -> str:
    """What ``device=`` says: cpu, unknown, or device, also where that is used if there is one."""
    found = {_kind(one) for one in alternatives(where.symbolic)}
    if found <= {"device", "cpu"} and found:
        return "device" if "device" in found else "cpu"
    named = _named(program, where.node.value if isinstance(where.node, ast.keyword) else where.node)
    return "device" if named == "device" else "unknown"


def makes_of_nothing(program: Program, name: str) -> bool:
    """Whether a function of torch makes a tensor of no other: on the host, unless ``device`` says otherwise."""
    return name.startswith("torch.") and any(
        mark.kind == "New" and not mark.of for mark in program.models.get(name).marks
    )


LEGACY = frozenset(
    f"{kind}Tensor"
    for kind in ("", "Byte", "Char", "Short", "Int", "Long", "Half", "BFloat16", "Float", "Double", "Bool")
)
"""Constructors of torch's first years: of sizes or of data, on the host."""

FROM_DATA = frozenset({"tensor", "as_tensor", "from_numpy"})
"""Functions that are given numbers, lists of such, or arrays: of these the result is made on the host."""


def is_data(program: Program, expr: ast.expr) -> bool:
    """Whether an expression is a number or a list, ``[label] * count``, of which torch makes a tensor on the host."""
    match expr:
        case (
            ast.Tuple() | ast.List() | ast.Set() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp()
        ):
            return True
        case ast.BinOp(left=left, op=ast.Mult() | ast.Add(), right=right):
            return isinstance(left, Display | Comprehension) or isinstance(right, Display | Comprehension)
        case _:
            found = alternatives(program.symbolic(expr))
            return bool(found) and all(_is_data(one) for one in found)


def _is_data(value: Value) -> bool:
    """Whether a value is a number or holds such: also ``range``, and by PEP 8 a constant of another package."""
    match value:
        case External(name=name):
            return name.rpartition(".")[2].isupper()
        case Made(name=name):
            return name == "builtins.range"
        case _:
            return isinstance(value, Collection | Const | Number)


def _from_operands(program: Program, operand: Value | None, called: Made, last: str) -> Value:
    """New memory where the operands live, or for ``as_tensor`` and the old constructors an operand itself."""
    expr = called.call
    listed = operand.items if isinstance(operand, Collection) else None
    operands = list(alternatives(operand or NOTHING) if listed is None else listed)
    tensors = [one for one in operands if isinstance(one, Batch | Tensor)]
    waited_for = next(filter(operations.is_open, operands), None)
    if not tensors and waited_for is not None:
        return operations.derived(waited_for, "operand", called)
    if not tensors:
        plain = not operands or _plain(operands)
        if last in FROM_DATA | LEGACY:
            plain = plain or all(map(_is_data, operands)) or is_data(program, expr.args[0])
        plain = plain or (last in LEGACY and len(expr.args) > 1)
        return Tensor(UNKNOWN, "pageable" if plain else "host" if last in LEGACY else "unknown", expr)
    if (last == "as_tensor" or last in LEGACY) and len(tensors) == len(operands) == 1:
        return placement.renewed(tensors[0], expr)
    placements = {placement.placement_of(one) for one in tensors}
    if placements <= placement._ON_HOST:
        return Tensor(union(_source(one) for one in tensors), "pageable", expr)
    return Tensor(union(_source(one) for one in tensors), "device" if placements == {"device"} else "unknown", expr)


def _plain(values: list[Value]) -> bool:
    return all(isinstance(value, Const) for value in values)


def _source(value: Value) -> Value:
    return value


def device(program: Program, expr: ast.Call) -> Value:
    """``torch.device("cuda" if … else "cpu")`` is its argument."""
    if not expr.args:
        return UNKNOWN
    value = program.symbolic(expr.args[0])
    return value if not isinstance(value, WhenAccelerated) else UNKNOWN


_SAME = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "byte": "uint8",
    "char": "int8",
    "short": "int16",
    "int": "int32",
    "long": "int64",
}
"""The dtypes that have another name."""


@feature("dtypes of casts", None)
def cast_dtype(program: Program, call: ast.Call) -> str | None:
    """What a call of a method that casts casts to: ``float32`` for ``float()``; None where that is not known."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if name not in ("to", "type"):
        return _SAME.get(name, name) if "Cast" in kinds(program, name) and name != "type_as" else None
    found = alternatives(arguments.given(program, call, ("dtype",), "dtype").symbolic)
    one = found[0] if len(found) == 1 else None
    written = one.name if isinstance(one, External) else one.value if isinstance(one, Const) else None
    package, _, last = written.rpartition(".") if isinstance(written, str) else ("", "", "")
    if package != "torch":
        return None
    last = last.removesuffix("Tensor").lower()
    return _SAME.get(last, last) or None


_OF_CONTAINERS = frozenset({"index", "put", "sort", "add", "copy"})
"""Methods of tensors that lists, sets and dicts have too."""

_SCATTERING = frozenset(
    {"as_strided", "broadcast_to", "diagonal", "dsplit", "expand", "expand_as", "hsplit", "tensor_split", "unfold",
     "vsplit"}
)  # fmt: skip
"""Views that need not be one piece of the tensor's memory."""

_ALONG = {"narrow": 0, "select": 0, "unbind": 0, "chunk": 1, "split": 1}
"""Methods that take parts along a dimension, with the position of the argument that says which."""

_REORDERING = frozenset({"permute", "transpose", "t", "swapaxes", "movedim", "swapdims", "moveaxis", "adjoint"})

_LAYING_OUT = frozenset({"contiguous", "reshape", "flatten"})
"""Methods that copy what does not lie in order."""


def is_of_one_piece(program: Program, name: str, call: ast.Call, first: int) -> bool:
    """Whether the result of a view is one piece of the tensor's memory, so that it can be copied from there as it is.
    The arguments of the method begin at ``first`` of those of the call.

    Not what is repeated, parts along another dimension than the first, and ``permute(…).contiguous()``, which is new.
    """
    if name in _SCATTERING:
        return False
    if name in _ALONG:
        along = arguments.given(program, call, ("",) * (first + _ALONG[name]) + ("dim",), "dim")
        return along.node is call or along.symbolic == Const(0, "int")
    return name not in _LAYING_OUT or not _is_reordered(program, call)


def _is_reordered(program: Program, call: ast.Call) -> bool:
    """Whether the tensor that a view is taken of is one of other views, of which one changes the order."""
    before = _viewed(call)
    while isinstance(before, ast.Call) and "View" in kinds(program, name := _name_of(before)):
        if name in _REORDERING:
            return True
        before = _viewed(before)
    return False


def _viewed(call: ast.Call) -> ast.expr | None:
    """What a view is taken of: ``x`` of ``x.t()`` and of ``torch.t(x)``."""
    if isinstance(call.func, ast.Attribute) and dotted(call.func.value) != "torch":
        return call.func.value
    return call.args[0] if call.args else None


def _name_of(call: ast.Call) -> str:
    name = dotted(call.func) or getattr(call.func, "attr", None)
    return str(name).rpartition(".")[2]


def index_value(program: Program, expr: ast.Subscript) -> Value:
    """What ``expr`` indexes by; ``Picked`` where its result need not be one piece of the memory of a tensor."""
    index = expr.slice
    if is_scattered(index):
        return Picked(expr, apart=True)
    found = program.symbolic(index)
    if isinstance(index, Display):
        if isinstance(index, ast.List):  # indices of samples: what they choose is copied
            return Picked(expr, apart=True)
        return found if all(_is_plain(program, one) for one in index.elts) else Picked(expr, apart=True)
    return (
        found if not isinstance(found, Unknown | Collection) or _is_plain(program, index) else Picked(expr, apart=False)
    )


@feature("slices in several pieces")
def is_scattered(index: ast.expr) -> bool:
    """Whether a slice has a step, or an index after the first takes a part of a dimension: ``[:, :n]``, ``[..., 0]``.

    Torch copies such a view to the device through pageable memory (pytorch/pytorch#111570).
    """
    kept = False
    for one in index.elts if isinstance(index, Display) else (index,):
        if isinstance(one, ast.Slice):
            if one.step is not None or (kept and (one.lower is not None or one.upper is not None)):
                return True
            kept = True
        elif isinstance(one, ast.Constant) and one.value is ...:
            kept = True
        elif kept and not (isinstance(one, ast.Constant) and one.value is None):
            return True
    return False


def _is_plain(program: Program, index: ast.expr) -> bool:
    """Whether an index is a number, a slice, a key, or a name that a loop counts with."""
    match index:
        case ast.Slice() | ast.Constant() | ast.JoinedStr():
            return True
        case ast.UnaryOp(operand=operand):
            return _is_plain(program, operand)
        case ast.BinOp(left=left, right=right):
            return _is_plain(program, left) and _is_plain(program, right)
        case ast.Name(id=name):
            value = program.symbolic(index)
            if not isinstance(value, Unknown):
                return isinstance(value, Const | Number | Option)
            return _counts(program, index, name)
        case _:
            return False


def _counts(program: Program, index: ast.Name, name: str) -> bool:
    scope = program.site(index).scope
    bindings = scope.bindings.get(name, ())
    while not bindings and scope.kind in ("comprehension", "lambda") and scope.parent is not None:
        scope = scope.parent
        bindings = scope.bindings.get(name, ())
    return bool(bindings) and all(one.kind in ("for", "augment") for one in bindings)
