"""Tests around a copy that keep it to something else than a tensor of a torch of today."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project.syntax import dotted
from dl_lint.project.values import External, alternatives

if TYPE_CHECKING:
    from dl_lint.project.model import Project
    from dl_lint.project.transfers import Transfer

NON_BLOCKING = (0, 4)
"""The torch that first had ``non_blocking``."""

_TO_ALONE, AFTER_TO = "0.4.0", (0, 5)
"""The torch whose ``to`` took no ``non_blocking`` yet, while its ``cuda`` did: ``to`` takes it from 0.4.1 on."""


def is_of_another_kind(project: Project, transfer: Transfer) -> bool:
    """Whether a test says that this is no tensor but, say, a graph, whose ``to`` need not take ``non_blocking``."""
    name = dotted(transfer.receiver_expr)
    for test, outcome in project.tests_around(transfer.call):
        match test:
            case t.Call(func=t.Name(id="isinstance"), args=(tested, kind)) if outcome and dotted(tested) == name:
                kinds = alternatives(project.value(kind))
                return all(isinstance(one, External) and not one.name.startswith("torch.") for one in kinds)
    return False


def told_old_torch(project: Project, transfer: Transfer) -> str:
    """What the project's files say of a torch that has no ``non_blocking``, as part of a message; empty for none."""
    target = project.target(transfer.call)
    since = AFTER_TO if transfer.method == "to" and _TO_ALONE in target.told else NON_BLOCKING
    return f"; {target.told}, which has no `non_blocking` yet" if target.lacks(since) else ""


def _is_volatile(project: Project, copy: t.Call) -> bool:
    around = (one for one in project.ancestors(copy) if isinstance(one, t.Call))
    return any(keyword.name == "volatile" for one in around for keyword in one.keywords)


def is_for_old_torch(project: Project, transfer: Transfer) -> bool:
    """Whether a copy is for torch 0.x only: ``non_blocking`` came with 0.4, when ``volatile`` went.

    So says a test around it, ``if torch_ver == "0.3"``, what is made of it, or the configuration.
    """
    target = project.target(transfer.call)
    if (target.lacks(NON_BLOCKING) and not target.told) or _is_volatile(project, transfer.call):
        return True
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
