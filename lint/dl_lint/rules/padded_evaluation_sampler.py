"""A DistributedSampler that hands some evaluation samples out twice.

## What it does

Finds samplers of torch's class `DistributedSampler` made for evaluation, going by the names of the sampler, its loader
or their dataset. `drop_last=True`, samplers of one's own and samplers whose purpose no name tells are left alone, and
so is a sampler beside a test of whether the dataset's length divides: its author knows.

## Why is this bad?

Every rank must get equally many indices, so the sampler repeats samples from the start of its order until the number
divides by the number of ranks: 10 samples on 4 ranks become 12 indices, and samples 0 and 1 count twice. Metrics
averaged over the ranks then differ from those of a single process, and change with the number of ranks.

## Example

```python
from torch.utils.data import DataLoader, DistributedSampler


def make_val_loader(val_dataset):
    sampler = DistributedSampler(val_dataset, shuffle=False)
    return DataLoader(val_dataset, batch_size=32, sampler=sampler, num_workers=4)
```

## Use instead

```python
import torch.distributed as dist
from torch.utils.data import DataLoader


def make_val_loader(val_dataset):
    own = range(dist.get_rank(), len(val_dataset), dist.get_world_size())
    return DataLoader(val_dataset, batch_size=32, sampler=own, num_workers=4)
```

Sum what the metric is made of, and the number of samples, over all ranks at the end of the epoch: ranks may have one
batch more or less than others. Call the module inside `DistributedDataParallel` then, not the wrapper, whose forward
pass may wait for the other ranks.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.flow.values import Absent, Const, Sampler, alternatives
from dl_lint.pipeline import samplers, training
from dl_lint.rule import Finding, Related, rule
from dl_lint.source.syntax import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.values import Loader, Made
    from dl_lint.project import Project


@rule("DL409", severity="advice")
def padded_evaluation_sampler(project: Project) -> Iterator[Finding]:
    for sampler in project.samplers():
        if sampler.name != samplers.DISTRIBUTED_SAMPLER or sampler.cls is not None or _may_drop(project, sampler):
            continue
        loaders = tuple(_loaders(project, sampler))
        if any(_may_drop(project, loader) for loader in loaders) or not _evaluates(project, sampler, loaders):
            continue
        if _divides(project, sampler):
            continue
        yield Finding(
            project.place(sampler.call),
            "`DistributedSampler` repeats samples until their number divides by the number of ranks, so metrics count "
            "some samples twice",
            "give each rank its own indices, `range(rank, len(dataset), world_size)`, as the loader's sampler, and sum "
            "the metrics over the ranks",
            tuple(Related(project.place(loader.call), "evaluates on these samples") for loader in loaders[:1]),
        )


def _may_drop(project: Project, made: Made) -> bool:
    """Whether the samples that do not divide may be dropped."""
    return not all(
        isinstance(one, Absent) or (isinstance(one, Const) and not one.value)
        for one in alternatives(project.argument(made, "drop_last").value)
    )


def _divides(project: Project, sampler: Sampler) -> bool:
    """Whether the function looks at ``len(dataset) % ranks``."""
    dataset = dotted(project.argument(sampler, "dataset").expr)
    return any(
        dotted(call.func) == "len" and dataset in map(dotted, call.args) and _is_remainder(project.parent(call))
        for call in project.function_of(sampler.call).calls
    )


def _is_remainder(node: ast.AST | None) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod)


def _evaluates(project: Project, sampler: Sampler, loaders: tuple[Loader, ...]) -> bool:
    """Whether names say evaluation of the sampler or of its loaders, and of none of them training."""
    said = {training.purpose(project, made) for made in (sampler, *loaders)}
    return "evaluation" in said and "training" not in said


def _loaders(project: Project, sampler: Sampler) -> Iterator[Loader]:
    """The loaders that take their indices from a sampler, some of them through a batch sampler."""
    for loader in project.loaders():
        given = [project.argument(loader, name).value for name in ("sampler", "batch_sampler")]
        found = [one for value in given for one in alternatives(value) if isinstance(one, Sampler)]
        inner = [other for one in found for other in alternatives(project.argument(one, "sampler").value)]
        if any(isinstance(one, Sampler) and one.call is sampler.call for one in (*found, *inner)):
            yield loader
