"""The host waits for the device in every training step, to read a number.

## What it does

Finds training loops of which every step reads tensors of the device with `.item()`, `.cpu()`, `.numpy()`, `float()` or
`print`, under no condition, in the loop or in what it calls. Reads that decide what runs next are left alone, and reads
one right after the other count as one.

## Why is this bad?

Python queues kernels ahead of the device. A read waits until all of them are done, and the device is idle while the
next batch is fetched and its kernels are queued. A loss kept as a tensor costs nothing and can be read every n-th step.

## Example

```python
from torch.utils.data import DataLoader


def train(generator, critic, dataset):
    loader = DataLoader(dataset, batch_size=32, num_workers=4, pin_memory=True)
    total = 0.0
    for images in loader:
        images = images.cuda(non_blocking=True)
        loss = critic(images).mean()
        loss.backward()
        total += loss.item()
        cost = generator(images).mean()
        cost.backward()
        total += cost.item()
    return total
```

## Use instead

```python
from torch.utils.data import DataLoader


def train(generator, critic, dataset):
    loader = DataLoader(dataset, batch_size=32, num_workers=4, pin_memory=True)
    total = 0.0
    for images in loader:
        images = images.cuda(non_blocking=True)
        loss = critic(images).mean()
        loss.backward()
        total += loss.detach()
        cost = generator(images).mean()
        cost.backward()
        total += cost.detach()
    return float(total)
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.rule import Finding, Quiet, Related, rule
from dl_lint.transfers import step_waits

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator

    from dl_lint.project import Project
    from dl_lint.transfers.step_waits import Step


def _called_from(project: Project, step: Step) -> Iterator[Related]:
    """The loop, where what reads is a function that it calls."""
    if project.site(step.reads[0]).scope.function is not step.loop.function:
        yield Related(project.place(step.loop.node), "in each step of this loop")


def _once(step: Step) -> bool:
    return len(step.reads) < 2


QUIET = (Quiet("advice", "a step waits once", _once),)


@rule("DL108", severity="slow", quiet=QUIET)
def sync_every_step(project: Project) -> Iterator[Finding]:
    told: set[ast.Call] = set()
    for step in step_waits.waiting_steps(project):
        first, *others = step.reads
        if told.issuperset(step.reads) or not project.site(first).scope.file.linted:
            continue
        told.update(step.reads)
        often = "" if not others else f" {len(step.reads)} times"
        others = [one for one in dict.fromkeys(others) if one is not first]  # a function may be called twice
        yield Finding(
            project.place(first),
            f"every training step waits{often} for the device to have done all that is queued, to read a number, "
            "and the next kernels are queued after that",
            "keep it as a tensor (`detach()`), and read it every n-th step or after the loop",
            (*(Related(project.place(one), "and here") for one in others), *_called_from(project, step)),
            subject=(step,),
        )
