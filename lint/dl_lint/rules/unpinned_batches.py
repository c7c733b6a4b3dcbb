"""Batches are copied to the device from pageable memory, and no loader pins.

## What it does

Names a loader with workers whose batches are copied to the device, one for each part of the project that stands alone,
where all loaders there are known not to pin. Not where any of them may pin, or where code there pins by itself.

## Why is this bad?

CUDA copies pageable memory through a small buffer of its own, on the thread that trains, and that waits. From pinned
memory the copy takes about half the time, and with `non_blocking=True` none of that thread's. It matters where batches
are large; a few kilobytes take no time either way.

## Example

```python
from torch.utils.data import DataLoader


def train(model, dataset):
    for images, labels in DataLoader(dataset, batch_size=64, num_workers=4):
        model(images.cuda(), labels.cuda()).backward()
```

## Use instead

```python
from torch.utils.data import DataLoader


def train(model, dataset):
    for images, labels in DataLoader(dataset, batch_size=64, num_workers=4, pin_memory=True):
        model(images.cuda(non_blocking=True), labels.cuda(non_blocking=True)).backward()
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.pipeline import training
from dl_lint.rule import Finding, Related, rule
from dl_lint.transfers import copies

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator

    from dl_lint.flow.values import Loader
    from dl_lint.project import Project
    from dl_lint.transfers.copies import Transfer


@rule("DL111", severity="advice")
def unpinned_batches(project: Project) -> Iterator[Finding]:
    copied = copies.bringing(project)
    told: list[ast.Call] = []
    for loader in sorted(_unpinned(project, copied), key=lambda one: training.purpose(project, one) == "evaluation"):
        if any(project.are_near(loader.call, other) for other in told) or not copies.nobody_pins(project, loader.call):
            continue
        told.append(loader.call)
        copy = copied[loader.call]
        place = project.place(copy.call)
        yield Finding(
            project.place(loader.call),
            f"neither this loader nor any beside it pins: {copy.told} is copied to the device from pageable memory "
            f"({project.told(place)}), on the thread that goes on with the step",
            "where batches are large, give the loaders `pin_memory=True`, and copy with `non_blocking=True`",
            (Related(place, "its batches go to the device here"),),
        )


def _unpinned(project: Project, copied: dict[ast.AST, Transfer]) -> list[Loader]:
    """Those with workers whose batches the host waits for; that a copy does not wait and should be faster for it is
    another fault."""
    return [
        one
        for one in project.loaders()
        if one.call in copied and copied[one.call].asynchronous is False and project.workers(one) == "some"
    ]
