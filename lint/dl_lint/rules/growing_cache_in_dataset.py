"""A dataset that remembers what it read, once in each worker.

## What it does

Finds `__getitem__` writing under a key that comes of its index, or adding, to a container that the dataset keeps on
`self`, or into a record kept there, by itself, in a method that it calls or in an object that the dataset holds; and
methods on that path with an unbounded `lru_cache` or `cache`. Caches with a limit of a thousand entries, caches that
drop some and one open file per shard are left alone.

## Why is this bad?

A cache that is filled in `__getitem__` is filled again in every worker and shared with none: 24 MB of samples grew one
worker by 68 MB, and eight workers hold it eight times. Without `persistent_workers` the cache ends with the epoch, so
that it never hits at all.

## Example
```python
import numpy as np
from torch.utils.data import DataLoader, Dataset


class Photos(Dataset):
    def __init__(self, paths):
        self.paths = np.array(paths)
        self.cache = {}

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        if index not in self.cache:
            self.cache[index] = np.load(self.paths[index])
        return self.cache[index]


def make_loader(paths):
    return DataLoader(Photos(paths), batch_size=32, num_workers=4)
```

## Use instead
```python
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Photos(Dataset):
    def __init__(self, paths):
        self.paths = np.array(paths)
        self.pixels = torch.empty(len(paths), 3, 64, 64, dtype=torch.uint8).share_memory_()
        self.filled = torch.zeros(len(paths), dtype=torch.bool).share_memory_()

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        if not self.filled[index]:
            self.pixels[index] = torch.from_numpy(np.load(self.paths[index]))
            self.filled[index] = True
        return self.pixels[index]


def make_loader(paths):
    return DataLoader(Photos(paths), batch_size=32, num_workers=4)
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.flow.values import Const
from dl_lint.pipeline import caches, datasets, workers
from dl_lint.rule import Finding, Needs, Related, listed, rule

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator

    from dl_lint.flow.values import Class
    from dl_lint.pipeline.caches import Growth
    from dl_lint.pipeline.datasets import DatasetClass
    from dl_lint.project import Project

REMEDY = {
    "store": "drop the cache, fill it in `__init__` before there are workers, or keep it in a tensor made with "
    "`.share_memory_()`, which all workers see",
    "record": "return it with the sample, or write it to a file: the main process does not see what a worker keeps",
    "memo": "drop the decorator, or bound it (`lru_cache(maxsize=8)`) if samples are asked for twice in a row",
}


@rule("DL302", severity="slow")
def growing_cache_in_dataset(project: Project) -> Iterator[Finding]:
    seen: set[ast.AST] = set()
    for dataset in project.dataset_classes():
        if dataset.kind != "map" or workers.idle(project, dataset.cls):
            continue
        stay = _stay(project, dataset.cls)
        alike: dict[tuple[str, bool, bool], list[Growth]] = {}
        for growth in caches.growing(project, dataset.cls):
            if growth.node not in seen and workers.coming_to(project, dataset.cls, growth.node) != "main":
                seen.add(growth.node)
                holding = datasets.holding(project, growth.node, dataset)
                alike.setdefault((holding, growth.memo, growth.unread), []).append(growth)
        for several in alike.values():
            yield _finding(project, dataset, several, stay)


def _stay(project: Project, cls: Class) -> bool:
    """Whether the workers of all loaders of a class, or of those that may be its, live on from epoch to epoch."""
    loaders = workers.users(project, cls) or workers.unclaimed(project, cls)
    found = [project.argument(loader, "persistent_workers").value for loader in loaders]
    return bool(found) and all(one == Const(True, "bool") for one in found)


def _finding(project: Project, dataset: DatasetClass, several: list[Growth], stay: bool) -> Finding:
    growth, *others = sorted(several, key=lambda one: project.place(one.node))
    names = list(dict.fromkeys(one.what for one in (growth, *others)))
    grows = f"{listed(names)} {'grow' if len(names) > 1 else 'grows'}"
    place = project.place(growth.node)
    if growth.unread:
        cost = "each worker fills its own, which nobody else sees"
    elif stay:
        cost = "each worker fills its own, and none sees another's"
    else:
        cost = (
            "each worker fills its own, none sees another's, and without persistent_workers it is thrown away after "
            "each epoch before it is ever hit"
        )
    holding = datasets.holding(project, growth.node, dataset)
    message = f"{grows} with every sample that a worker fetches from `{holding}`: {cost}"
    related = [
        Related(project.place(one.node), f"{'it' if one.what == growth.what else one.what} grows here too")
        for one in others
    ]
    loader = workers.fetching_for(project, dataset.cls)
    if loader is not None:
        related.append(Related(project.place(loader[0].call), f"the loader, with {loader[1]}"))
    if growth.origin is not None:
        related.append(Related(project.place(growth.origin), "made here, copied into each worker"))
    remedy = REMEDY["memo" if growth.memo else "record" if growth.unread else "store"]
    return Finding(
        place,
        message,
        remedy,
        tuple(related),
        needs=Needs(workers.of_product(project, dataset.cls), dataset.cls, growth.node),
    )
