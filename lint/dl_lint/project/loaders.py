"""Loaders and samplers as rules ask about them: every construction, its arguments, its workers, its pinning."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dl_lint.hints import names_one
from dl_lint.project import arguments, attributes
from dl_lint.project.frameworks import LOADERS, SAMPLERS
from dl_lint.project.values import (
    NOTHING,
    UNKNOWN,
    Absent,
    Class,
    Const,
    CpuCount,
    Loader,
    Made,
    Number,
    Option,
    Sampler,
    Value,
    WhenAccelerated,
    alternatives,
)
from dl_lint.source.positions import span
from dl_lint.source.syntax import Assignment, dotted, targets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.evaluate import Evaluator
    from dl_lint.project.scopes import FileIndex

Workers = Literal["some", "none", "default-none", "unknown"]
Pins = Literal["yes", "no", "unknown"]


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument over all known callers: ``ABSENT`` if not given. ``node`` is where the call gives it."""

    value: Value
    node: ast.AST

    @property
    def expr(self) -> ast.AST:
        """The expression that is passed, without its keyword."""
        return self.node.value if isinstance(self.node, ast.keyword) else self.node

    @property
    def given(self) -> bool:
        return not isinstance(self.value, Absent)


def argument(ev: Evaluator, made: Made, name: str) -> Argument:
    return ev.once(("argument", made, name), lambda: _argument(ev, made, name))


def _argument(ev: Evaluator, made: Made, name: str) -> Argument:
    found = arguments.argument(ev, made, name)
    if found is None:
        return Argument(UNKNOWN, made.call)
    value = ev.resolve(found.symbolic)
    return Argument(UNKNOWN if value == NOTHING else value, found.node)


def passed(ev: Evaluator, call: ast.Call, name: str, positions: tuple[str, ...]) -> Argument:
    found = arguments.given(ev, call, positions, name)
    value = ev.resolve(found.symbolic)
    return Argument(UNKNOWN if value == NOTHING else value, found.node)


def workers(ev: Evaluator, loader: Loader) -> Workers:
    """Whether a loader has workers; default-none when it has none unless the user asks for some."""
    found = {_workers(one) for one in alternatives(argument(ev, loader, "num_workers").value)}
    return found.pop() if len(found) == 1 else "unknown"


def may_have_workers(ev: Evaluator, loader: Loader) -> bool:
    """Whether a loader has workers in some of the ways that lead to it."""
    return any(_workers(one) == "some" for one in alternatives(argument(ev, loader, "num_workers").value))


def _workers(value: Value) -> Workers:
    match value:
        case Absent() | Const(kind="none"):
            return "none"
        case Const(value=int() | float() as number):
            return "some" if number > 0 else "none"
        case CpuCount() | Number(positive=True):
            return "some"
        case Option():
            found = {_workers(one) for one in alternatives(value.default)}
            if found == {"none"}:
                return "default-none"
            return "some" if found == {"some"} else "unknown"
        case _:
            return "unknown"


def pins(ev: Evaluator, loader: Loader) -> Pins:
    """Whether a loader pins its batches where that matters.

    ``torch.cuda.is_available()`` counts as yes, and so does True in keywords that are only passed in some runs.
    """
    found = {_pins(one) for one in alternatives(argument(ev, loader, "pin_memory").value)}
    if found == {"yes", "absent"}:
        return "yes"
    found = {"no" if one == "absent" else one for one in found}
    one = found.pop() if len(found) == 1 else "unknown"
    return "yes" if one == "yes" else "no" if one == "no" else "unknown"


def _pins(value: Value) -> str:
    match value:
        case Absent():
            return "absent"
        case WhenAccelerated():
            return "yes"
        case Const():
            return "yes" if value.value else "no"
        case Option(default=Const(value=True)):
            return "yes"
        case _:
            return "unknown"


# --- where they are made ------------------------------------------------------------------


def constructions(ev: Evaluator) -> tuple[tuple[Loader, ...], tuple[Sampler, ...]]:
    """Every loader and sampler made in the linted files, in source order."""
    names = _class_names(ev)
    loaders: dict[Loader, None] = {}
    samplers: dict[Sampler, None] = {}
    for file in ev.linted:
        for call in sorted(_calls_by(file, names), key=span):
            for one in alternatives(ev.symbolic(call)):
                if isinstance(one, Loader) and one.call is call:
                    loaders[one] = None
                elif isinstance(one, Sampler) and one.call is call:
                    samplers[one] = None
    return tuple(loaders), tuple(samplers)


def _calls_by(file: FileIndex, names: set[str]) -> Iterator[ast.Call]:
    for name in names:
        yield from file.methods.get(name, ())


def _class_names(ev: Evaluator) -> set[str]:
    """Every name that a loader or sampler class may be called by: its own, its subclasses', those it is bound to."""
    hinted = ev.hints.dataloader_classes
    names = {name.rpartition(".")[2] for name in (*LOADERS, *SAMPLERS, *hinted)}
    known = set(LOADERS) | set(SAMPLERS)
    for file in ev.linted:
        for scope in file.scopes:
            if scope.kind == "class":
                bases = attributes.external_bases(ev, Class(scope))
                if not known.isdisjoint(bases) or (hinted and any(names_one(hinted, base) for base in bases)):
                    names.add(scope.name)
    for _ in range(2):
        names |= {bound for file in ev.linted for bound in _bound_to(ev, file, names)}
    return names


def _bound_to(ev: Evaluator, file: FileIndex, names: set[str]) -> Iterator[str]:
    """Names that are given one of ``names`` without calling it: ``cls = DataLoader if … else …``, imports as."""
    for scope in file.scopes:
        for name, bindings in scope.bindings.items():
            for binding in bindings:
                if binding.kind == "from" and binding.alias is not None and binding.alias.name in names:
                    yield name
        for wanted in names & scope.loads.keys():
            for load in scope.loads[wanted]:
                yield from _receivers(ev, load)


def _receivers(ev: Evaluator, node: ast.AST) -> Iterator[str]:
    above = ev.parents.get(node)
    while isinstance(above, ast.IfExp | ast.BoolOp | ast.Call | ast.Attribute) and not _is_called(above, node):
        node, above = above, ev.parents.get(above)
    if isinstance(above, Assignment):
        yield from (name.rpartition(".")[2] for target in targets(above) if (name := dotted(target)))
    elif isinstance(above, ast.keyword) and above.arg is not None:
        yield above.arg


def _is_called(above: ast.AST, node: ast.AST) -> bool:
    return isinstance(above, ast.Call) and above.func is node
