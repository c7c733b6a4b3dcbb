"""Whether the workers of a loader could stay between passes, and from which torch on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import altering, attributes, caches, iterators, reach, scripts, workers
from dl_lint.project.frameworks import TORCH_LOADERS
from dl_lint.project.syntax import dotted
from dl_lint.project.values import ABSENT, Const, Function, Option, alternatives

if TYPE_CHECKING:
    from dl_lint.project.declarations import Version
    from dl_lint.project.model import Project
    from dl_lint.project.target import Target
    from dl_lint.project.values import Loader

FIRST = (1, 7)
"""The first torch with persistent workers. Where batches are pinned, they fail there at the end of the second pass."""

FIRST_WITH_PINNING = (1, 8)

FEW = 2
"""Workers that fork too fast for anyone to notice: the first batch of one came after 49 ms, of four after 130 ms."""


def starts_workers_again(project: Project, loader: Loader) -> bool:
    """Whether a loader has workers that nobody asked to persist."""
    if loader.name not in TORCH_LOADERS and not loader.name.startswith("torch_geometric."):
        return False
    if project.in_handler(loader.call):
        return False  # for a torch that knows no persistent workers
    persistent = project.argument(loader, "persistent_workers")
    if persistent.given or not project.may_have_workers(loader):
        return False
    if any(altering.takes_away(project, one) for one in workers.given(project, loader)):
        return False
    return not (
        _left_to_callers(project, loader)
        or _wraps_itself(project, loader)
        or _runs_out(project, loader)
        or _tells_epochs(project, loader)
    )


def are_soon_there(project: Project, loader: Loader) -> bool:
    """Whether a loader has as few workers as start in a tenth of a second: ``FEW`` at most, that fork; an option's
    default counts as their number."""
    if project.hints.spawns or scripts.spawns(project, loader):
        return False
    said = alternatives(project.argument(loader, "num_workers").value)
    numbers = [one.default if isinstance(one, Option) else one for one in said]
    return all(
        one == ABSENT or (isinstance(one, Const) and (not one.value or one.value in range(FEW + 1))) for one in numbers
    )


def keyword(project: Project, loader: Loader) -> str:
    """What keeps the workers: True, or a test of their number where that is no literal, as DataLoader refuses True
    without any."""
    said = project.argument(loader, "num_workers")
    number = None if _is_spread(said.node) else dotted(said.expr)
    return "persistent_workers=True" if number is None else f"persistent_workers={number} > 0"


def wanted(project: Project, loader: Loader) -> str:
    """The same in prose, with the dict that it belongs in where the number of workers comes from one."""
    node = project.argument(loader, "num_workers").node
    spread = dotted(node.value) if isinstance(node, t.Keyword) and _is_spread(node) else None
    return f"`{keyword(project, loader)}`" + (f" beside `num_workers` in `{spread}`" if spread else "")


def _is_spread(node: t.Node) -> bool:
    """Whether an argument comes by ``**kwargs``."""
    return isinstance(node, t.Keyword) and node.name is None


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


def _wraps_itself(project: Project, loader: Loader) -> bool:
    """Whether iterating the dataset puts one more layer around what it iterates, which only new workers are rid of:
    ``self.rows = self.rows.shuffle(seed)`` in ``__iter__``."""
    for one in workers.given(project, loader):
        function = attributes.of_class(project.evaluator, one.cls, "__iter__")
        if isinstance(function, Function):
            for name, bindings in function.scope.bindings.items():
                if "." in name and any(one.kind == "assign" and _is_made_of(one.value, name) for one in bindings):
                    return True
    return False


def fills_caches(project: Project, loader: Loader) -> bool:
    """Whether samples stay in a worker as they are fetched, so that one that stays comes to hold all of them."""
    return any(growth for one in workers.given(project, loader) for growth in caches.growing(project, one.cls))


def _runs_out(project: Project, loader: Loader) -> bool:
    """Whether fetching a sample advances an iterator that the dataset keeps, and that nothing begins anew but new
    workers: ``return next(self.rows)``."""
    for one in workers.given(project, loader):
        fetching = project.fetching(one.cls)
        for function in fetching:
            for call in iterators.ending(project, function):
                kept = dotted(call.args[0]) if call.args else None
                endless = iterators.is_renewed(project, call, fetching) or iterators.is_guarded(project, call, fetching)
                if kept is not None and "." in kept and not endless:
                    return True
    return False


_EPOCHS = frozenset({"current_epoch", "global_step"})
"""Attributes of Lightning's modules and trainers that the main process counts up."""


def _tells_epochs(project: Project, loader: Loader) -> bool:
    """Whether fetching a sample asks which epoch this is, of which workers that stay would not learn."""
    fetching = (one for given in workers.given(project, loader) for one in project.fetching(given.cls))
    return any(
        _asks_epoch(project, read)
        for function in dict.fromkeys(fetching)
        for scope in reach.with_inner(function)
        for reads in scope.loads.values()
        for read in reads
    )


def _asks_epoch(project: Project, read: t.Node) -> bool:
    above = project.parent(read)
    while isinstance(above, t.Attribute):
        if above.attr in _EPOCHS:
            return True
        above = project.parent(above)
    return False


def _is_made_of(value: t.Expr | None, name: str) -> bool:
    """Whether a value is what a method of ``name`` returns, or of such: ``self.rows.shuffle(seed).batch(4)``."""
    while isinstance(value, t.Call) and isinstance(value.func, t.Attribute):
        value = value.func.value
        if dotted(value) == name:
            return True
    return False
