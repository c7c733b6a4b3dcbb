"""Something that cannot be pickled on its way to the workers.

## What it does
Finds lambdas, nested functions and objects of local classes handed to a loader that may have workers, as `collate_fn`,
`worker_init_fn` or within the dataset, and datasets that keep such a function, an open file, a lock, a generator or a
`torch.Generator`. Samplers stay in the main process and may hold anything.

## Why is this bad?
Under fork workers inherit the dataset. Under spawn (macOS, Windows) and forkserver (Linux from Python 3.14) they get it
pickled, and starting them fails with `Can't pickle local object`. A `torch.Generator` does pickle, and then the worker
dies with `unable to resize file`.

In a function that nothing calls, of a project that has scripts and cannot be installed, this is **advice**, and so it
is where every script that comes to it is for a Python older than 3.14, by what it imports and calls (a package that is
gone, `iterator.next()`) or what the README and the requirements say, and neither the nearest README that names a system
nor the code (`"mps"`, `sys.platform == "win32"`) speaks of another than Linux; or where their Python is older than 3.8
or their torch than 1.4 and the README does not name Windows. It is advice where there are workers only if the user asks
for some (an option that is 0 by default); in a script that shows batch after batch, or stands among tests and has none;
in a notebook, where a function of a cell is no better; where the function that builds the loader puts another one of
its own into the dataset (`add_dynamic_item(data, pipeline)`), or its dataset comes from where nothing tells what it is,
so that something else of it may not be pickled either; and where a builder that returns a function is called, but for
the first time.

Not flagged: what a constructor falls back on (`if reader is None:`) where every construction passes something, or
where nothing tells that one does not.

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

from typing import TYPE_CHECKING

from dl_lint.project import alternatives, machines, narrowed, pickling, scripts, unnamed, unused, viewing, workers
from dl_lint.project.values import NONE, Absent
from dl_lint.rule import Finding, Related, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.facts import tree as t
    from dl_lint.project import Project
    from dl_lint.project.pickling import Obstacle
    from dl_lint.project.values import Loader

PARTS = {"dataset": "the dataset of", "collate_fn": "the collate_fn of", "worker_init_fn": "the worker_init_fn of"}
REMEDY = (
    "define functions and classes at module level and bind what they need with `functools.partial`; make files, locks, "
    "generators and random number generators in the worker, where they are first used"
)


@rule("DL306", severity="bug")
def unpicklable_in_worker(project: Project) -> Iterator[Finding]:
    seen: set[t.Node] = set()
    for loader in project.loaders():
        for variant in workers.variants(project, loader):
            if project.workers(variant) == "none" or not _pickles(project, variant):
                continue
            found = [(of, one) for part, of in PARTS.items() for one in _obstacles(project, variant, part)]
            named = frozenset(one.node for _, one in found)
            for of, obstacle in found:
                if obstacle.node not in seen:
                    told = obstacle.cause is not None and obstacle.cause in seen
                    seen.update(one for one in (obstacle.node, obstacle.cause) if one is not None)
                    message = (
                        f"{obstacle.what} goes into {of} a loader that may have workers: spawn and forkserver "
                        "(macOS, Windows, Linux from Python 3.14) pickle it for them, which fails"
                    )
                    related = (Related(project.place(variant.call), "this loader"),)
                    mild = told or not _is_met(project, variant) or not _is_cured(project, variant, obstacle, named)
                    yield Finding(project.place(obstacle.node), message, REMEDY, related, advice=mild)


def _obstacles(project: Project, loader: Loader, part: str) -> Iterator[Obstacle]:
    value = narrowed.argument(project, project.argument(loader, part))
    yield from pickling.obstacles(project, value, workers.handed(project, loader, part))


def _is_cured(project: Project, loader: Loader, obstacle: Obstacle, named: frozenset[t.Node]) -> bool:
    """Whether workers start when all that was ``named`` of a loader is as the remedy says."""
    if unnamed.is_in_notebook(project, loader.call, obstacle.node) or unnamed.has_untold_dataset(project, loader):
        return False
    return not unnamed.may_remain(project, loader.call, named)


def _is_met(project: Project, loader: Loader) -> bool:
    """Whether somebody may come to where workers are started by pickling."""
    if project.workers(loader) == "default-none" or viewing.is_by_hand(project, project.site(loader.call).scope.file):
        return False
    forks = not scripts.spawns(project, loader)
    return not (forks and machines.always_fork(project, loader.call)) and not unused.is_unused(project, loader.call)


def _pickles(project: Project, loader: Loader) -> bool:
    """Whether workers may be started by pickling: fork does not, and loky has its own way."""
    context = project.argument(loader, "multiprocessing_context").value
    forks = project.hints.start_method == "fork"
    return all(
        not forks if isinstance(one, Absent) or one == NONE else scripts.is_spawn(one) for one in alternatives(context)
    )
