"""Whether the workers of a loader could stay between passes, and from which torch on."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.project import caches, iterators, workers
from dl_lint.project.frameworks import TORCH_LOADERS
from dl_lint.project.values import Const, Option, alternatives
from dl_lint.source.syntax import dotted

if TYPE_CHECKING:
    from dl_lint.project.model import Project
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
    return not project.argument(loader, "persistent_workers").given and project.may_have_workers(loader)


def count(project: Project, loader: Loader) -> int | None:
    """How many workers a loader has, if that is a number in the code or an option's default."""
    found = set()
    for one in alternatives(project.argument(loader, "num_workers").value):
        value = one.default if isinstance(one, Option) else one
        if not isinstance(value, Const) or not isinstance(value.value, int):
            return None
        found.add(value.value)
    return max(found, default=None) or None


def keyword(project: Project, loader: Loader) -> str:
    """What keeps the workers: True, or a test of their number where that is no literal, as DataLoader refuses True
    without any."""
    said = project.argument(loader, "num_workers")
    number = None if _is_spread(said.node) else dotted(said.expr)
    return "persistent_workers=True" if number is None else f"persistent_workers={number} > 0"


def wanted(project: Project, loader: Loader) -> str:
    """The same in prose, with the dict that it belongs in where the number of workers comes from one."""
    node = project.argument(loader, "num_workers").node
    spread = dotted(node.value) if isinstance(node, ast.keyword) and _is_spread(node) else None
    return f"`{keyword(project, loader)}`" + (f" beside `num_workers` in `{spread}`" if spread else "")


def _is_spread(node: ast.AST) -> bool:
    """Whether an argument comes by ``**kwargs``."""
    return isinstance(node, ast.keyword) and node.arg is None


def are_lacking(project: Project, loader: Loader) -> bool:
    """Whether the torch that the project declares has no persistent workers, or none that go with pinning."""
    return project.target(loader.call).lacks(FIRST if project.pins(loader) == "no" else FIRST_WITH_PINNING)


def is_consumed(project: Project, loader: Loader) -> bool:
    """Whether fetching a sample advances an iterator that the dataset keeps, and that nothing but a new worker begins
    anew: ``return next(self.rows)``."""
    for one in workers.given(project, loader):
        fetching = project.fetching(one.cls)
        for function in fetching:
            for call in iterators.ending(project, function):
                kept = dotted(call.args[0]) if call.args else None
                endless = iterators.is_renewed(project, call, fetching) or iterators.is_guarded(project, call, fetching)
                if kept is not None and "." in kept and not endless:
                    return True
    return False


def fills_caches(project: Project, loader: Loader) -> bool:
    """Whether samples stay in a worker as they are fetched, so that one that stays comes to hold all of them."""
    return any(growth for one in workers.given(project, loader) for growth in caches.growing(project, one.cls))
