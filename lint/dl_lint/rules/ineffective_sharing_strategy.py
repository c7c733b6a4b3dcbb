"""`set_sharing_strategy` where it does not reach the workers, or where it leaks.

## What it does

Finds calls of `torch.multiprocessing.set_sharing_strategy` that

* stand in a function or under `if __name__ == "__main__"`, for loaders whose workers are started by spawn or
  forkserver: each worker imports the module anew, does not run that code, and keeps the default strategy;
* come after the loader was iterated, when its workers have been started;
* choose `file_system` for a loader whose loop is left early with `break` and whose workers are not persistent.

## Why is this bad?

torch's own message on "Too many open files" recommends the call. Measured with torch 2.13: under the main guard it
leaves spawned workers at one descriptor per batch, as if it were not there. With `file_system`, the batches that were
prefetched when a loop is left stay in /dev/shm until the main process exits: 8, then 56 MB after six such epochs.

## Example

```python
import torch
from torch.utils.data import DataLoader


def main(dataset, model):
    torch.multiprocessing.set_sharing_strategy("file_system")
    for batch in DataLoader(dataset, num_workers=4, multiprocessing_context="spawn"):
        model(batch)
```

## Use instead

```python
import torch
from torch.utils.data import DataLoader

torch.multiprocessing.set_sharing_strategy("file_system")


def main(dataset, model):
    for batch in DataLoader(dataset, num_workers=4, multiprocessing_context="spawn"):
        model(batch)
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.flow.values import Bound, Const, Function, alternatives
from dl_lint.rule import Finding, Related, rule
from dl_lint.source.positions import span

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator

    from dl_lint.flow.scopes import Scope
    from dl_lint.flow.values import Loader
    from dl_lint.pipeline.loops import LoaderLoop
    from dl_lint.project import Project

_SETTER = "torch.multiprocessing.set_sharing_strategy"
_REMEDY = "call it at module level, or in `worker_init_fn`"


@rule("DL208", severity="bug")
def ineffective_sharing_strategy(project: Project) -> Iterator[Finding]:
    for call in project.calls(_SETTER):
        if project.function_of(call) not in _init_functions(project):
            found = _unseen(project, call) or _too_late(project, call) or _leaking(project, call)
            if found is not None:
                yield found


def _init_functions(project: Project) -> set[Scope]:
    """The functions that run in every worker when it starts."""
    found = set()
    for loader in project.loaders():
        for one in alternatives(project.argument(loader, "worker_init_fn").value):
            one = one.function if isinstance(one, Bound) else one
            if isinstance(one, Function):
                found.add(one.scope)
    return found


def _unseen(project: Project, call: ast.Call) -> Finding | None:
    """The call does not run when a worker imports the module."""
    if project.function_of(call).kind == "module" and not project.under_main_guard(call):
        return None
    for loader in _loaders_beside(project, call):
        start = project.argument(loader, "multiprocessing_context")
        if (not start.given and project.hints.spawns) or (
            start.given
            and all(
                isinstance(one, Const) and one.value in ("spawn", "forkserver") for one in alternatives(start.value)
            )
        ):
            message = "this does not run in the workers of a loader that are not forked: they keep the default strategy"
            return _finding(project, call, message, loader.call, "its workers import the module anew")
    return None


def _too_late(project: Project, call: ast.Call) -> Finding | None:
    """The call follows, in the same function, a loop whose workers it was meant for."""
    for loop in project.loader_loops():
        if loop.function is not project.function_of(call) or not any(map(project.may_have_workers, loop.loaders)):
            continue
        if span(loop.node)[:2] < span(call)[:2] and not any(project.tests_around(call)):
            message = "this comes after the workers were started, and does not reach them"
            return _finding(project, call, message, loop.node, "the workers are started here")
    return None


def _leaking(project: Project, call: ast.Call) -> Finding | None:
    if not call.args or not all(
        isinstance(one, Const) and one.value == "file_system" for one in alternatives(project.value(call.args[0]))
    ):
        return None
    beside = {loader.call for loader in _loaders_beside(project, call)}
    for loop in project.loader_loops():
        for loader in loop.loaders:
            if loader.call in beside and _restarts(project, loader) and _is_left_early(project, loop, loader):
                place = project.place(loop.node)
                message = (
                    f"with `file_system`, batches that were prefetched when the loop at {project.told(place)} "
                    "is left early stay in /dev/shm until the process exits"
                )
                remedy = "give the loader `persistent_workers=True`, or raise the limit of open files instead"
                return _finding(project, call, message, loop.node, "left early by a `break`", remedy)
    return None


def _is_left_early(project: Project, loop: LoaderLoop, loader: Loader) -> bool:
    """Whether a ``break`` leaves the loop, and it is come back to."""
    return project.repeated_by(loop, loader) is not None and project.is_left_by_break(loop.node)


def _restarts(project: Project, loader: Loader) -> bool:
    return project.workers(loader) == "some" and not project.argument(loader, "persistent_workers").given


def _loaders_beside(project: Project, call: ast.Call) -> Iterator[Loader]:
    """The loaders with workers that are made in the file of the call."""
    path = project.path(call)
    return (one for one in project.loaders() if project.path(one.call) == path and project.may_have_workers(one))


def _finding(
    project: Project, call: ast.Call, message: str, node: ast.AST, what: str, remedy: str = _REMEDY
) -> Finding:
    place = project.place(node)
    return Finding(project.place(call), message, remedy, (Related(place, what),))
