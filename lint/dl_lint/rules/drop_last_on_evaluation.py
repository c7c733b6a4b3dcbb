"""Evaluation leaves out the samples of the last batch.

## What it does

Finds `drop_last=True` on loaders that are only evaluated, by their names, by what a builder's callers call them, or by
the branch that sets it (`if split == "test":`). Loaders that anything trains on, and batches of one, are left alone.

## Why is this bad?

Up to `batch_size - 1` samples never count, the last ones of the file, which are of one class where it is sorted: a
model that knows nine of ten classes was right for 100 % of 896 samples, and for 90 % of all 1,000 that it was to be
tested on. Two runs with other batch sizes are measured on other data.

## Example

```python
from torch.utils.data import DataLoader


def make_val_loader(val_dataset):
    return DataLoader(val_dataset, batch_size=128, num_workers=4, drop_last=True)
```

## Use instead

```python
from torch.utils.data import DataLoader


def make_val_loader(val_dataset):
    return DataLoader(val_dataset, batch_size=128, num_workers=4)
```

## Fix safety

The last batch may be smaller then, which code that reshapes to a fixed batch size does not expect.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint import edits
from dl_lint.flow.values import Absent, Const, Option, alternatives
from dl_lint.pipeline import training, workers
from dl_lint.rule import Finding, Fix, Related, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.values import Loader
    from dl_lint.project import Project

TRUE, ONE = Const(True, "bool"), Const(1, "int")


@rule("DL410", severity="bug")
def drop_last_on_evaluation(project: Project) -> Iterator[Finding]:
    seen = set()
    for loader in (one for made in project.loaders() for one in workers.variants(project, made)):
        for node in _dropping(project, loader) if project.models.has(loader.name, "TorchLoader") else ():
            if node not in seen:
                seen.add(node)
                shuffled = project.argument(loader, "shuffle").value == TRUE
                is_own = node in [one.value for one in loader.call.keywords] and not loader.frames
                call = training.evaluating_call(project, loader)
                asked = [project.place(call)] if call is not None else []
                edit = edits.without_argument(project, loader.call, "drop_last") if is_own else None
                yield Finding(
                    project.place(node),
                    "".join(f"for the loader that {project.told(one)} asks for, " for one in asked)
                    + "evaluation leaves out the samples that fill no batch: up to `batch_size - 1` of them "
                    + ("do not count, others in each pass" if shuffled else "never count"),
                    "leave `drop_last` out where nothing is trained",
                    tuple(Related(one, "asked for here, for evaluation") for one in asked),
                    fix=Fix("evaluate the last batch, too", (edit,), safe=False) if edit is not None else None,
                )


def _dropping(project: Project, loader: Loader) -> Iterator[ast.AST]:
    """What says that a loader drops its last batch in evaluation: its argument, or an assignment in a branch."""
    dropped, size = project.argument(loader, "drop_last"), project.argument(loader, "batch_size")
    in_branch = training.evaluation_bindings(project, size.expr)
    by_default = (one.default if isinstance(one, Option) else one for one in alternatives(size.value))
    if all(isinstance(one, Absent) or one == ONE for one in by_default):
        return
    if dropped.value == TRUE and training.is_only_evaluated(project, loader):
        node = workers.handed(project, loader, "drop_last")
        spread = project.parent(node)
        if not (isinstance(spread, ast.keyword) and spread.arg is None):
            yield node  # and not a ``**options`` that another place has filled
    elif not any(project.bound_value(one) == ONE for one in in_branch):
        for one in training.evaluation_bindings(project, dropped.expr):
            if project.bound_value(one) == TRUE:
                yield one.node
