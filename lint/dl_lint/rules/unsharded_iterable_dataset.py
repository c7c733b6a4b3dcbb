"""An IterableDataset of which every worker hands out all samples.

## What it does

Finds classes derived from `IterableDataset` whose objects a `DataLoader` with workers iterates, while nothing that
runs in the workers asks which worker it is: neither the iteration nor a helper, a dataset inside or `worker_init_fn`.
Datasets that draw their samples at random, and those that go through something of which nothing is known, are left
alone: such as data that the constructor is given, and streams of Hugging Face's datasets, which ask themselves.

## Why is this bad?

Each worker iterates its own copy of the dataset from start to end, so every sample comes `num_workers` times an epoch,
without an error. torch only warns if the dataset has a length, and that not for every batch size.

## Example

```python
from torch.utils.data import DataLoader, IterableDataset


class Lines(IterableDataset):
    def __init__(self, path):
        self.path = path

    def __iter__(self):
        with open(self.path) as file:
            for line in file:
                yield line.strip()


def make_loader(path):
    return DataLoader(Lines(path), batch_size=32, num_workers=4)
```

## Use instead

```python
from itertools import islice

from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class Lines(IterableDataset):
    def __init__(self, path):
        self.path = path

    def __iter__(self):
        worker = get_worker_info()
        first, step = (worker.id, worker.num_workers) if worker is not None else (0, 1)
        with open(self.path) as file:
            for line in islice(file, first, None, step):
                yield line.strip()


def make_loader(path):
    return DataLoader(Lines(path), batch_size=32, num_workers=4)
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.flow.values import Option, Value, alternatives
from dl_lint.pipeline import sharding
from dl_lint.rule import Finding, Related, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.values import Class, Loader
    from dl_lint.project import Project


@rule("DL405", severity="bug")
def unsharded_iterable_dataset(project: Project) -> Iterator[Finding]:
    seen: set[Class] = set()
    for loader in project.loaders():
        if not project.models.has(loader.name, "TorchLoader") or not _may_have_workers(project, loader):
            continue
        for cls in sharding.unsharded(project, loader):
            if cls in seen or cls.scope.node is None or not cls.scope.file.linted:
                continue
            seen.add(cls)
            place = project.place(loader.call)
            yield Finding(
                project.place(cls.scope.node),
                f"nothing in `{cls.scope.name}` asks which worker it runs in, so each worker of the loader at "
                f"{project.told(place)} hands out all samples: they come num_workers times an epoch",
                "let `__iter__` go through the share of its worker only: `islice(source, info.id, None, "
                "info.num_workers)` with `info = torch.utils.data.get_worker_info()`, which is None without workers",
                (Related(place, "the loader whose workers iterate it"),),
            )


def _may_have_workers(project: Project, loader: Loader) -> bool:
    """Whether a loader has workers, at least where a user asks for some: an option that can be set is there to be."""
    if project.workers(loader) == "default-none":
        return any(_is_set_by_users(one) for one in alternatives(project.argument(loader, "num_workers").value))
    return project.workers(loader) != "none"


def _is_set_by_users(value: Value) -> bool:
    return isinstance(value, Option) and value.source in ("command line", "environment")
