"""Something that cannot be pickled on its way to the workers.

## What it does

Finds lambdas, nested functions, objects of local classes and what is defined under `if __name__ == "__main__"`, handed
to a loader that may have workers, as `collate_fn`, `worker_init_fn` or within the dataset, and datasets that keep such
a function, an open file, a lock, a generator, a `torch.Generator` or a `multiprocessing.Manager()`, whose proxies do
pickle. Samplers stay in the main process and may hold anything.

## Why is this bad?

Under fork workers inherit the dataset. Under spawn (macOS, Windows) and forkserver (Linux from Python 3.14) they get it
pickled, and starting them fails with `Can't pickle local object`. A `torch.Generator` does pickle, and then the worker
dies with `unable to resize file`.

## Example
```python
import torch
from torch.utils.data import DataLoader


def make_loader(dataset, length):
    return DataLoader(dataset, num_workers=4, collate_fn=lambda samples: torch.stack(samples)[:length])
```

## Use instead
```python
from functools import partial

import torch
from torch.utils.data import DataLoader


def collate(samples, length):
    return torch.stack(samples)[:length]


def make_loader(dataset, length):
    return DataLoader(dataset, num_workers=4, collate_fn=partial(collate, length=length))
```
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.flow.values import NONE, Absent, alternatives
from dl_lint.pipeline import loaders, pickling, workers
from dl_lint.rule import Finding, Needs, Related, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.values import Loader
    from dl_lint.pipeline.pickling import Obstacle
    from dl_lint.project import Project

PARTS = {"dataset": "the dataset of", "collate_fn": "the collate_fn of", "worker_init_fn": "the worker_init_fn of"}
REMEDY = (
    "define functions and classes at module level, bind arguments with `functools.partial`, and make files, locks and "
    "generators in the worker, at their first use. Of a manager, keep the proxies only"
)


@rule("DL306", severity="bug")
def unpicklable_in_worker(project: Project) -> Iterator[Finding]:
    seen: set[ast.AST] = set()
    alike: dict[tuple[object, ...], list[tuple[Obstacle, Loader, str]]] = {}
    variants = (one for loader in project.loaders() for one in workers.variants(project, loader))
    pickled = [one for one in variants if project.workers(one) != "none" and _pickles(project, one)]
    for loader in sorted(pickled, key=lambda one: loaders.are_left_to_users(project, one)):
        for part, of in PARTS.items():
            for obstacle in _obstacles(project, loader, part):
                if obstacle.node not in seen and obstacle.cause not in seen:
                    seen.update(one for one in (obstacle.node, obstacle.cause) if one is not None)
                    alike.setdefault(_idiom(project, loader, obstacle, of), []).append((obstacle, loader, of))
    for several in alike.values():
        several.sort(key=lambda one: project.place(one[0].node))
        obstacle, loader, of = several[0]
        message = (
            f"{obstacle.what} goes into {of} a loader that may have workers: spawn and forkserver "
            "(macOS, Windows, Linux from Python 3.14) pickle it for them, which fails"
        )
        related = [Related(project.place(loader.call), "this loader")]
        related += (Related(project.place(one.node), "the same for another loader") for one, *_ in several[1:])
        yield Finding(project.place(obstacle.node), message, REMEDY, tuple(related), needs=Needs((loader,)))


def _idiom(project: Project, loader: Loader, obstacle: Obstacle, of: str) -> tuple[object, ...]:
    """What is the same fault: a lambda that several loaders of a file are given word for word, and else each place."""
    if of == PARTS["dataset"] or not isinstance(obstacle.node, ast.Lambda):
        return of, obstacle
    is_left = loaders.are_left_to_users(project, loader)
    return of, project.path(obstacle.node), ast.unparse(obstacle.node), is_left


def _obstacles(project: Project, loader: Loader, part: str) -> Iterator[Obstacle]:
    value = project.argument(loader, part).value
    yield from pickling.obstacles(project, value, workers.handed(project, loader, part))


def _pickles(project: Project, loader: Loader) -> bool:
    """Whether workers may be started by pickling: fork does not, and loky has its own way."""
    context = project.argument(loader, "multiprocessing_context").value
    forks = project.hints.start_method == "fork"
    return all(
        not forks if isinstance(one, Absent) or one == NONE else workers.is_spawn(one) for one in alternatives(context)
    )
