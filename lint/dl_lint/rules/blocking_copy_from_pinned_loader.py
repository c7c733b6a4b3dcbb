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

from dl_lint.project import beside, casts, collated, copied, edits, guarding, objects, piecemeal, pinned, unpacking
from dl_lint.project.once_over import is_seldom
from dl_lint.project.timing import is_clocked
from dl_lint.project.values import Batch, alternatives
from dl_lint.project.waiting import delays
from dl_lint.rule import Finding, Fix, Related, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project import Project
    from dl_lint.project.transfers import Transfer
    from dl_lint.project.values import Loader


@rule("DL102", severity="slow")
def blocking_copy_from_pinned_loader(project: Project) -> Iterator[Finding]:
    beside_each_other: dict[tuple[object, ...], tuple[Loader, list[Transfer]]] = {}
    for transfer in project.transfers():
        if transfer.destination != "device" or transfer.asynchronous is not False:
            continue
        loader = pinned.source(project, transfer)
        if loader is None or _is_excused(project, transfer) or not delays(project, transfer):
            continue
        line = (project.statement_of(transfer.call), transfer.call.at[0], transfer.method)
        of = (loader.call, project.workers(loader) == "none", _is_mild(project, transfer))
        beside_each_other.setdefault((*line, *of), (loader, []))[1].append(transfer)
    for loader, copies in beside_each_other.values():
        yield _finding(project, loader, copies)


def _finding(project: Project, loader: Loader, copies: list[Transfer]) -> Finding:
    first, names = copies[0], list(dict.fromkeys(one.told for one in copies))
    several = len(names) > 1
    pinning = project.place(pinned.said(project, loader))
    alone, old = project.workers(loader) == "none", guarding.told_old_torch(project, first)
    write = f"write `.{first.method}(…, non_blocking=True)`, so that the copy runs while the host goes on"
    told = f"{', '.join(names[:-1])} and {names[-1]}" if several else names[0]
    return Finding(
        project.place(first.call),
        f"{told} {'come' if several else 'comes'} from a loader that pins its batches "
        f"({project.told(pinning)}), but the host waits here until the device holds {'each' if several else 'it'}{old}",
        f"give the loader workers first (DL210), then {write}" if alone else write,
        (Related(pinning, "the loader pins its batches here"),),
        None if old else _fix(project, copies),
        advice=alone or bool(old) or _is_mild(project, first),
    )


def _is_mild(project: Project, transfer: Transfer) -> bool:
    """Whether little is to be gained, or perhaps nothing."""
    return (
        bool(casts.may_be_new(transfer.receiver) or beside.follows_wait(project, transfer.call))
        or is_clocked(project, transfer.call)
        or is_seldom(project, transfer.call)
        or piecemeal.is_read_back(project, transfer)
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


def _fix(project: Project, copies: list[Transfer]) -> Fix | None:
    added = [edit for one in copies if (edit := edits.added(project, one.call, "non_blocking=True")) is not None]
    whole = any(isinstance(one, Batch) and one.whole for copy in copies for one in alternatives(copy.receiver))
    safe = copies[0].method != "to" or not whole
    return Fix("do not wait for the copy", tuple(added), safe=safe) if len(added) == len(copies) else None
