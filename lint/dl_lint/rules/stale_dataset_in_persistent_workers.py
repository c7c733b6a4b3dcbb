"""A dataset that is changed between epochs while persistent workers go on with their copy.

## What it does
Finds loops over epochs that change a dataset, by an attribute or by a method that stores one, while a loader with
`persistent_workers=True` iterates it, if the workers read what was changed. Shared tensors, `multiprocessing.Value`,
changes before the first epoch and loaders that are built anew for each epoch are left alone.

## Why is this bad?
Workers get their copy of the dataset at the first `iter()` of the loader. Persistent workers keep it, so that
`dataset.set_epoch(epoch)` in the main process reaches none of them: every epoch has the samples, the order or the
augmentation of the first one, without an error.

## Example
```python
import torch
from torch.utils.data import DataLoader, Dataset


class Noisy(Dataset):
    def __init__(self, rows):
        self.rows = rows
        self.epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(self.epoch * len(self.rows) + index)
        return self.rows[index] + torch.randn(1, generator=generator)


def train(rows, model):
    dataset = Noisy(rows)
    loader = DataLoader(dataset, num_workers=4, persistent_workers=True)
    for epoch in range(10):
        dataset.set_epoch(epoch)
        for batch in loader:
            model(batch)
```

## Use instead
```python
import torch
from torch.utils.data import DataLoader, Dataset


class Noisy(Dataset):
    def __init__(self, rows):
        self.rows = rows
        self.epoch = torch.zeros(1, dtype=torch.int64).share_memory_()

    def set_epoch(self, epoch):
        self.epoch.fill_(epoch)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(int(self.epoch) * len(self.rows) + index)
        return self.rows[index] + torch.randn(1, generator=generator)


def train(rows, model):
    dataset = Noisy(rows)
    loader = DataLoader(dataset, num_workers=4, persistent_workers=True)
    for epoch in range(10):
        dataset.set_epoch(epoch)
        for batch in loader:
            model(batch)
```
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.flow import guards
from dl_lint.flow.values import Const, Option, alternatives
from dl_lint.pipeline import retention, workers
from dl_lint.rule import Finding, Related, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.values import Loader, Value
    from dl_lint.project import Project

REMEDY = (
    "keep it in memory that all processes share (a tensor made with `.share_memory_()`, a `multiprocessing.Value`), or "
    "drop persistent_workers"
)


@rule("DL308", severity="bug")
def stale_dataset_in_persistent_workers(project: Project) -> Iterator[Finding]:
    seen = set()
    for loop in project.loader_loops():
        for loader in loop.loaders:
            epochs = project.repeated_by(loop, loader) if _persists(project, loader) else None
            if epochs is None:
                continue
            for dataset in workers.given(project, loader):
                for mutation in retention.within(project, epochs, dataset):
                    if mutation.node in seen or not guards.may_run(project, mutation.read, dataset):
                        continue
                    seen.add(mutation.node)
                    message = (
                        f"`{mutation.attribute}` of the dataset is changed here, between epochs, but the persistent "
                        "workers of its loader go on with the copy of the dataset that they got at the first epoch"
                    )
                    related = (
                        Related(project.place(loader.call), "persistent_workers"),
                        Related(project.place(mutation.read), "read here, in the workers"),
                    )
                    yield Finding(project.place(mutation.node), message, REMEDY, related)


def _persists(project: Project, loader: Loader) -> bool:
    """Whether a loader keeps its workers, if it has any: ``persistent_workers=n > 0`` does."""
    if project.workers(loader) == "none":
        return False
    given = project.argument(loader, "persistent_workers")
    match given.expr:
        case ast.Compare(ops=(ast.Gt(),), comparators=(ast.Constant(value=0),)):
            return True
        case _:
            return all(_is_true(one) for one in alternatives(given.value))


def _is_true(value: Value) -> bool:
    if isinstance(value, Option):
        return all(_is_true(one) for one in alternatives(value.default))
    return isinstance(value, Const) and bool(value.value)
