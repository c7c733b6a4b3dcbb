"""Values that are overwritten before anything reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t

if TYPE_CHECKING:
    from dl_lint.project.model import Project


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
    """The name that a copy is given, if it is given one."""
    match project.statement_of(copy):
        case t.Assign(targets=(t.Name(id=name),), value=value) if value is copy:
            return name
        case _:
            return None
