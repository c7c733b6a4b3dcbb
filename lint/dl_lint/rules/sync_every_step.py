"""The host waits for the device in every training step, to read a number.

## What it does

Finds training steps, in a loop or in a method that a trainer calls for every batch, that always read tensors of the
device with `.item()`, `.cpu()`, `float()`, an f-string, `print` or a logger, in the step or in what it calls. Reads
that decide what runs next, or give a size, are left alone, and reads one right after the other count as one.

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
from dl_lint.source.syntax import FunctionDefinition
from dl_lint.transfers import step_waits

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator

    from dl_lint.project import Project
    from dl_lint.transfers.step_waits import Wait, WaitingStep


def _once(waiting: WaitingStep) -> bool:
    return len(waiting.waits) < 2 and waiting.waits[0].loop is None


QUIET = (Quiet("advice", "a step waits once", _once),)


@rule("DL108", severity="slow", quiet=QUIET)
def sync_every_step(project: Project) -> Iterator[Finding]:
    reported: set[ast.AST] = set()
    for waiting in step_waits.waiting_steps(project):
        fresh = [one for one in waiting.waits if one.node not in reported]
        first = next((one for one in fresh if one.loop is not None), next(iter(fresh), None))
        if first is None or not project.site(first.node).scope.file.linted:
            continue
        reported.update(one.node for one in fresh)
        if first.loop is not None:
            when = f" in each pass of a loop ({project.told(project.place(first.loop))})"
        else:
            when = f" {len(waiting.waits)} times" if len(waiting.waits) > 1 else ""
        yield Finding(
            project.place(first.node),
            f"every training step waits{when} for the device to have done all that is queued, to read a number, "
            "and the next kernels are queued after that",
            "keep it as a tensor (`detach()`), and read it every n-th step or after the loop",
            tuple(_related(project, waiting, first)),
            subject=(waiting,),
        )


def _related(project: Project, waiting: WaitingStep, first: Wait) -> Iterator[Related]:
    step = waiting.step
    others = dict.fromkeys(one.node for one in waiting.waits if one.node is not first.node)
    yield from (Related(project.place(one), "and here") for one in others)
    beside = dict.fromkeys(node for one in waiting.waits for node in one.instead)
    yield from (Related(project.place(one), "or here, where this is called instead") for one in beside)
    if project.site(first.node).scope.function is not step.function:
        what = "function" if isinstance(step.node, FunctionDefinition) else "loop"
        yield Related(project.place(step.node), f"in each step of this {what}")
