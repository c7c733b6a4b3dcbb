"""Copies of tensors between host and device."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dl_lint.flow import call_graph
from dl_lint.flow.features import feature
from dl_lint.flow.interpreter import arguments, classes, functions, tensor_memory
from dl_lint.flow.placement import ACCELERATORS
from dl_lint.flow.values import (
    NONE,
    Absent,
    Batch,
    Class,
    Const,
    External,
    Function,
    Instance,
    Option,
    Parameter,
    Tensor,
    Value,
    alternatives,
)
from dl_lint.pipeline import loaders, loops, workers
from dl_lint.source.positions import span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.program import Program
    from dl_lint.flow.values import Loader


Destination = Literal["device", "cpu", "dtype", "pinned", "unknown"]

_DESTINATIONS: dict[str, Destination] = {
    "cuda": "device",
    "xpu": "device",
    "npu": "device",
    "cpu": "cpu",
    "pin_memory": "pinned",
}
_POSITIONS = {
    "to": ("device", "dtype", "non_blocking"),
    "cuda": ("device", "non_blocking"),
    "copy_": ("src", "non_blocking"),
}


@dataclass(frozen=True, slots=True)
class Transfer:
    """A call of ``to``, ``cuda``, ``cpu``, ``pin_memory`` or ``copy_`` on ``receiver``, something that may be a tensor.

    ``asynchronous`` is what ``non_blocking`` says: True, False (not given), or None where that is not known.
    """

    call: ast.Call
    method: str
    receiver_expr: ast.expr
    receiver: Value
    destination: Destination
    asynchronous: bool | None

    @property
    def told(self) -> str:
        """What is copied, as messages name it."""
        text = ast.unparse(self.receiver_expr)
        return f"`{text}`" if len(text) <= LONGEST else f"`{text[: LONGEST - 1]}…`"


def transfers(program: Program) -> Iterator[Transfer]:
    """Every transfer in the linted files, by file, in source order."""
    for file in program.files:
        found = [call for name in (*_DESTINATIONS, "to", "copy_") for call in file.methods.get(name, ())]
        for call in sorted(found, key=span):
            if isinstance(call.func, ast.Attribute):
                yield transfer(program, call, call.func)


def transfer(program: Program, call: ast.Call, func: ast.Attribute) -> Transfer:
    destination: Destination = _DESTINATIONS.get(func.attr, "unknown")
    if func.attr == "to":
        found = tensor_memory.destination(program, call)
        destination = (
            "device" if found == "device" else "cpu" if found == "cpu" else "dtype" if found == "dtype" else "unknown"
        )
    return Transfer(
        call, func.attr, func.value, program.value(func.value), destination, _asynchronous(program, call, func.attr)
    )


def _asynchronous(program: Program, call: ast.Call, method: str) -> bool | None:
    given = arguments.given(program, call, _POSITIONS.get(method, ()), "non_blocking")
    found = {_truth(one) for one in alternatives(program.resolve(given.symbolic))}
    return found.pop() if len(found) == 1 else None


def _truth(value: Value) -> bool | None:
    if isinstance(value, Absent):
        return False
    return bool(value.value) if isinstance(value, Const) else None


OBJECT = External("builtins.object")

LONGEST = 40
"""Characters of an expression that a message shows."""

FARTHEST = 4
"""Calls that a device is followed through; it is made in main() and handed on two or three times."""


@feature("devices that are accelerators", True)
def is_accelerator(program: Program, expr: ast.expr) -> bool:
    """Whether a device is an accelerator, at least where there is one, for all known callers.

    ``"cuda" if torch.cuda.is_available() else "cpu"`` is; what one caller sets to cuda and another to cpu is not.
    """
    return _names_accelerator(program, program.symbolic(expr))


def _names_accelerator(program: Program, symbolic: Value, depth: int = FARTHEST) -> bool:
    """The same of a value whose parameters are open."""
    found = [one for one in alternatives(symbolic) if one != NONE]
    open_ = [one for one in found if isinstance(one, Parameter)]
    if open_:
        return len(open_) == len(found) and all(_passed(program, one, depth) for one in open_)
    return any(_is_named(one) for one in found)


def _passed(program: Program, parameter: Parameter, depth: int) -> bool:
    frames = call_graph.callers(program, parameter.scope) if depth else ()
    if not frames:
        default = parameter.param.default
        return default is not None and _names_accelerator(program, program.symbolic(default), 0)
    passed = (call_graph.passed_for(program, frame, parameter) for frame in frames)
    return all(_names_accelerator(program, one, depth - 1) for one in passed)


def _is_named(value: Value) -> bool:
    if isinstance(value, Option):
        return any(_is_named(one) for one in alternatives(value.default))
    return isinstance(value, Const) and str(value.value).partition(":")[0] in ACCELERATORS


def pinning_loader(program: Program, transfer: Transfer) -> Loader | None:
    """A loader that pins and whose batch may be what is copied, one with workers if any; None where one that does not
    pin may have it too, or where some caller has it on the device already."""
    found = alternatives(transfer.receiver)
    batches = [one.loader for one in found if isinstance(one, Batch)]
    moved = any(isinstance(one, Tensor) and one.placement == "device" for one in found)
    if moved or any(loaders.pins(program, one) == "no" or not can_be_pinned(program, one) for one in batches):
        return None
    pinning = [one for one in batches if not one.prepared and loaders.pins(program, one) == "yes"]
    return min(pinning, key=lambda one: loaders.workers(program, one) == "none", default=None)


def is_on_host(value: Value) -> bool:
    """Whether a value may be on the host before it is copied."""
    return any(
        isinstance(one, Batch) or (isinstance(one, Tensor) and one.placement in ("pinned", "pageable", "cpu", "host"))
        for one in alternatives(value)
    )


def is_pinned(move: Transfer) -> bool:
    found = alternatives(move.receiver)
    return bool(found) and all(isinstance(one, Tensor) and one.placement == "pinned" for one in found)


def is_from_device(program: Program, move: Transfer) -> bool:
    """Whether ``host.copy_(source)`` may copy from the device. A plain copy within the host is done when it returns."""
    return bool(move.call.args) and not is_on_host(program.value(move.call.args[0]))


def bringing(program: Program) -> dict[ast.AST, Transfer]:
    """The copy that brings the batches of a loader, by the call that makes it, to the device: one that the host waits
    for, if there is one."""
    found: dict[ast.AST, Transfer] = {}
    for one in sorted(transfers(program), key=lambda one: one.asynchronous is not False):
        if one.destination == "device":
            for loader in loops.batches_in(one.receiver):
                if not loader.prepared:
                    found.setdefault(loader.call, one)
    return found


def nobody_pins(program: Program, near: ast.AST) -> bool:
    """Whether no loader of the sub-project may pin, so that what is not known of a batch does not matter."""
    nearby = [loader for loader in loaders.all_loaders(program) if program.are_near(loader.call, near)]
    return not program.mentions(near, ".pin_memory()") and all(loaders.pins(program, one) == "no" for one in nearby)


def collated(program: Program, loader: Loader) -> tuple[Class, ...] | None:
    """The classes of the project whose objects are a loader's batches; none where torch collates them, None where that
    is not known."""
    given = alternatives(loaders.argument(program, loader, "collate_fn").value)
    if all(isinstance(one, Absent) or one == NONE for one in given):
        return ()
    makers = [scope for one in given for scope in workers.functions(program, one)]
    made = [one for scope in makers for one in alternatives(program.resolve(functions.returned(program, scope)))]
    found = [one.cls for one in made if isinstance(one, Instance)]
    return tuple(dict.fromkeys(found)) if found and len(found) == len(made) else None


@feature("batches of a project's own class", True)
def can_be_pinned(program: Program, loader: Loader) -> bool:
    """Whether a loader's batches are tensors and containers of them, or objects that have ``pin_memory()``; any other
    object is handed on as it is."""
    for cls in collated(program, loader) or ():
        own = all(isinstance(one, Class) or one == OBJECT for one in classes.lineage(program, cls))
        if own and not isinstance(classes.of_class(program, cls, "pin_memory"), Function):
            return False
    return True


@feature("batches of a project's own class", ())
def without_non_blocking(program: Program, transfer: Transfer, loader: Loader) -> tuple[Class, ...]:
    """The classes of the project whose ``to`` is called, if that takes no ``non_blocking``."""
    whole = any(isinstance(one, Batch) and one.whole for one in alternatives(transfer.receiver))
    found = collated(program, loader) if whole else ()
    return tuple(one for one in found or () if not _takes(program, one, transfer.method, "non_blocking"))


def takes_non_blocking(program: Program, transfer: Transfer, loader: Loader) -> bool:
    """Whether a copy is known to take ``non_blocking``: of a tensor, or of an object whose method takes it."""
    whole = any(isinstance(one, Batch) and one.whole for one in alternatives(transfer.receiver))
    if not whole or transfer.method != "to" or loader.name.startswith("torch_geometric."):
        return True
    return collated(program, loader) is not None and not without_non_blocking(program, transfer, loader)


def _takes(program: Program, cls: Class, method: str, parameter: str) -> bool:
    defined = classes.of_class(program, cls, method)
    return not isinstance(defined, Function) or any(
        one.name == parameter or one.kind == "kwargs" for one in defined.scope.params
    )


def pinning_argument(program: Program, loader: Loader) -> ast.AST:
    """Where it says so: the keyword, or the call that is handed it in a dict or through a subclass."""
    keyword = next((one for one in loader.call.keywords if one.arg == "pin_memory"), None)
    if keyword is not None:
        return keyword
    said = loaders.argument(program, loader, "pin_memory").node
    return said if isinstance(said, ast.keyword) and said.arg is not None else loader.call
