"""Samples or batches that are put on the accelerator by a worker.

## What it does

Finds `.cuda()`, `.to("cuda")` and `device="cuda"` in what `__getitem__` of a dataset or the `collate_fn` of a loader
runs, unless the loader is known to have no workers. A device that is not known is left alone.

## Why is this bad?

CUDA cannot be used in a forked process once the main process has used it: the worker fails with `Cannot re-initialize
CUDA in forked subprocess`. Under spawn each worker opens a context of its own, which takes device memory. Workers
should prepare on the CPU; the main process moves whole batches, from pinned memory and while the model computes.

## Example
```python
import torch
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return torch.from_numpy(self.rows[index]).cuda()


def train(rows, model):
    for batch in DataLoader(Rows(rows), batch_size=32, num_workers=4):
        model(batch)
```

## Use instead
```python
import torch
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return torch.from_numpy(self.rows[index])


def train(rows, model):
    for batch in DataLoader(Rows(rows), batch_size=32, num_workers=4, pin_memory=True):
        model(batch.to("cuda", non_blocking=True))
```
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.flow.interpreter.classes import with_inner
from dl_lint.flow.values import External, alternatives
from dl_lint.pipeline import workers
from dl_lint.rule import Finding, Needs, Related, rule
from dl_lint.transfers import copies

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.scopes import Scope
    from dl_lint.flow.values import Loader, Value
    from dl_lint.project import Project

REMEDY = (
    "leave it on the CPU, give the loader pin_memory=True, and move the whole batch in the loop: "
    "`batch.to(device, non_blocking=True)`"
)


@rule("DL304", severity="bug")
def cuda_in_worker(project: Project) -> Iterator[Finding]:
    spawning, seen = workers.spawning(project), set()  # who chooses spawn has met CUDA's refusal in forked workers
    for function, why, users in _running(project):
        for call in _moves(project, function):
            stmt = project.statement_of(call)
            if stmt in seen or any(project.path(call).startswith(folder) for folder in spawning):
                continue
            seen.add(stmt)
            message = (
                "a tensor is put on the accelerator where workers run: a forked worker cannot use CUDA once the main "
                "process has, and under spawn each worker takes a context's worth of device memory"
            )
            related = (Related(project.place(why), "workers run it for this"),)
            yield Finding(project.place(call), message, REMEDY, related, repeats=True, needs=Needs(users))


def _running(project: Project) -> Iterator[tuple[Scope, ast.AST, tuple[Loader, ...]]]:
    """The functions that workers run, with what makes them, and the loaders that are known to."""
    for dataset in project.dataset_classes():
        # Who loads it may not be known: then somebody may, unless all the loaders around do without workers.
        users = workers.users(project, dataset.cls) or workers.unclaimed(project, dataset.cls)
        users = users or tuple(one for one in project.loaders() if project.are_near(one.call, dataset.node))
        if not users or any(_forks(project, loader) for loader in users):
            known = workers.of_product(project, dataset.cls)
            yield from ((function, dataset.node, known) for function in project.fetching(dataset.cls))
    for collator in workers.collators(project):
        if _forks(project, collator.loader):
            given = (collator.loader,)
            yield from ((function, collator.node, given) for function in project.reachable(collator.function))


def _forks(project: Project, loader: Loader) -> bool:
    """Whether a loader may have workers that are forked."""
    return not workers.spawns(project, loader) and project.workers(loader) != "none"


def _moves(project: Project, function: Scope) -> Iterator[ast.Call]:
    """The calls of a function that put something on an accelerator."""
    for scope in with_inner(function):
        for call in scope.calls:
            method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
            named = [keyword.value for keyword in call.keywords if keyword.arg == "device"]
            if method == "to":
                named.extend(call.args[:1])
            elif not any(
                isinstance(one, External) and one.name.startswith("torch.") for one in _callees(project, call)
            ):
                named = []
            if method == "cuda" or any(copies.is_accelerator(project, one) for one in named):
                yield call


def _callees(project: Project, call: ast.Call) -> tuple[Value, ...]:
    return alternatives(project.value(call.func))
