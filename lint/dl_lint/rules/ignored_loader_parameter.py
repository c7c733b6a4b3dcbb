"""A parameter or an option for a loader reaches none.

## What it does

Finds functions with a parameter of a loader's name (`shuffle`, `num_workers`, `batch_size`…) that make a `DataLoader`
and never read that parameter, where a call asks for something else than what the loader gets. Where a sampler or a
batch sampler says it instead, or a dataset that is iterated has an order of its own, nothing is wrong. Finds options of
argparse for a number of workers, too, which nothing reads in a script whose loaders have none.

## Why is this bad?

The call reads as if the loader shuffled, or had workers, and it does not: a run with `shuffle=True` trains on records
in stored order, and one with `num_workers=8` loads on the training thread. Nothing says so.

## Example

```python
from torch.utils.data import DataLoader


def make_loader(dataset, num_workers=0):
    return DataLoader(dataset, batch_size=32)


def make_loaders(training, validation):
    return make_loader(training, num_workers=8), make_loader(validation, num_workers=2)
```

## Use instead

```python
from torch.utils.data import DataLoader


def make_loader(dataset, num_workers=0):
    return DataLoader(dataset, batch_size=32, num_workers=num_workers)


def make_loaders(training, validation):
    return make_loader(training, num_workers=8), make_loader(validation, num_workers=2)
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.pipeline import datasets, loaders
from dl_lint.rule import Finding, Related, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project import Project
    from dl_lint.source.syntax import Param


@rule("DL213", severity="bug")
def ignored_loader_parameter(project: Project) -> Iterator[Finding]:
    yield from _parameters(project)
    for declared, name, without in loaders.ignored_options(project):
        yield Finding(
            project.place(declared),
            f"nothing reads the option `{name}`, and {'the loader' if len(without) == 1 else 'no loader'} of this "
            f"script has {'no ' if len(without) == 1 else ''}workers: batches are loaded on the training thread",
            f"pass `num_workers=args.{name}` to the loader, or remove the option",
            tuple(Related(project.place(one.call), "a loader without workers") for one in without),
        )


def _parameters(project: Project) -> Iterator[Finding]:
    seen: set[Param] = set()
    for ignored in loaders.ignored_parameters(project):
        dataset = project.argument(ignored.loader, "dataset").value
        has_own_order = ignored.param.name == "shuffle" and not datasets.is_map_style(project, dataset)
        if ignored.param in seen or has_own_order:
            continue
        seen.add(ignored.param)
        name, asked = ignored.param.name, project.place(ignored.call)
        yield Finding(
            project.place(ignored.param.node),
            f"`{ignored.function.name}` never reads `{name}`, so what {project.told(asked)} asks for does not reach "
            "the loader",
            f"pass `{name}={name}` to the loader, or remove the parameter",
            (
                Related(project.place(ignored.loader.call), "the loader"),
                Related(asked, f"this call passes `{name}`"),
            ),
        )
