"""A training loader that gives every process of a distributed job the whole dataset.

## What it does

Finds training loops, recognised by their backward pass, that run a model wrapped in `DistributedDataParallel` or the
like, or one that accelerate prepared, over a `DataLoader` that has no distributed sampler, shuffled or not (then of a
map-style dataset), and is never prepared; `prepare(cycle(loader))` leaves the loader alone. Loaders made under a test
of the rank or of the number of processes, and datasets that are split by rank, are left alone; so is a model that is
wrapped under `world_size > 1` or the like where that is 1 by default and no caller gives another.

## Why is this bad?

Each process goes over all samples, so an epoch takes as many times longer as there are processes. Where all of them are
seeded alike, as `set_seed(args.seed)` does, they also draw the same order: every process computes the same gradients
from the same batches, and more processes buy nothing. So does every process where the loader does not shuffle: four
ranks with batches of 32 learnt from 32 different samples a step instead of 128, in 32 steps an epoch instead of 8.

## Example

```python
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader


def train(model, dataset, optimizer, epochs):
    model = DistributedDataParallel(model)
    loader = DataLoader(dataset, batch_size=32, shuffle=True, num_workers=4, persistent_workers=True)
    for epoch in range(epochs):
        for batch in loader:
            optimizer.zero_grad()
            model(batch).mean().backward()
            optimizer.step()
```

## Use instead

```python
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def train(model, dataset, optimizer, epochs):
    model = DistributedDataParallel(model)
    sampler = DistributedSampler(dataset, shuffle=True)
    loader = DataLoader(dataset, batch_size=32, sampler=sampler, num_workers=4, persistent_workers=True)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for batch in loader:
            optimizer.zero_grad()
            model(batch).mean().backward()
            optimizer.step()
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.flow.values import Made, alternatives
from dl_lint.pipeline import datasets, ranks, samplers, training
from dl_lint.rule import Finding, Related, rule

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator

    from dl_lint.flow.values import Loader
    from dl_lint.pipeline.loops import LoaderLoop
    from dl_lint.project import Project


@rule("DL406", severity="bug")
def unsharded_training_loader(project: Project) -> Iterator[Finding]:
    seen: set[ast.Call] = set()
    for loop in project.loader_loops():
        loaders = [one for one in loop.loaders if one.call not in seen and _is_whole(project, one)]
        is_alone = loop.certain and len(loaders) == len(loop.loaders)
        if not loaders or not training.is_trained_on(project, loop):
            continue
        wrapping = ranks.replicating(project, loop)
        if wrapping is None:
            continue
        for loader in loaders:
            if not (is_alone or ranks.is_beside(project, loader, wrapping)):
                continue  # the model may be wrapped where another of the loaders is used
            if ranks.is_prepared(project, loader) or ranks.may_know_ranks(project, loader):
                continue
            if ranks.gathers_its_own(project, loader):
                continue  # no process has what another one has
            if training.purpose(project, loader) == "evaluation":
                continue  # the function that trains takes it as well, to learn nothing from it
            seen.add(loader.call)
            yield _finding(project, loader, loop, wrapping)


def _finding(project: Project, loader: Loader, loop: LoaderLoop, wrapping: ast.Call) -> Finding:
    place = project.place(wrapping)
    accelerated = any(
        isinstance(one, Made) and one.name in ranks.PREPARING for one in alternatives(project.value(wrapping))
    )
    remedy = (
        "pass the loader to `prepare()` with the model and the optimizer, which shards it"
        if accelerated
        else "pass `sampler=DistributedSampler(dataset, shuffle=True)`, not `shuffle`, and call its "
        "`set_epoch` before each epoch"
    )
    how = (
        "shuffles without a distributed sampler: processes with the same seed even get the same batches"
        if samplers.takes_whole_dataset(project, loader, shuffled=True)
        else "has neither shuffle nor a distributed sampler: all of them train on the same batches"
    )
    return Finding(
        project.place(loader.call),
        f"every process (several run this loop: {project.told(place)}) goes over the whole dataset, as this "
        f"loader {how}",
        remedy,
        (Related(place, "several processes train this"), Related(project.place(loop.node), "the training loop")),
    )


def _is_whole(project: Project, loader: Loader) -> bool:
    """Whether a loader goes over its whole dataset, whatever the process. An iterable dataset may know its share."""
    if not project.models.has(loader.name, "TorchLoader") or loader.prepared:
        return False
    return samplers.takes_whole_dataset(project, loader, shuffled=True) or (
        samplers.takes_whole_dataset(project, loader, shuffled=False)
        and datasets.is_map_style(project, project.argument(loader, "dataset").value)
    )
