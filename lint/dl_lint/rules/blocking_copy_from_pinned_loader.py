"""A batch of a pinned loader is copied to the device, and the host waits for the copy.

## What it does

Finds `.to(device)` and `.cuda()` without `non_blocking=True` on a batch, or a part or view of one, of a loader known to
pin, in a loop over it or in a function called from one; not where the same expression reads it back.

## Why is this bad?

The loader's thread has copied the batch to page-locked memory so that the copy to the device can run beside the host's
work. Without `non_blocking=True` the host waits, cannot queue the kernels of the step meanwhile, and the pinning was
for nothing. Kernels wait for the copy by themselves, so nothing else has to change.

## Example

```python
from torch.utils.data import DataLoader


def train(model, dataset, device):
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    for images, labels in loader:
        images = images.to(device)
        labels = labels.to(device)
        model(images, labels)
```

## Use instead

```python
from torch.utils.data import DataLoader


def train(model, dataset, device):
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    for images, labels in loader:
        images = images.to(device, non_blocking=True)
        labels = labels.to(device, non_blocking=True)
        model(images, labels)
```

## Fix safety

None is offered for `.to()` on a batch that is not unpacked where the collate function is not known to make a tensor, or
an object whose `to` takes `non_blocking`: it may be one of the project's own class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint import edits
from dl_lint.rule import Finding, Fix, Needs, Related, listed, rule
from dl_lint.source.positions import span
from dl_lint.transfers import copies
from dl_lint.transfers.synchronisation import delays

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.values import Loader
    from dl_lint.project import Project
    from dl_lint.transfers.copies import Transfer


@rule("DL102", severity="slow")
def blocking_copy_from_pinned_loader(project: Project) -> Iterator[Finding]:
    beside_each_other: dict[tuple[object, ...], tuple[Loader, list[Transfer]]] = {}
    for transfer in project.transfers():
        if transfer.destination != "device" or transfer.asynchronous is not False:
            continue
        loader = copies.pinning_loader(project, transfer)
        if loader is None or _is_asked_for(transfer) or not delays(project, transfer):
            continue
        line = (project.statement_of(transfer.call), span(transfer.call)[0], transfer.method)
        beside_each_other.setdefault((*line, loader.call), (loader, []))[1].append(transfer)
    for loader, found in beside_each_other.values():
        yield _finding(project, loader, found)


def _is_asked_for(transfer: Transfer) -> bool:
    """Whether a copy asks for blocking in so many words."""
    return any(keyword.arg == "non_blocking" for keyword in transfer.call.keywords)


def _finding(project: Project, loader: Loader, found: list[Transfer]) -> Finding:
    lacking = dict.fromkeys(cls for one in found for cls in copies.without_non_blocking(project, one, loader))
    owners = ", ".join(f"`{cls.scope.name}.{found[0].method}`" for cls in lacking)
    takes = f"let {owners} take `non_blocking` and hand it on to its copies, and " if lacking else ""
    first, names = found[0], list(dict.fromkeys(one.told for one in found))
    several = len(names) > 1
    pinning = project.place(copies.pinning_argument(project, loader))
    return Finding(
        project.place(first.call),
        f"{listed(names)} {'come' if several else 'comes'} from a loader that pins its batches "
        f"({project.told(pinning)}), but the host waits here until the device holds {'each' if several else 'it'}",
        f"{takes}write `.{first.method}(…, non_blocking=True)`, so that the copy runs while the host goes on",
        (Related(pinning, "the loader pins its batches here"),),
        _fix(project, loader, found),
        repeats=True,
        needs=Needs((loader,)),
    )


def _fix(project: Project, loader: Loader, found: list[Transfer]) -> Fix | None:
    if not all(copies.takes_non_blocking(project, one, loader) for one in found):
        return None
    added = [edit for one in found if (edit := edits.with_argument(project, one.call, "non_blocking=True")) is not None]
    return Fix("do not wait for the copy", tuple(added)) if len(added) == len(found) else None
