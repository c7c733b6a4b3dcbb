"""A batch of a pinned loader is copied to the device, and the host waits for the copy.

## What it does

Finds `.to(device)` and `.cuda()` without `non_blocking=True` on a batch, or a part or view of one, that comes from a
loader known to pin its batches, in a loop over that loader or in a function called from one.

## Why is this bad?

The loader's pin thread has already copied the batch to page-locked memory so that the copy to the device can run
beside the host's work. Without `non_blocking=True` the host waits until the device holds the batch, cannot queue the
kernels of the step meanwhile, and the pinning was for nothing. Kernels queued later wait for the copy by
themselves, so nothing else has to change.

Not flagged: copies that only change the dtype, batches of a loader whose pinning is not known, what `cat`, `stack` or a
mask returns (new, pageable memory) and `float()` may, slices past the first dimension, which are copied through such,
also where the collate function made them, batches of a loader prepared by accelerate, which are on the device already,
copies right before the host waits anyway (a synchronise, a pageable copy such as `torch.tensor([…], device=device)`, a
list as index, a look at the result, `if torch.isnan(images).any()`, a function of the project that begins with one),
copies that nothing reads or that are only brought back to the host, what some caller has moved already, objects of a
class without `pin_memory`, which the loader does not pin, or whose own `to` takes no `non_blocking`, and loops that
always end with the first batch. Right behind a pageable copy of another part of the batch it is **advice**, as it is
between two readings of a clock, or under a `with`, that measure the copy, where one sample is copied and read back, in
a loop that learns nothing and that no training runs again (a test at the end, a prediction), every n steps of a
training only, where some branch has made
new memory of the batch, and where the loader is known to have no workers (not by an option that is 0 unless the user
sets it): then DL210 comes first. It is advice, too, where the project is for a torch before 0.4, which has no
`non_blocking`: so its files say, or a loss is indexed (`loss.data[0]`) and nothing newer is used.

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

The fix is unsafe for `.to()` on a batch that is not unpacked: it may be an object of the project's own class, whose
`to` need not take `non_blocking`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import beside, casts, collated, copied, edits, guarding, objects, piecemeal, unpacking
from dl_lint.project.once_over import is_seldom
from dl_lint.project.timing import is_clocked
from dl_lint.project.values import Batch, Loader, Tensor, alternatives
from dl_lint.project.waiting import delays
from dl_lint.rule import Finding, Fix, Related, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project import Project
    from dl_lint.project.transfers import Transfer


@rule("DL102", severity="slow")
def blocking_copy_from_pinned_loader(project: Project) -> Iterator[Finding]:
    for transfer in project.transfers():
        if transfer.destination != "device" or transfer.asynchronous is not False:
            continue
        loader = _pinned(project, transfer)
        if loader is None or _is_excused(project, transfer) or not delays(project, transfer):
            continue
        pinning = project.place(_pinning(project, loader))
        alone, old = project.workers(loader) == "none", guarding.told_old_torch(project, transfer)
        write = f"write `.{transfer.method}(…, non_blocking=True)`, so that the copy runs while the host goes on"
        yield Finding(
            project.place(transfer.call),
            f"{transfer.told} comes from a loader that pins its batches ({project.told(pinning)}), but the "
            f"host waits here until the device holds it{old}",
            f"give the loader workers first (DL210), then {write}" if alone else write,
            (Related(pinning, "the loader pins its batches here"),),
            None if old else _fix(project, transfer),
            advice=bool(
                alone or old or casts.may_be_new(transfer.receiver) or beside.follows_wait(project, transfer.call)
            )
            or is_clocked(project, transfer.call)
            or is_seldom(project, transfer.call)
            or piecemeal.is_read_back(project, transfer),
        )


def _is_excused(project: Project, transfer: Transfer) -> bool:
    """Whether this asks for a blocking copy in so many words, is no tensor, is for a torch that is gone, or never comes
    about."""
    return (
        any(keyword.name == "non_blocking" for keyword in transfer.call.keywords)
        or guarding.is_of_another_kind(project, transfer)
        or guarding.is_for_old_torch(project, transfer)
        or unpacking.is_out_of_reach(project, transfer.receiver_expr)
        or copied.is_unread(project, transfer.call)
        or copied.is_read_on_host_only(project, transfer.call)
        or collated.makes_wait(project, transfer)
        or objects.stays_pageable(project, transfer.receiver_expr)
        or objects.refuses_non_blocking(project, transfer)
    )


def _pinned(project: Project, transfer: Transfer) -> Loader | None:
    """A loader that pins and whose batch may be what is copied, one with workers if any; None where one that does not
    pin may have it too, or where some caller has it on the device already."""
    found = alternatives(transfer.receiver)
    loaders = [one.loader for one in found if isinstance(one, Batch)]
    moved = any(isinstance(one, Tensor) and one.placement == "device" for one in found)
    if moved or any(project.pins(loader) == "no" for loader in loaders):
        return None
    pinning = [one for one in loaders if not one.prepared and project.pins(one) == "yes"]
    return min(pinning, key=lambda one: project.workers(one) == "none", default=None)


def _pinning(project: Project, loader: Loader) -> t.Node:
    """Where it says so: the keyword, or the call that is handed it in a dict or through a subclass."""
    keyword = next((one for one in loader.call.keywords if one.name == "pin_memory"), None)
    if keyword is not None:
        return keyword
    said = project.argument(loader, "pin_memory").node
    return said if isinstance(said, t.Keyword) and said.name is not None else loader.call


def _fix(project: Project, transfer: Transfer) -> Fix | None:
    edit = edits.added(project, transfer.call, "non_blocking=True")
    whole = any(isinstance(one, Batch) and one.whole for one in alternatives(transfer.receiver))
    return Fix("do not wait for the copy", (edit,), safe=transfer.method != "to" or not whole) if edit else None
