"""An iterator that may run out while a sample is made.

## What it does

Finds `next(iterator)` without a default in what `__getitem__` of a map-style dataset or a collate function runs, where
no `try` catches `StopIteration`. Iterators that are endless, made anew or not known are left alone.

## Why is this bad?

The loader takes a `StopIteration` out of the dataset for its own end. The epoch stops early, without an error: of 8
samples in batches of 2, four were seen, with and without workers.

## Example
```python
from torch.utils.data import Dataset


class Mixed(Dataset):
    def __init__(self, rows, noise):
        self.rows = rows
        self.noise = iter(noise)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index] + next(self.noise)
```

## Use instead
```python
from torch.utils.data import Dataset


class Mixed(Dataset):
    def __init__(self, rows, noise):
        self.rows = rows
        self.noise = noise

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index] + self.noise[index % len(self.noise)]
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.pipeline import iterators, workers
from dl_lint.rule import Finding, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.scopes import Scope
    from dl_lint.project import Project

REMEDY = (
    "index something of known length, give `next` a default, or catch StopIteration and raise an error that is seen"
)


@rule("DL309", severity="bug")
def stop_iteration_in_getitem(project: Project) -> Iterator[Finding]:
    seen = set()
    for user, functions in _running(project):
        for function in functions:
            for call in iterators.ending(project, function):
                if (
                    call in seen
                    or iterators.is_unknown(project, call)
                    or iterators.is_guarded(project, call, functions)
                    or iterators.is_renewed(call, functions)
                ):
                    continue
                seen.add(call)
                message = (
                    f"StopIteration from this `next`, while {user}, looks to the loader like its own end: the epoch "
                    "stops early, without an error"
                )
                yield Finding(project.place(call), message, REMEDY)


def _running(project: Project) -> Iterator[tuple[str, tuple[Scope, ...]]]:
    """What makes samples and batches, each with the functions that run for it."""
    for dataset in project.dataset_classes():
        if dataset.kind == "map":
            fetching = project.fetching(dataset.cls)
            yield (
                f"`{dataset.name}` fetches a sample",
                tuple(f for f in fetching if f.name not in ("__iter__", "__next__")),
            )
    for collator in workers.collators(project):
        yield f"`{collator.function.name}` collates a batch", project.reachable(collator.function)
