"""A loader without workers pins each batch on the thread that trains.

## What it does

Finds loaders with `pin_memory=True` (or `pin_memory=torch.cuda.is_available()`) and `num_workers` known to be 0,
whose batches are copied to the device.

## Why is this bad?

With workers, a thread of the loader pins batches while the model computes. Without workers there is no such thread:
`next()` fetches the batch, allocates page-locked memory, copies the batch there and returns only then, so the training
thread makes one more copy of every batch, and nothing runs beside it. The copy to the device gains about what that
costs: it is the workers that are missing.

## Example

```python
from torch.utils.data import DataLoader


def train(model, dataset, device):
    loader = DataLoader(dataset, batch_size=32, pin_memory=True)
    for images in loader:
        model(images.to(device))
```

## Use instead

```python
from torch.utils.data import DataLoader


def train(model, dataset, device):
    loader = DataLoader(dataset, batch_size=32, pin_memory=True, num_workers=4)
    for images in loader:
        model(images.to(device, non_blocking=True))
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.rule import Finding, Related, rule
from dl_lint.transfers import copies

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator

    from dl_lint.project import Project
    from dl_lint.transfers.copies import Transfer


@rule("DL210", severity="slow")
def pinned_without_workers(project: Project) -> Iterator[Finding]:
    moved: dict[ast.AST, Transfer] | None = None
    for loader in project.loaders():
        if project.workers(loader) != "none" or project.pins(loader) != "yes":
            continue
        if moved is None:
            moved = copies.bringing(project)
        copy = moved.get(loader.call)
        if copy is None:
            continue
        workers = project.argument(loader, "num_workers")
        count = "`num_workers` is 0" if workers.given else "`num_workers` is not given"
        place = project.place(copy.call)
        yield Finding(
            project.place(loader.call),
            f"{count}, so there is no thread to pin batches beside the loop: each batch is pinned on the thread that "
            f"takes it before it is copied to the device ({project.told(place)})",
            "give the loader workers, or leave `pin_memory` out",
            (Related(place, "its batches go to the device here"),),
        )
