"""The elements of a tensor on the device are read one by one.

## What it does

Finds loops and comprehensions over the elements of a tensor on the device that read each of them on the host, with
`.item()`, `.cpu()`, `float()`, as the index of a list and the like, where the loop runs time and again or is a part
of a forward pass. Lists of tensors are left alone, and so are reads of some elements only and of what a model computes
in the loop.

## Why is this bad?

Each read waits until the device has done all that is queued and then copies a few bytes, some 10 µs an element where
nothing is queued. A batch of 64 with 300 labels each is read 19,200 times. `.tolist()` reads all of them in one copy.

## Example

```python
import torch
from torch.utils.data import DataLoader


def evaluate(model, dataset, names):
    found = []
    for images in DataLoader(dataset, batch_size=64, num_workers=4):
        labels = model(images.cuda()).argmax(dim=1)
        found.extend(names[label.item()] for label in labels)
    return found
```

## Use instead

```python
import torch
from torch.utils.data import DataLoader


def evaluate(model, dataset, names):
    found = []
    for images in DataLoader(dataset, batch_size=64, num_workers=4):
        labels = model(images.cuda()).argmax(dim=1)
        found.extend(names[label] for label in labels.tolist())
    return found
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.rule import Finding, Related, rule
from dl_lint.transfers.synchronisation import element_reads

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project import Project


@rule("DL109", severity="slow")
def element_wise_device_read(project: Project) -> Iterator[Finding]:
    for one in element_reads(project):
        loop = project.place(one.loop)
        yield Finding(
            project.place(one.read),
            f"the host waits for the device once for each element of a tensor, to read it here ({project.told(loop)})",
            "compute for the whole tensor, and read that once, before the loop, with `.tolist()` or `.cpu()`",
            (Related(loop, "the loop over its elements"),),
        )
