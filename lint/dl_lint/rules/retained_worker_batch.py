"""Batches of workers that are kept, each with its file descriptor and its piece of shared memory.

## What it does

Finds loops over a loader with workers that append CPU tensors of the batch, or views of them, to a container that
outlives the loop: as they are, after `.detach()`, `.numpy()` or indexing, or after a `.cpu()` that has nothing to copy.
Copies, numbers, tensors that went to the device and loaders that pin or may pin are left alone.

## Why is this bad?

A worker sends each tensor in a shared memory file of its own. The main process holds one descriptor and one mapping of
it for as long as any view of the tensor lives: with a limit of 256 descriptors the loop failed after 243 batches with
`Too many open files`, for `batch.numpy()`, `batch.detach()` and `batch[0]` alike, while 4,000 copies made by `.clone()`
did no harm. The usual limit is 1,024.

## Example
```python
import torch
from torch.utils.data import DataLoader


def predict(dataset, model):
    loader = DataLoader(dataset, batch_size=4, num_workers=4)
    scores, labels = [], []
    for images, targets in loader:
        scores.append(model(images))
        labels.append(targets.detach())
    return torch.cat(scores), torch.cat(labels)
```

## Use instead
```python
import torch
from torch.utils.data import DataLoader


def predict(dataset, model):
    loader = DataLoader(dataset, batch_size=4, num_workers=4)
    scores, labels = [], []
    for images, targets in loader:
        scores.append(model(images))
        labels.append(targets.clone())
    return torch.cat(scores), torch.cat(labels)
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.flow.values import Batch, Const, alternatives
from dl_lint.pipeline import retention
from dl_lint.rule import Finding, Related, rule

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator

    from dl_lint.flow.values import Loader
    from dl_lint.pipeline.retention import Kept
    from dl_lint.project import Project

REMEDY = "keep a copy, `.clone()`, or what is needed of it as numbers, `.tolist()`"


SETTER = "torch.multiprocessing.set_sharing_strategy"


@rule("DL305", severity="bug")
def retained_worker_batch(project: Project) -> Iterator[Finding]:
    seen = set()
    for loop in project.loader_loops():
        calls = {loader.call for loader in loop.loaders}
        for kept in retention.kept(project, loop):
            loaders = _sharing(project, kept)
            if not loaders or kept.node in seen or not calls.intersection(loader.call for loader in loaders):
                continue
            if _shares_by_files(project, loop.node):
                continue
            seen.add(kept.node)
            message = (
                f"{kept.name} keeps tensors of every batch as the workers sent them, each with an open file and a "
                "piece of shared memory: at the limit, as a rule 1,024, the process fails with `Too many open files`"
            )
            related = tuple(Related(project.place(one.call), "its workers send the batches") for one in loaders[:1])
            yield Finding(project.place(kept.node), message, REMEDY, related, repeats=True)


def _sharing(project: Project, kept: Kept) -> tuple[Loader, ...]:
    """The loaders whose batches are kept alive, each with workers and without pinning."""
    loaders = retention.shares(project, kept)
    if not all(_sends_shared(project, one) for one in loaders):
        return ()
    value = project.value(kept.expr)
    if isinstance(value, Batch) and value.whole and not project.argument(value.loader, "collate_fn").given:
        return loaders
    return loaders if retention.is_of_tensors(project, kept) else ()


def _sends_shared(project: Project, loader: Loader) -> bool:
    """Whether batches arrive in shared memory and stay there. Pinning copies them out of it, accelerate may."""
    return not loader.prepared and project.workers(loader) in ("some", "unknown") and project.pins(loader) == "no"


def _shares_by_files(project: Project, near: ast.AST) -> bool:
    """Whether the project shares tensors by `file_system`, which keeps no descriptor open."""
    for call in project.calls(SETTER):
        found = alternatives(project.passed(call, "new_strategy", "new_strategy").value)
        if any(isinstance(one, Const) and one.value == "file_system" for one in found) and project.are_near(call, near):
            return True
    return False
