"""Whether the host could go on while a batch is copied to the device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project.values import Batch, alternatives

if TYPE_CHECKING:
    from dl_lint.project.context import LoopNode
    from dl_lint.project.model import Project
    from dl_lint.project.transfers import Transfer

PARTS = frozenset({"keys", "values", "items"})
"""Methods of a batch that is a dict, through which a loop goes over its tensors."""


def delays(project: Project, transfer: Transfer) -> bool:
    """Whether batch after batch is copied, with something else to do meanwhile."""
    for loop in project.repeating(transfer.call):
        if not _is_over_one_batch(project, loop) and not _copies_one_batch(project, transfer, loop):
            return not _is_waited_for(project, transfer.call)
    return False


def _is_over_one_batch(project: Project, loop: LoopNode) -> bool:
    """Whether a loop goes over the tensors of a batch."""
    if isinstance(loop, t.While):
        return False
    over = loop.iter
    if isinstance(over, t.Call) and isinstance(over.func, t.Attribute) and over.func.attr in PARTS:
        over = over.func.value
    return any(isinstance(one, Batch) for one in alternatives(project.value(over)))


def _copies_one_batch(project: Project, transfer: Transfer, loop: LoopNode) -> bool:
    """Whether the same batch is copied in every pass, as in ``for _ in range(5)`` to warm a model up."""
    root = transfer.receiver_expr
    while isinstance(root, t.Attribute | t.Subscript):
        root = root.value
    if not isinstance(root, t.Name) or project.site(root).scope.kind == "comprehension":
        return False
    bindings = project.function_of(root).bindings.get(root.id, ())
    own = loop in project.loops_around(transfer.call) and all(one.kind != "param" for one in bindings)
    return own and bool(bindings) and not any(_is_in(project, one.node, loop) for one in bindings)


def _is_in(project: Project, node: t.Node, loop: LoopNode) -> bool:
    return node is loop or loop in project.loops_around(node)


def _is_waited_for(project: Project, call: t.Call) -> bool:
    """Whether nothing but further assignments, other copies as a rule, comes between a copy and a synchronise."""
    stmt: t.Node | None = project.statement_of(call)
    while isinstance(stmt, t.Stmt):
        above = project.parent(stmt)
        body: tuple[t.Node, ...] = getattr(above, "body", ())
        for following in body[body.index(stmt) + 1 :] if stmt in body else ():
            if isinstance(following, t.ExprStmt):
                func = following.value.func if isinstance(following.value, t.Call) else None
                return isinstance(func, t.Attribute) and func.attr == "synchronize"
            if not isinstance(following, t.Assign):
                return False
        stmt = above if isinstance(above, t.If | t.With) else None
    return False
