"""Training goes over the records in the order in which they are stored, epoch after epoch.

## What it does

Finds map-style loaders with neither `shuffle` nor a sampler that are trained on for several epochs. Datasets that
anything near them shuffles or splits at random, that choose their samples themselves, or whose names speak of series,
windows, tokens or trials are left alone.

## Why is this bad?

Stored records are sorted by class, by source or by time, so that each batch holds a few of them and the last batches of
an epoch undo the first: after three epochs a classifier of ten classes was right for 74 % of other samples, and for 95
% where it was shuffled.

## Example

```python
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder


def train(model, root, optimizer, epochs):
    loader = DataLoader(ImageFolder(root), batch_size=32, num_workers=4, persistent_workers=True)
    for epoch in range(epochs):
        for images, labels in loader:
            optimizer.zero_grad()
            model(images, labels).backward()
            optimizer.step()
```

## Use instead

```python
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder


def train(model, root, optimizer, epochs):
    loader = DataLoader(ImageFolder(root), batch_size=32, num_workers=4, persistent_workers=True, shuffle=True)
    for epoch in range(epochs):
        for images, labels in loader:
            optimizer.zero_grad()
            model(images, labels).backward()
            optimizer.step()
```

## Fix safety

The order changes what is learnt, and code that counts on it, to pair what two loaders give, breaks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint import edits
from dl_lint.pipeline import loops, ranks, samplers, trainers, training
from dl_lint.rule import Finding, Fix, Related, rule
from dl_lint.source.syntax import called

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator

    from dl_lint.flow.values import Loader
    from dl_lint.project import Project


@rule("DL411", severity="bug")
def unshuffled_training_loader(project: Project) -> Iterator[Finding]:
    seen = set()
    for loader, again in _trained_for_epochs(project):
        if loader.call in seen or not project.models.has(loader.name, "TorchLoader"):
            continue
        if not samplers.takes_whole_dataset(project, loader, shuffled=False) or _is_full_batch(project, loader):
            continue
        if not samplers.is_in_stored_order(project, loader):
            continue
        seen.add(loader.call)
        place = project.place(again)
        edit = (
            None
            if project.argument(loader, "shuffle").given
            else edits.with_argument(project, loader.call, "shuffle=True")
        )
        yield Finding(
            project.place(loader.call),
            f"every epoch trains on the records in the order in which they are stored ({project.told(place)}): each "
            "batch holds what lies together, and the last ones of an epoch undo the first",
            "pass `shuffle=True`",
            (Related(place, "trains for several epochs"),),
            Fix("shuffle the records", (edit,), safe=False) if edit is not None else None,
        )


def _trained_for_epochs(project: Project) -> Iterator[tuple[Loader, ast.AST]]:
    """The loaders of training loops with what repeats those, and the loaders that trainers learn from."""
    for loop in project.loader_loops():
        if not loop.certain or not training.is_trained_on(project, loop):
            continue
        alone = len({one.call for one in loop.loaders}) == 1
        for loader in loop.loaders:
            again = project.repeated_by(loop, loader)
            purpose = training.purpose(project, loader)
            if again is None or loops.once_by_default(project, again):
                continue
            if ranks.replicating(project, loop) is not None and not ranks.is_prepared(project, loader):
                continue  # of which DL406 tells
            if purpose == "training" or (purpose == "unknown" and alone):
                yield loader, again
    yield from ((fit.loader, fit.node) for fit in trainers.fits(project) if fit.trains and not fit.uncounted)


def _is_full_batch(project: Project, loader: Loader) -> bool:
    """Whether all records are one batch: ``batch_size=len(dataset)``."""
    size = project.argument(loader, "batch_size")
    return size.given and called(size.expr) == "len"
