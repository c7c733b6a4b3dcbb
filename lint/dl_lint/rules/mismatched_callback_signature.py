"""A `worker_init_fn` or `collate_fn` that cannot take what the loader calls it with.

## What it does

Finds functions, methods, partials and callable objects passed as `worker_init_fn` or `collate_fn` that cannot be called
with one argument by position. Decorated functions are left alone, as a decorator may change the parameters.

## Why is this bad?

A loader calls `worker_init_fn(worker_id)` in each worker and `collate_fn(samples)` for each batch. What takes no
argument, or needs a second one, raises a TypeError: no batch arrives. A loader without workers never calls its
`worker_init_fn`, so the fault shows only where workers are asked for.

## Example

```python
import numpy as np
import torch
from torch.utils.data import DataLoader


def seed_worker():
    np.random.seed(torch.initial_seed() % 2**32)


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

from dl_lint.pipeline import workers
from dl_lint.rule import Finding, Related, rule

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator

    from dl_lint.project import Project


@rule("DL212", severity="bug")
def mismatched_callback_signature(project: Project) -> Iterator[Finding]:
    seen: set[ast.AST] = set()
    for misfit in workers.misfits(project):
        if misfit.node in seen:
            continue
        seen.add(misfit.node)
        yield Finding(
            project.place(misfit.node),
            f"as `{misfit.argument}`, {misfit.name} {misfit.reason}: {workers.CALLBACKS[misfit.argument]}, which is a "
            "TypeError before the first batch",
            "give it one parameter, and bind further ones by name with `functools.partial`",
            (Related(project.place(misfit.loader.call), "this loader calls it"),),
        )
