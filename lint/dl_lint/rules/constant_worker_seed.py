"""A `worker_init_fn` seeds every worker with the same number.

## What it does

Finds functions passed as `worker_init_fn` that seed `random`, numpy or torch with a value that depends neither on the
worker's id nor on `torch.initial_seed()`.

## Why is this bad?

All workers draw the same numbers, so samples that different workers fetch get the same augmentation; and as the
function runs again whenever workers start, so does every epoch. Without the function all would be well: torch (1.9 and
newer) seeds `random`, numpy and torch in each worker, differently for each worker and epoch, and reproducibly after
`torch.manual_seed`.

## Example

```python
import numpy as np
from torch.utils.data import DataLoader


def seed_worker(worker_id):
    np.random.seed(42)


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

from dl_lint.pipeline import seeding
from dl_lint.rule import Finding, Related, rule

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator

    from dl_lint.project import Project


@rule("DL403", severity="bug")
def constant_worker_seed(project: Project) -> Iterator[Finding]:
    seen: set[ast.Call] = set()
    for start in seeding.worker_starts(project):
        if project.workers(start.loader) == "none":
            continue
        for seeded in seeding.seedings(project, start.function, start):
            if seeded.origins == {"constant"} and seeded.call not in seen:
                seen.add(seeded.call)
                yield Finding(
                    project.place(seeded.call),
                    f"`{seeded.seeder}` gets the same number in every worker, and again in every epoch: samples of "
                    "different workers are augmented alike",
                    "derive the seed from `torch.initial_seed() % 2**32`, which differs by worker and epoch, or leave "
                    "seeding to torch",
                    (Related(project.place(start.loader.call), "the workers of this loader run it"),),
                )
