"""A batch is copied to the device and straight back, and nothing is computed there.

## What it does

Finds `.to(device)` and `.cuda()` on a batch, a part of one, or another tensor of the host, in what runs time and again,
where the result is only read back with `.cpu()`, `.numpy()`, `.item()` or `.tolist()`: not where anything is computed
of it on the device, and not where it is returned, kept or handed to code that is not known.

## Why is this bad?

The batch crosses the bus twice, and the host waits for all that is queued on the device to have its own data back.

## Example

```python
from torch.utils.data import DataLoader


def evaluate(model, dataset):
    wanted, found = [], []
    for images, labels in DataLoader(dataset, num_workers=4):
        labels = labels.cuda()
        found.append(model(images.cuda()).argmax(dim=1).cpu())
        wanted.append(labels.cpu())
    return wanted, found
```

## Use instead

```python
from torch.utils.data import DataLoader


def evaluate(model, dataset):
    wanted, found = [], []
    for images, labels in DataLoader(dataset, num_workers=4):
        found.append(model(images.cuda()).argmax(dim=1).cpu())
        wanted.append(labels.clone())
    return wanted, found
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.rule import Finding, Related, rule
from dl_lint.transfers.synchronisation import round_trips

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project import Project


@rule("DL110", severity="slow")
def round_trip_to_device(project: Project) -> Iterator[Finding]:
    for trip in round_trips(project):
        back = project.place(trip.reads[0])
        yield Finding(
            project.place(trip.transfer.call),
            f"{trip.transfer.told} goes to the device and straight back ({project.told(back)}): two copies, a wait for "
            "all that is queued, and nothing is computed there",
            "leave it on the host",
            tuple(Related(project.place(one), "it comes back here") for one in trip.reads),
        )
