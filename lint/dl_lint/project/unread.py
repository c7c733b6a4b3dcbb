"""Values that are overwritten before anything reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project.syntax import called, dotted

if TYPE_CHECKING:
    from dl_lint.project.model import Project

_COLLECTIVES = frozenset({"all_reduce", "reduce", "broadcast"})
"""Functions that write what comes of all processes into the tensor that they are given."""


def assigned_again(project: Project, value: t.Node) -> t.Stmt | None:
    """The statement that assigns a name anew which ``value`` was assigned to: later in the same block, with no read in
    between, its own value among them. None if there is none."""
    first = project.statement_of(value)
    match first:
        case t.Assign(targets=(t.Name(id=name),)):
            pass
        case _:
            return None
    block: tuple[t.Node, ...] = getattr(project.parent(first), "body", ())
    if first not in block:
        return None
    reads = [project.statement_of(load) for load in project.function_of(first).loads.get(name, ())]
    within = {above for read in reads if read is not None for above in (read, *project.ancestors(read))}
    for stmt in block[block.index(first) + 1 :]:
        if stmt in within or not isinstance(stmt, t.Assign | t.AugAssign | t.ExprStmt):
            return None
        if isinstance(stmt, t.Assign) and any(isinstance(one, t.Name) and one.id == name for one in stmt.targets):
            return stmt
    return None


def assigned(project: Project, copy: t.Call) -> str | None:
    """The name that a copy is given, if it is given one, or the first of several."""
    match project.statement_of(copy):
        case t.Assign(targets=(t.Name(id=name), *_), value=value) if value is copy:
            return name
        case _:
            return None


def bound(project: Project, copy: t.Call) -> list[str]:
    """How the name is bound that a copy is assigned to: here, elsewhere, by adding to it (``augment``), also what other
    processes have."""
    name, function = assigned(project, copy), project.function_of(copy)
    added = name and any(called(one) in _COLLECTIVES and name in map(dotted, one.args[:1]) for one in function.calls)
    return [one.kind for one in function.bindings.get(name or "", ())] + ["augment"] * bool(added)
