"""Values in a few words, for tables of expectations."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.flow.values import (
    Absent,
    Batch,
    Bound,
    Class,
    Collection,
    Const,
    CpuCount,
    Derived,
    External,
    Function,
    Generated,
    Instance,
    Made,
    Module,
    Namespace,
    Number,
    OneOf,
    Option,
    Partial,
    Table,
    Tensor,
    Value,
    WhenAccelerated,
    Wrapped,
)
from dl_lint.source.positions import span

if TYPE_CHECKING:
    from dl_lint.project import Project


def probes(project: Project) -> list[str]:
    """What each ``probe(x)`` in the project is given, in order."""
    calls = [(file.path, span(call), call) for file in project.files for call in file.methods.get("probe", ())]
    return [describe(project.value(call.args[0])) for _, _, call in sorted(calls, key=lambda found: found[:2])]


def describe(value: Value) -> str:
    match value:
        case Const():
            return repr(value.value)
        case Option():
            return f"{value.source} default {describe(value.default)}"
        case Number():
            return "positive number" if value.positive else "number"
        case CpuCount():
            return "capped cpu count" if value.capped else "cpu count"
        case WhenAccelerated():
            return "when accelerated"
        case Absent():
            return "absent"
        case External():
            return value.name
        case Module():
            return f"module {value.file.path}"
        case Function() | Class():
            return f"{type(value).__name__.lower()} {value.scope.name}"
        case Bound():
            return f"method {value.function.scope.name}"
        case Instance():
            return f"a {value.cls.scope.name}"
        case OneOf():
            return " | ".join(sorted(describe(one) for one in value.members))
        case _:
            return _compound(value)


def _compound(value: Value) -> str:
    match value:
        case Made():
            name = value.name.rpartition(".")[2]
            return f"{type(value).__name__.lower()} {name}" + (" prepared" if getattr(value, "prepared", False) else "")
        case Batch():
            return f"{'batch' if value.whole else 'part'} of line {value.loader.call.lineno}"
        case Tensor():
            return f"{value.placement} tensor of {describe(value.source)}"
        case Wrapped():
            return f"{value.kind}({', '.join(map(describe, value.inner))})"
        case Generated():
            return f"generated {describe(value.element)}"
        case Collection(items=None):
            return f"{value.kind} of {describe(value.element)}"
        case Collection(items=tuple() as items):
            return f"{value.kind}({', '.join(map(describe, items))})"
        case Table():
            inside = ", ".join(f"{key}: {describe(one)}" for key, one in value.items)
            return f"{{{inside}{'' if value.closed else ', …'}}}"
        case Partial():
            return f"partial {describe(value.func)}"
        case Namespace():
            return "command line"
        case Derived():
            key = (
                value.key
                if isinstance(value.key, str)
                else describe(value.key)
                if isinstance(value.key, Value)
                else "()"
            )
            step = "" if isinstance(value.key, ast.Call) else key
            return f"{describe(value.base)}.{step}{'()' * (value.step == 'call')}"
        case _:
            return "unknown"
