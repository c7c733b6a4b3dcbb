"""Parts of a batch that a collate function cut out of a tensor, so that no one piece of memory holds them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import apply, flow, names, subscripts, workers
from dl_lint.project.values import Batch, alternatives

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.model import Project
    from dl_lint.project.scopes import Binding, Scope
    from dl_lint.project.transfers import Transfer
    from dl_lint.project.values import Loader

_VIEWS = frozenset({"detach", "unsqueeze", "squeeze", "transpose", "permute", "t"})
"""Methods whose result lies in memory as the tensor does."""

_MOVES = frozenset({"to", "cuda"})

FARTHEST = 4
"""Names and views that a returned tensor is followed through."""


def makes_wait(project: Project, transfer: Transfer) -> bool:
    """Whether the host waits for a copy, or for another right after it, as what is copied lies scattered.

    ``y[:, 1:]`` keeps its strides through the worker's queue and in pinned memory, and torch copies it to the device
    through pageable memory.
    """
    return _is_scattered(project, transfer.receiver_expr) or any(
        not copy.keywords and _is_scattered(project, copied) for copy, copied in _right_after(project, transfer.call)
    )


def _right_after(project: Project, call: t.Call) -> Iterator[tuple[t.Call, t.Expr]]:
    """The copies behind one in its statement, and those in the next statements that do nothing else."""
    stmt = project.statement_of(call)
    above = project.parent(stmt) if stmt is not None else None
    body = getattr(above, "body", ())
    if not isinstance(body, tuple) or stmt not in body:
        return
    for one in body[body.index(stmt) :]:
        if not isinstance(one, t.Assign) or one.value is None:
            return
        for copy in one.value.items if isinstance(one.value, t.Sequence) else (one.value,):
            if not (isinstance(copy, t.Call) and isinstance(copy.func, t.Attribute) and copy.func.attr in _MOVES):
                return
            if copy.at > call.at:
                yield copy, copy.func.value


def _is_scattered(project: Project, expr: t.Expr) -> bool:
    """Whether a name stands for a part of a batch that the collate function returns scattered, in all ways known."""
    if not isinstance(expr, t.Name):
        return False
    found = [part for one in unpacked(project, expr) for part in parts(project, one)]
    return bool(found) and all(_comes_scattered(project, loader, place) for loader, place in found)


def unpacked(project: Project, name: t.Name) -> tuple[Binding, ...]:
    site = project.site(name)
    found = flow.reaching(project.function_of(name), name.id, site).bindings
    return found if all(one.path and one.kind in ("assign", "for") for one in found) else ()


def parts(project: Project, binding: Binding) -> Iterator[tuple[Loader | None, int | None]]:
    """The loaders whose batches a binding unpacks, with the place in the batch; None for what is no such part."""
    value = project.value(binding.value)
    value = value if binding.kind == "assign" else apply.iterate(project.evaluator, value)
    for one in alternatives(names.unpack(project.evaluator, value, binding.path[:-1])):
        yield (one.loader, binding.path[-1]) if isinstance(one, Batch) and one.whole else (None, None)


def _comes_scattered(project: Project, loader: Loader | None, place: int | None) -> bool:
    if loader is None or place is None:
        return False
    collating = tuple(workers.functions(project, project.argument(loader, "collate_fn").value))
    returned = [one.value for function in collating for one in function.returns]
    return bool(returned) and all(_is_cut(project, one, place) for one in returned)


def _is_cut(project: Project, returned: t.Expr | None, place: int) -> bool:
    if not isinstance(returned, t.Sequence) or not -len(returned.items) <= place < len(returned.items):
        return False
    before = returned.items[: place + 1] if place >= 0 else returned.items[place:]
    return not any(isinstance(one, t.Starred) for one in before) and _is_slice(
        project, project.function_of(returned), returned.items[place], FARTHEST
    )


def _is_slice(project: Project, function: Scope, expr: t.Expr | None, links: int) -> bool:
    """Whether an expression is a slice past the first dimension, or a view of one."""
    match expr:
        case t.Subscript(index=index):
            return subscripts.is_scattered(index)
        case t.Call(func=t.Attribute(attr=name, value=base)) if name in _VIEWS and links:
            return _is_slice(project, function, base, links - 1)
        case t.Name(id=name) if links:
            found = flow.reaching(function, name, project.site(expr)).bindings
            return bool(found) and all(
                one.kind == "assign" and not one.path and _is_slice(project, function, one.value, links - 1)
                for one in found
            )
        case _:
            return False
