"""Batches that are objects of the project's own classes, which the pin thread leaves in pageable memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import attributes, collated, flow, workers
from dl_lint.project.syntax import called, dotted
from dl_lint.project.values import Batch, Class, Const, External, Function, Instance, Nothing, alternatives

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.model import Project
    from dl_lint.project.scopes import Scope
    from dl_lint.project.transfers import Transfer
    from dl_lint.project.values import Loader, Value

_ROWS = frozenset({"tuple", "list"})


def stays_pageable(project: Project, expr: t.Expr) -> bool:
    """Whether a name stands for a part of a batch that is an object without a method ``pin_memory``.

    Pinning asks an object for that method, goes into dicts and sequences, and leaves all else as it is.
    """
    if not isinstance(expr, t.Name):
        return False
    found = [part for one in collated.unpacked(project, expr) for part in collated.parts(project, one)]
    return bool(found) and all(_is_given_object(project, loader, place) for loader, place in found)


def refuses_non_blocking(project: Project, transfer: Transfer) -> bool:
    """Whether a whole batch is copied by ``to`` and may be an object whose own ``to`` takes no ``non_blocking``."""
    if transfer.method != "to":
        return False
    batches = [one for one in alternatives(transfer.receiver) if isinstance(one, Batch) and one.whole]
    return any(_refuses(project, one.loader) for one in batches) or _is_made_sure_of(project, transfer)


def _is_made_sure_of(project: Project, transfer: Transfer) -> bool:
    """Whether code above makes such an object of a batch that is none yet: ``if not isinstance(batch, Graphs): batch =
    Graphs(*batch)``."""
    name = dotted(transfer.receiver_expr)
    for binding in project.function_of(transfer.call).bindings.get(name or "", ()):
        match binding.site.block.owner:
            case t.If(
                test=t.UnaryOp(
                    op="not", operand=t.Call(func=t.Name(id="isinstance"), args=(t.Name(id=tested), t.Expr() as kind))
                )
            ) if tested == name and binding.node.at < transfer.call.at:
                kinds = alternatives(project.value(kind))
                if any(isinstance(one, Class) and _moves_blocking(project, one) for one in kinds):
                    return True
    return False


def _refuses(project: Project, loader: Loader) -> bool:
    collating = tuple(workers.functions(project, project.argument(loader, "collate_fn").value))
    made = [one for function in collating for ret in function.returns for one in alternatives(project.value(ret.value))]
    return any(isinstance(one, Instance) and _moves_blocking(project, one.cls) for one in made)


def _moves_blocking(project: Project, cls: Class) -> bool:
    own = attributes.of_class(project.evaluator, cls, "to")
    return isinstance(own, Function) and not any(
        one.kind == "kwargs" or one.name == "non_blocking" for one in own.scope.params
    )


def _is_given_object(project: Project, loader: Loader | None, place: int | None) -> bool:
    """Whether all collate functions of a loader whose batches can be unpacked put such an object in a place."""
    if loader is None or place is None or place < 0:
        return False
    collating = tuple(workers.functions(project, project.argument(loader, "collate_fn").value))
    fitting = [one for one in collating if not _gives_dict(project, one)]
    return bool(fitting) and all(
        one.returns and all(_holds(project, one, returned.value, place) for returned in one.returns) for one in fitting
    )


def _gives_dict(project: Project, function: Scope) -> bool:
    """Whether a function always returns a dict, which a loop over several names does not mean to unpack."""
    returned = [_named(project, one.value) for one in function.returns]
    return bool(returned) and all(
        isinstance(one, t.Mapping) or (isinstance(one, t.Call) and called(one) == "dict") for one in returned
    )


def _named(project: Project, expr: t.Expr | None) -> t.Expr | None:
    """An expression, or what the one binding of a name gives it."""
    if not isinstance(expr, t.Name):
        return expr
    found = flow.reaching(project.function_of(expr), expr.id, project.site(expr)).bindings
    return found[0].value if len(found) == 1 and found[0].kind == "assign" and not found[0].path else expr


def _holds(project: Project, function: Scope, returned: t.Expr | None, place: int) -> bool:
    """Whether what is returned holds an object that cannot be pinned in a place."""
    if isinstance(returned, t.Call) and dotted(returned.func) in _ROWS and len(returned.args) == 1:
        returned = returned.args[0]
    if isinstance(returned, t.Sequence):
        before = returned.items[: place + 1]
        return (
            len(before) > place
            and not any(isinstance(one, t.Starred) for one in before)
            and _is_object(project, project.value(before[place]))
        )
    if not isinstance(returned, t.Name):
        return False
    stored = list(_stored(project, function, returned.id, place))
    return bool(stored) and all(_is_object(project, project.value(one)) for one in stored)


def _stored(project: Project, function: Scope, name: str, place: int) -> Iterator[t.Expr]:
    """What a function stores in a place of a list."""
    for change in function.changes.get(name, ()):
        if change.kind == "item" and change.value is not None and change.key is not None:
            key = project.value(change.key)
            if isinstance(key, Const) and key.value == place:
                yield change.value


def _is_object(project: Project, value: Value) -> bool:
    """Whether a value is an object of a class of the project that derives from nothing else and cannot be pinned."""
    found = alternatives(value)
    return bool(found) and all(isinstance(one, Instance) and _is_unpinnable(project, one.cls) for one in found)


def _is_unpinnable(project: Project, cls: Class) -> bool:
    above = attributes.lineage(project.evaluator, cls)
    known = all(isinstance(one, Class) or one == External("builtins.object") for one in above)
    return known and all(
        isinstance(attributes.of_class(project.evaluator, cls, name), Nothing) for name in ("pin_memory", "__getattr__")
    )
