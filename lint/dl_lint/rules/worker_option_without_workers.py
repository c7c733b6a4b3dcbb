"""An option for worker processes is given to a loader that has none.

## What it does

Finds `prefetch_factor`, `persistent_workers=True`, `multiprocessing_context` and `timeout` on a loader whose
`num_workers` is 0, not given, or 0 by default (of a command-line option, say); and `prefetch_factor=0` with workers.

## Why is this bad?

DataLoader raises ValueError for the first three when it is built. `timeout` without workers and `prefetch_factor=0`
with them fail an assertion when the loader is first iterated.

Not flagged: values that are switched with the workers, such as `persistent_workers=workers > 0`, and a `num_workers`
that the code divides by, which therefore is never 0.

## Example

```python
from torch.utils.data import DataLoader


def build(dataset):
    return DataLoader(dataset, batch_size=64, persistent_workers=True)
```

## Use instead

```python
from torch.utils.data import DataLoader


def build(dataset):
    return DataLoader(dataset, batch_size=64, num_workers=4, persistent_workers=True)
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.flow.values import NONE, Const, Option, Value, alternatives
from dl_lint.rule import Finding, Related, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.values import Loader
    from dl_lint.pipeline.loaders import Argument
    from dl_lint.project import Project

RAISES = {
    "prefetch_factor": "DataLoader raises ValueError",
    "persistent_workers": "DataLoader raises ValueError",
    "multiprocessing_context": "DataLoader raises ValueError",
    "timeout": "iterating the loader fails an assertion",
}


@rule("DL202", severity="bug")
def worker_option_without_workers(project: Project) -> Iterator[Finding]:
    for loader in project.loaders():
        workers = project.workers(loader)
        if workers == "some":
            yield from _prefetches_nothing(project, loader)
        if workers not in ("none", "default-none"):
            continue
        count = project.argument(loader, "num_workers")
        for name, outcome in RAISES.items():
            given = project.argument(loader, name)
            if _is_set(name, given.value):
                yield _finding(project, loader, name, outcome, count)


def _finding(project: Project, loader: Loader, name: str, outcome: str, count: Argument) -> Finding:
    options = [one for one in alternatives(count.value) if isinstance(one, Option)]
    related = tuple(Related(project.place(one.node), "0 unless the user says otherwise") for one in options[:1])
    if options:
        declared = related[0].place
        state = f"`num_workers` is 0 by default ({project.told(declared)})"
    else:
        state = "`num_workers` is 0" if count.given else "`num_workers` is not given, and so 0"
    return Finding(
        project.place(loader.call),
        f"`{name}` is for workers, but {state}: {outcome}",
        f"give the loader workers, or pass `{name}` only if it has some",
        related,
    )


def _is_set(name: str, value: Value) -> bool:
    """Whether the option asks for something, whatever way the code takes."""
    return all(_asks(name, one) for one in alternatives(value))


def _asks(name: str, value: Value) -> bool:
    if isinstance(value, Option):
        return all(_asks(name, one) for one in alternatives(value.default))
    if not isinstance(value, Const) or value == NONE:
        return False
    return True if name == "prefetch_factor" else bool(value.value)


def _prefetches_nothing(project: Project, loader: Loader) -> Iterator[Finding]:
    given = project.argument(loader, "prefetch_factor")
    if given.value == Const(0, "int"):
        yield Finding(
            project.place(loader.call),
            "`prefetch_factor=0` with workers: iterating the loader fails an assertion",
            "leave `prefetch_factor` at 2, or lower it to 1",
        )
