"""Tensors that are made on the spot of numbers or of an array that no loader gave."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import tensors
from dl_lint.project.syntax import called, children
from dl_lint.project.values import Tensor, alternatives

if TYPE_CHECKING:
    from dl_lint.project.model import Project
    from dl_lint.project.values import Value

OF_DATA = tensors.LEGACY | tensors.FROM_DATA | {"from_numpy"}


def is_of_data(project: Project, value: Value) -> bool:
    """Whether a tensor is made of numbers or of an array of no loader's, such as the labels of one step."""
    found = alternatives(value)
    return bool(found) and all(isinstance(one, Tensor) and _is_made(project, one.node) for one in found)


def _is_made(project: Project, node: t.Node) -> bool:
    if not isinstance(node, t.Call) or called(node) not in OF_DATA:
        return False
    waiting: list[t.Node] = [*node.args]
    while waiting:
        one = waiting.pop()
        if isinstance(one, t.Name) and project.batches_in(project.value(one)):
            return False
        waiting.extend(children(one))
    return True
