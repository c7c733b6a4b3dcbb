"""A random generator that was made before the workers started, and is drawn from in all of them.

## What it does

Finds generators (`numpy.random.default_rng`, `RandomState`, `random.Random`, `torch.Generator`) that a dataset, or an
object that it holds, makes in its constructor or that a module makes when it is imported, and that are drawn from while
samples are fetched.

## Why is this bad?

Every worker starts with a copy of the generator in the same state: the workers draw the same numbers for different
samples, and where they are not persistent every epoch draws them again. The global `random`, `numpy.random` and torch
generators have no such fault: torch seeds them in each worker, differently by worker and epoch. Linters that ask for
`default_rng` in place of `numpy.random` (ruff's NPY002) lead here.

## Example

```python
import numpy as np
from torch.utils.data import Dataset


class Noisy(Dataset):
    def __init__(self, values):
        self.values = values
        self.rng = np.random.default_rng()

    def __getitem__(self, index):
        return self.values[index] + self.rng.normal()
```

## Use instead

```python
import numpy as np
from torch.utils.data import Dataset


class Noisy(Dataset):
    def __init__(self, values):
        self.values = values

    def __getitem__(self, index):
        return self.values[index] + np.random.normal()
```
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.flow.enclosing import blocks, jumps
from dl_lint.flow.interpreter import classes
from dl_lint.flow.interpreter.classes import with_inner
from dl_lint.flow.values import Class, Made, alternatives
from dl_lint.pipeline import workers
from dl_lint.pipeline.seeding import GENERATORS, is_renewed
from dl_lint.rule import Finding, Related, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.values import Value
    from dl_lint.pipeline.datasets import DatasetClass
    from dl_lint.project import Project

_NO_DRAWS = frozenset({"seed", "manual_seed", "get_state", "set_state", "getstate", "setstate", "bit_generator"})


@rule("DL402", severity="bug")
def frozen_generator_in_dataset(project: Project) -> Iterator[Finding]:
    seen: set[ast.Call] = set()
    for dataset in project.dataset_classes():
        if workers.idle(project, dataset.cls):
            continue
        for made, drawn, name in (*_kept(project, dataset), *_of_modules(project, dataset)):
            if made.call in seen or is_renewed(project, name.rpartition(".")[2], made.call, drawn):
                continue
            seen.add(made.call)
            place = project.place(drawn)
            yield Finding(
                project.place(made.call),
                f"`{name}` is made once, in the main process, and drawn from for every sample ("
                f"{project.told(place)}): each worker has a copy in the same state, so they draw the same numbers, and "
                "draw them again whenever workers start",
                "draw from the global `random` or `numpy.random`, which torch seeds for each worker and epoch, or make "
                "the generator in the worker, from `torch.initial_seed()`",
                (Related(place, "drawn from here, in every worker"),),
            )


def _kept(project: Project, dataset: DatasetClass) -> Iterator[tuple[Made, ast.AST, str]]:
    """Generators that constructors keep on self, of the dataset and of the objects that it holds."""
    building = set(workers.building(project, dataset.cls))
    held = workers.held(project, dataset.cls)
    for read in project.reads(dataset.cls):
        owner = read.function.parent
        if not _draws(project, read.node) or owner is None or owner.kind != "class":
            continue
        for one in dict.fromkeys((dataset.cls, *held, Class(owner))):
            if Class(owner) not in classes.lineage(project, one):
                continue  # `self` is another object there
            for kept in project.kept(one):
                if kept.attribute == read.attribute and kept.binding is not None and kept.method.name == "__init__":
                    for made in _generators(project.bound_value(kept.binding)):
                        if project.function_of(made.call) in building or one in held:
                            yield made, read.node, f"self.{read.attribute}"


def _of_modules(project: Project, dataset: DatasetClass) -> Iterator[tuple[Made, ast.AST, str]]:
    """Generators that a module makes when it is imported."""
    for function in project.fetching(dataset.cls):
        for scope in with_inner(function):
            for name, loads in scope.loads.items():
                for load in () if name in function.bindings else loads:
                    for made in _generators(project.value(load)):
                        if project.function_of(made.call).kind == "module" and _draws(project, load):
                            yield made, load, name


def _generators(value: Value) -> Iterator[Made]:
    return (one for one in alternatives(value) if isinstance(one, Made) and one.name in GENERATORS)


def _draws(project: Project, node: ast.expr) -> bool:
    """Whether a read takes numbers from what it reads, or hands it on; not where it is only asked or stored."""
    above = project.parent(node)
    if _is_another_try(project, node):
        return False
    if isinstance(above, ast.Attribute):
        return above.attr not in _NO_DRAWS
    return not isinstance(above, ast.Compare)


def _is_another_try(project: Project, node: ast.expr) -> bool:
    """Whether numbers are drawn only where a sample could not be read: behind what returns one, ``while True: … if data
    is not None: return data``, or in an ``except``."""
    repeated = (block for block in blocks(project, node) if block.kind == "while")
    return project.in_handler(node) or any(any(jumps(project, block, node, "leave")) for block in repeated)
