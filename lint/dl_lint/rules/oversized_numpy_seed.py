"""numpy is seeded with a number that it rejects.

## What it does

Finds `numpy.random.seed(torch.initial_seed())` and `numpy.random.seed(get_worker_info().seed)` without `% 2**32`, in
code that runs in workers.

## Why is this bad?

torch's seeds have 64 bits, numpy takes 32: `ValueError: Seed must be between 0 and 2**32 - 1`, raised in the worker at
the first batch.

## Example

```python
import numpy as np
import torch
from torch.utils.data import DataLoader


def seed_worker(worker_id):
    np.random.seed(torch.initial_seed())


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

from dl_lint import edits
from dl_lint.pipeline import seeding
from dl_lint.rule import Finding, Fix, rule

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator

    from dl_lint.flow.scopes import Scope
    from dl_lint.project import Project


@rule("DL408", severity="bug")
def oversized_numpy_seed(project: Project) -> Iterator[Finding]:
    for function in _run_in_workers(project):
        for seeded in seeding.seedings(project, function):
            if seeded.seeder == "numpy.random.seed" and seeding.is_whole_seed(project, seeded.expr):
                yield Finding(
                    project.place(seeded.call),
                    "torch's seed has 64 bits and numpy takes 32: this raises a ValueError in every worker",
                    "take the seed `% 2**32`",
                    fix=_fix(project, seeded.expr),
                )


def _run_in_workers(project: Project) -> dict[Scope, None]:
    found = dict.fromkeys(start.function for start in seeding.worker_starts(project))
    for dataset in project.dataset_classes():
        found.update(dict.fromkeys(project.fetching(dataset.cls)))
    return found


def _fix(project: Project, expr: ast.expr) -> Fix | None:
    edit = edits.with_operator(project, expr, "% 2**32")
    return Fix("take the lower 32 bits", (edit,)) if edit is not None else None
