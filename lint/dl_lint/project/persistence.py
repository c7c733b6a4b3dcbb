"""Whether the workers of a loader could stay between passes, and from which torch on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project.frameworks import TORCH_LOADERS

if TYPE_CHECKING:
    from dl_lint.project.declarations import Version
    from dl_lint.project.model import Project
    from dl_lint.project.target import Target
    from dl_lint.project.values import Loader

FIRST = (1, 7)
"""The first torch with persistent workers. Where batches are pinned, they fail there at the end of the second pass."""

FIRST_WITH_PINNING = (1, 8)


def starts_workers_again(project: Project, loader: Loader) -> bool:
    """Whether a loader has workers that nobody asked to persist."""
    if loader.name not in TORCH_LOADERS and not loader.name.startswith("torch_geometric."):
        return False
    if project.in_handler(loader.call):
        return False  # for a torch that knows no persistent workers
    persistent = project.argument(loader, "persistent_workers")
    return not persistent.given and project.may_have_workers(loader) and not _left_to_callers(project, loader)


def first_torch(project: Project, loader: Loader) -> Version:
    """The torch from which on the workers of a loader can stay."""
    return FIRST if project.pins(loader) == "no" else FIRST_WITH_PINNING


def is_lacking(target: Target, since: Version) -> bool:
    """Whether a project is for a torch without them, or promises that it can be installed with one."""
    return target.lacks(since) or target.begins_before(since)


def lack(target: Target, since: Version) -> str:
    """What an older torch that a project is for is short of."""
    if target.lacks(since):
        has = target.newest is not None and target.newest >= FIRST
        return "where persistent workers fail with pinned batches" if has else "which has no persistent workers"
    has = target.promised is not None and target.promised >= FIRST
    return f"in the oldest of which {'persistent workers fail with pinned batches' if has else 'there are none'}"


def _left_to_callers(project: Project, loader: Loader) -> bool:
    """Whether the workers come through ``**kwargs`` of the function, whose callers decide on all of it."""
    node = project.argument(loader, "num_workers").node
    name = node.value.id if isinstance(node, t.Keyword) and isinstance(node.value, t.Name) else None
    return any(param.name == name and param.kind == "kwargs" for param in project.function_of(node).params)
