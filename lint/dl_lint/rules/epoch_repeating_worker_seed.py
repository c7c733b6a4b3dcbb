"""Workers are seeded with numbers that are the same in every epoch.

## What it does

Finds code that runs in workers and seeds `random`, numpy or torch

* from `numpy.random.get_state()[1][0]` and the worker's id: since torch 1.9 that word is 2147483648 in every worker;
* from the worker's id and nothing but what stays the same in a run (constants, options, the rank, what a `partial`
  bound for the loader), where the workers are not persistent and the samples draw random numbers.

## Why is this bad?

Workers start anew for every epoch, and the function with them: each epoch repeats the augmentations of the first. With
the word of numpy's state so does every run and every rank, whatever the user's seed. torch seeds `random`, numpy and
torch itself in each worker, differently by worker and epoch.

## Example

```python
import numpy as np
from torch.utils.data import DataLoader


def shift(sound):
    return np.roll(sound, np.random.randint(len(sound)))


def seed_worker(worker_id):
    np.random.seed(np.random.get_state()[1][0] + worker_id)


def make_loader(dataset):
    return DataLoader(dataset, num_workers=4, worker_init_fn=seed_worker)
```

## Use instead

```python
import numpy as np
import torch
from torch.utils.data import DataLoader


def shift(sound):
    return np.roll(sound, np.random.randint(len(sound)))


def seed_worker(worker_id):
    np.random.seed(torch.initial_seed() % 2**32)


def make_loader(dataset):
    return DataLoader(dataset, num_workers=4, worker_init_fn=seed_worker)
```
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dl_lint.pipeline import seeding
from dl_lint.rule import Finding, Quiet, Related, rule

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator

    from dl_lint.flow.scopes import Scope
    from dl_lint.flow.values import Loader
    from dl_lint.pipeline.seeding import Seeding
    from dl_lint.project import Project

SEEDS_NUMPY = (1, 9)
"""The first torch that seeds numpy in each worker."""


@dataclass(frozen=True, slots=True)
class _Fault:
    """A seed that workers of ``loader`` get again in every epoch."""

    seeded: Seeding
    loader: Loader
    message: str


_REMEDY = "derive the seed from `torch.initial_seed() % 2**32`, which differs by worker and epoch, or leave it to torch"


QUIET = (
    Quiet(
        "silent",
        "the declared torch leaves numpy's state to each worker, before 1.9",
        lambda project, seeded: "state" in seeded.origins and project.target(seeded.call).lacks(SEEDS_NUMPY),
    ),
)


@rule("DL404", severity="bug", quiet=QUIET)
def epoch_repeating_worker_seed(project: Project) -> Iterator[Finding]:
    found: dict[ast.Call, _Fault] = {}
    fixed: dict[Scope, ast.Call] = {}
    for seeded, loader, drawing in seeding.seedings_at_start(project):
        if seeded.seeder.startswith("torch.") and seeded.origins <= {"id", "constant", "state"}:
            fixed.setdefault(project.function_of(seeded.call), seeded.call)
        if seeded.call in found or project.workers(loader) == "none":
            continue
        fault = _fault(project, seeded, loader, drawing)
        if fault is not None:
            found[seeded.call] = fault
    together: dict[tuple[object, ...], list[_Fault]] = {}
    for one in sorted(found.values(), key=lambda one: project.place(one.seeded.call)):
        function = project.function_of(one.seeded.call)
        together.setdefault((function, one.seeded.origins), []).append(one)
    for first, *others in together.values():
        related = [Related(project.place(first.loader.call), "the workers of this loader run it")]
        related += (Related(project.place(one.seeded.call), "likewise seeded here") for one in others)
        remedy = _REMEDY + _and_torch(project, [first, *others], fixed)
        place = project.place(first.seeded.call)
        yield Finding(place, first.message, remedy, tuple(related), subject=(project, first.seeded))


def _fault(project: Project, seeded: Seeding, loader: Loader, drawing: ast.Call | None) -> _Fault | None:
    if "state" in seeded.origins and "base" not in seeded.origins:
        if drawing is None and not seeding.may_draw(project, seeded):
            return None
        message = (
            "the first word of numpy's state is 2147483648 in every worker (torch 1.9 and newer), so this seed is "
        )
        persists = project.argument(loader, "persistent_workers").given  # then workers are seeded but once
        message += f"the same {'' if persists else 'in every epoch, '}on every rank and in every run"
    elif not seeding.repeats(project, seeded, loader):
        return None
    elif drawing is not None or seeding.may_draw_unseen(project, seeded, loader):
        message = "this seed is the same whenever the workers start, which is in every epoch: each repeats the "
        message += "random numbers of the first"
        message += "" if drawing is None else f" (drawn at {project.told(project.place(drawing))})"
    else:
        return None
    return _Fault(seeded, loader, message)


def _and_torch(project: Project, faults: list[_Fault], fixed: dict[Scope, ast.Call]) -> str:
    """What else is to go where torch was seeded so before: ``torch.initial_seed()`` is that number from then on."""
    call = fixed.get(project.function_of(faults[0].seeded.call))
    if call is None or not any(project.place(call) < project.place(one.seeded.call) for one in faults):
        return ""
    at = project.told(project.place(call))
    return f". Remove `torch.manual_seed` ({at}), too: `torch.initial_seed()` is its number from then on"
