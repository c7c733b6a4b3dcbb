"""Workers are seeded with numbers that are the same in every epoch.

## What it does

Finds code that runs in workers and seeds `random`, numpy or torch

* from `numpy.random.get_state()[1][0]` and the worker's id: since torch 1.9 that word is 2147483648 in every worker;
* from the worker's id and nothing but constants and options, where the workers are not persistent and the samples draw
  random numbers.

## Why is this bad?

Workers start anew for every epoch, and the function with them: each epoch repeats the augmentations of the first. With
the word of numpy's state so does every run and every rank, whatever the user's seed. torch seeds `random`, numpy and
torch itself in each worker, differently by worker and epoch.

Where all loaders whose workers run it are for evaluation this is **advice**: draws that are the same each time cost no
augmentation there, and may be meant. So is the word of numpy's state where requirements or a README say that the
project is for a torch before 1.9; where `target-torch` says so, it is not reported.

## Example

```python
import numpy as np
from torch.utils.data import DataLoader


def seed_worker(worker_id):
    np.random.seed(np.random.get_state()[1][0] + worker_id)


def make_loader(dataset):
    return DataLoader(dataset, num_workers=4, worker_init_fn=seed_worker)
```

## Use instead

```python
import numpy as np
import torch
from torch.utils.data import DataLoader


def seed_worker(worker_id):
    np.random.seed(torch.initial_seed() % 2**32)


def make_loader(dataset):
    return DataLoader(dataset, num_workers=4, worker_init_fn=seed_worker)
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.project import alternatives, seeding, workers
from dl_lint.project.purpose import purpose
from dl_lint.project.values import Instance
from dl_lint.rule import Finding, Related, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.facts import tree as t
    from dl_lint.project import Project
    from dl_lint.project.seeding import Seeding
    from dl_lint.project.values import Loader

SEEDS_NUMPY = (1, 9)
"""The first torch that seeds numpy in each worker."""

_REMEDY = "derive the seed from `torch.initial_seed() % 2**32`, which differs by worker and epoch, or leave it to torch"


@rule("DL404", severity="bug")
def epoch_repeating_worker_seed(project: Project) -> Iterator[Finding]:
    found: dict[t.Call, Finding] = {}
    for seeded, loader, drawing in (*_at_start(project), *_at_first_sample(project)):
        known, target, older = found.get(seeded.call), project.target(seeded.call), False
        if (known is not None and not known.advice) or project.workers(loader) == "none":
            continue
        if "state" in seeded.origins and "base" not in seeded.origins:
            older = target.lacks(SEEDS_NUMPY)
            if older and not target.told:
                continue
            since = f"torch 1.9 and newer; {target.told}" if older else "torch 1.9 and newer"
            message = f"the first word of numpy's state is 2147483648 in every worker ({since}), so this seed is "
            message += "the same in every epoch, on every rank and in every run"
        elif drawing is not None and _repeats(project, seeded, loader):
            place = project.place(drawing)
            message = "this seed is the same whenever the workers start, which is in every epoch: each repeats the "
            message += f"random numbers of the first (drawn at {project.told(place)})"
        else:
            continue
        evaluates = older or purpose(project, loader) == "evaluation"
        if known is None or not evaluates:
            related = Related(project.place(loader.call), "the workers of this loader run it")
            place = project.place(seeded.call)
            found[seeded.call] = Finding(place, message, _REMEDY, (related,), advice=evaluates)
    yield from found.values()


def _repeats(project: Project, seeded: Seeding, loader: Loader) -> bool:
    """Whether a seed is fixed but for the worker's id, in workers that do not outlive an epoch."""
    if "id" not in seeded.origins or not seeded.origins <= {"id", "constant"}:
        return False
    return not project.argument(loader, "persistent_workers").given


def _at_start(project: Project) -> Iterator[tuple[Seeding, Loader, t.Call | None]]:
    """What ``worker_init_fn`` seeds, and where the samples of that loader draw."""
    for start in seeding.worker_starts(project):
        for seeded in seeding.seedings(project, start.function, start):
            yield seeded, start.loader, _drawing(project, start.loader, seeded.seeder)


def _at_first_sample(project: Project) -> Iterator[tuple[Seeding, Loader, t.Call | None]]:
    """What datasets seed once in a worker, under a condition."""
    for dataset in project.dataset_classes():
        functions = project.fetching(dataset.cls)
        for function in functions:
            for seeded in seeding.seedings(project, function):
                if any(project.tests_around(seeded.call)):
                    drawing = seeding.draws(project, functions, seeded.seeder)
                    for loader in workers.users(project, dataset.cls):
                        yield seeded, loader, drawing


def _drawing(project: Project, loader: Loader, seeder: str) -> t.Call | None:
    """Where the samples of a loader draw from the generator that is seeded; None if they are not seen to."""
    for one in alternatives(project.argument(loader, "dataset").value):
        if isinstance(one, Instance):
            found = seeding.draws(project, project.fetching(one.cls), seeder)
            if found is not None:
                return found
    return None
