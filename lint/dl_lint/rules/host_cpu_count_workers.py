"""The host's CPU count decides how many workers a loader starts.

## What it does

Finds `os.cpu_count()` and `multiprocessing.cpu_count()` whose result reaches `num_workers`.

## Why is this bad?

The count is that of the host. A job that may use 4 of 104 CPUs (a container, a Slurm allocation, `taskset`) starts 104
workers, each with its own copy of what it imports and its own prefetched batches. `len(os.sched_getaffinity(0))` counts
the CPUs that the process may use; macOS and Windows do not have it, and from Python 3.13 `os.process_cpu_count()` works
on all systems. None of them knows a container's CPU quota, so a number that was measured for the job is better still.

## Example

```python
import os

from torch.utils.data import DataLoader


def make_loader(dataset):
    return DataLoader(dataset, batch_size=32, num_workers=os.cpu_count())
```

## Use instead

```python
import os

from torch.utils.data import DataLoader


def make_loader(dataset):
    return DataLoader(dataset, batch_size=32, num_workers=len(os.sched_getaffinity(0)))
```

## Fix safety

The fix is unsafe: macOS and Windows have no `os.sched_getaffinity`, and fewer workers may start than before. There is
none where the project's code asks for the system that it runs on.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint import edits
from dl_lint.flow.values import CpuCount, Option, Value, alternatives
from dl_lint.rule import Finding, Fix, Quiet, Related, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project import Project


QUIET = (Quiet("advice", "a smaller number caps the count", lambda count: count.capped),)


@rule("DL206", severity="slow", quiet=QUIET)
def host_cpu_count_workers(project: Project) -> Iterator[Finding]:
    seen: set[ast.Call] = set()
    for loader in project.loaders():
        workers = project.argument(loader, "num_workers")
        for count in _counts(workers.value):
            if count.call in seen or _asks_affinity_first(project, count.call):
                continue
            seen.add(count.call)
            yield Finding(
                project.place(count.call),
                "this counts the CPUs of the host, not those that this process may use, and decides how many workers "
                "a loader starts",
                "count with `len(os.sched_getaffinity(0))` (Linux) or `os.process_cpu_count()` (from Python 3.13), or "
                "pass a number that was measured for the job",
                (Related(project.place(workers.node), "the loader's workers are counted by it"),),
                _fix(project, count.call),
                subject=(count,),
            )


def _counts(value: Value) -> Iterator[CpuCount]:
    for one in alternatives(value):
        if isinstance(one, CpuCount):
            yield one
        elif isinstance(one, Option):
            yield from _counts(one.default)


def _asks_affinity_first(project: Project, call: ast.Call) -> bool:
    """Whether the function looks at the affinity, and counts the host's CPUs only where there is none."""
    return any(_called(other) == "sched_getaffinity" for other in project.function_of(call).calls)


def _called(call: ast.Call) -> str | None:
    match call.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return None


def _fix(project: Project, call: ast.Call) -> Fix | None:
    match call.func:
        case ast.Attribute(value=ast.Name(id="os")):
            edit = edits.replaced(project, call, "len(os.sched_getaffinity(0))")
            return Fix("count the CPUs that this process may use", (edit,), safe=False)
        case _:
            return None
