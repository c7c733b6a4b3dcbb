"""Copies of tensors between host and device."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dl_lint.project import arguments, tensors
from dl_lint.project.values import Absent, Const, Value, alternatives
from dl_lint.source.positions import span
from dl_lint.source.syntax import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.evaluate import Evaluator

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
        return f"`{name}`" if (name := dotted(self.receiver_expr)) else "this"


def transfers(ev: Evaluator) -> Iterator[Transfer]:
    """Every transfer in the linted files, by file, in source order."""
    for file in ev.linted:
        found = [call for name in (*_DESTINATIONS, "to", "copy_") for call in file.methods.get(name, ())]
        for call in sorted(found, key=span):
            if isinstance(call.func, ast.Attribute):
                yield transfer(ev, call, call.func)


def transfer(ev: Evaluator, call: ast.Call, func: ast.Attribute) -> Transfer:
    destination: Destination = _DESTINATIONS.get(func.attr, "unknown")
    if func.attr == "to":
        found = tensors.destination(ev, call)
        destination = (
            "device" if found == "device" else "cpu" if found == "cpu" else "dtype" if found == "dtype" else "unknown"
        )
    return Transfer(call, func.attr, func.value, ev.value(func.value), destination, _asynchronous(ev, call, func.attr))


def _asynchronous(ev: Evaluator, call: ast.Call, method: str) -> bool | None:
    given = arguments.given(ev, call, _POSITIONS.get(method, ()), "non_blocking")
    found = {_truth(one) for one in alternatives(ev.resolve(given.symbolic))}
    return found.pop() if len(found) == 1 else None


def _truth(value: Value) -> bool | None:
    if isinstance(value, Absent):
        return False
    return bool(value.value) if isinstance(value, Const) else None
