"""Whether the host could go on while a batch is copied to the device."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.project import beside, context
from dl_lint.project.values import Batch, Loader, Value, Wrapped, alternatives
from dl_lint.source.syntax import Display, ForStatement, called

if TYPE_CHECKING:
    from dl_lint.project.context import LoopNode
    from dl_lint.project.model import Project
    from dl_lint.project.transfers import Transfer

PARTS = frozenset({"keys", "values", "items"})
"""Methods of a batch that is a dict, through which a loop goes over its tensors."""


def delays(project: Project, transfer: Transfer) -> bool:
    """Whether batch after batch is copied, with something else to do meanwhile."""
    around = project.repeating(transfer.call)
    short = [loop for loop in around if _ends_at_once(project, loop)]
    begun_anew = {*short, *(outer for loop in short for outer in project.repeating(loop))}
    for loop in around:
        if loop in begun_anew:
            continue
        if not _is_over_one_batch(project, loop) and not _copies_one_batch(project, transfer, loop):
            return not beside.is_waited_for(project, transfer.call)
    return False


def _ends_at_once(project: Project, loop: LoopNode) -> bool:
    """Whether a loop over a loader itself, not over an iterator that goes on later, always ends with its first batch.

    What repeats such a loop starts the loader each time, beside which waiting for one copy is nothing.
    """
    if not isinstance(loop, ForStatement) or not _is_of_loaders(project.value(loop.iter)):
        return False
    arms = project.site(loop).scope.file.arms.get(loop, ())
    ends = any(arm.kind == "for" and arm.exits in ("break", "leave") for arm in arms) or _is_for_first(loop)
    return ends and not context.goes_on_early(loop)


def _is_for_first(loop: ForStatement) -> bool:
    """Whether ``if i == 0: break`` leaves a loop over ``enumerate(loader)`` in its first pass."""
    index = loop.target.elts[0] if isinstance(loop.target, Display) and loop.target.elts else None
    if not isinstance(index, ast.Name) or called(loop.iter) != "enumerate":
        return False
    for stmt in loop.body:
        match stmt:
            case ast.If(
                test=ast.Compare(left=ast.Name(id=name), ops=(ast.Eq(),), comparators=(ast.Constant(value=0),)),
                body=(*_, ast.Break() | ast.Return()),
            ) if name == index.id:
                return True
            case _:
                continue
    return False


def _is_of_loaders(value: Value) -> bool:
    for one in alternatives(value):
        match one:
            case Loader():
                continue
            case Wrapped(kind=kind, inner=inner) if kind != "iter" and inner and all(map(_is_of_loaders, inner)):
                continue
            case _:
                return False
    return True


def _is_over_one_batch(project: Project, loop: LoopNode) -> bool:
    """Whether a loop goes over the tensors of a batch."""
    if isinstance(loop, ast.While):
        return False
    over = loop.iter
    if isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute) and over.func.attr in PARTS:
        over = over.func.value
    return any(isinstance(one, Batch) for one in alternatives(project.value(over)))


def _copies_one_batch(project: Project, transfer: Transfer, loop: LoopNode) -> bool:
    """Whether the same batch is copied in every pass, as in ``for _ in range(5)`` to warm a model up."""
    root = transfer.receiver_expr
    while isinstance(root, ast.Attribute | ast.Subscript):
        root = root.value
    if not isinstance(root, ast.Name) or project.site(root).scope.kind == "comprehension":
        return False
    bindings = project.function_of(root).bindings.get(root.id, ())
    own = loop in project.loops_around(transfer.call) and all(one.kind != "param" for one in bindings)
    return own and bool(bindings) and not any(_is_in(project, one.node, loop) for one in bindings)


def _is_in(project: Project, node: ast.AST, loop: LoopNode) -> bool:
    return node is loop or loop in project.loops_around(node)
