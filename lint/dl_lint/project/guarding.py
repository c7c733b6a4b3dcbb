"""Tests around a copy that keep it to something else than a tensor of a torch of today."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project.syntax import dotted
from dl_lint.project.values import External, alternatives

if TYPE_CHECKING:
    from dl_lint.project.model import Project
    from dl_lint.project.transfers import Transfer


def is_of_another_kind(project: Project, transfer: Transfer) -> bool:
    """Whether a test says that this is no tensor but, say, a graph, whose ``to`` need not take ``non_blocking``."""
    name = dotted(transfer.receiver_expr)
    for test, outcome in project.tests_around(transfer.call):
        match test:
            case t.Call(func=t.Name(id="isinstance"), args=(tested, kind)) if outcome and dotted(tested) == name:
                kinds = alternatives(project.value(kind))
                return all(isinstance(one, External) and not one.name.startswith("torch.") for one in kinds)
    return False


def is_for_old_torch(project: Project, transfer: Transfer) -> bool:
    """Whether a test keeps the copy to torch 0.x, in ``if torch_ver == "0.3"``: ``non_blocking`` came with 0.4."""
    for test, outcome in project.tests_around(transfer.call):
        match test:
            case t.Compare(left=left, ops=("==",), comparators=(t.Constant(value=str() as version),)) if outcome:
                if version.startswith("0.") and "ver" in (dotted(left) or "").lower():
                    return True
            case t.Call(func=t.Attribute(value=tested, attr="startswith"), args=(t.Constant(value=str() as version),)):
                if outcome and version.startswith("0.") and "ver" in (dotted(tested) or "").lower():
                    return True
            case _:
                continue
    return False
