"""A DistributedSampler shuffles every epoch alike, because nobody tells it the epoch.

## What it does

Finds a `DistributedSampler` that shuffles, whose loader is trained on in a loop over epochs, or by a trainer that never
calls it (an `Engine` of ignite), where no `set_epoch` of the project may reach it; and a `set_epoch(epoch)` that comes
after the loader was iterated in that epoch.

## Why is this bad?

The order is a function of the seed and of the epoch that was last set: without `set_epoch` it is the same in every
epoch, and each rank sees the same batches of the same samples again and again. There is no error, only a model that
generalises worse. Called after the loop, it takes effect one epoch late, so the first two epochs are alike.

Not flagged: samplers that do not shuffle, loops that do not train, and loaders handed to a trainer that calls
`set_epoch` itself (Lightning, transformers, composer, catalyst, accelerate; with `trainer-calls-set-epoch = true` your
own).

## Example

```python
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


def train(model, optimizer, dataset, epochs):
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=32, sampler=sampler)
    for epoch in range(epochs):
        for images, labels in loader:
            model(images, labels).backward()
            optimizer.step()
```

## Use instead

```python
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


def train(model, optimizer, dataset, epochs):
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=32, sampler=sampler)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for images, labels in loader:
            model(images, labels).backward()
            optimizer.step()
```
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint import edits
from dl_lint.flow.values import NONE, Sampler, alternatives
from dl_lint.pipeline import samplers, trainers
from dl_lint.pipeline.training import purpose
from dl_lint.rule import Finding, Fix, Related, rule
from dl_lint.source.syntax import ForStatement, dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.enclosing import LoopNode
    from dl_lint.flow.values import Loader
    from dl_lint.pipeline.loops import LoaderLoop
    from dl_lint.pipeline.trainers import Fit
    from dl_lint.project import Project


@rule("DL401", severity="bug")
def missing_set_epoch(project: Project) -> Iterator[Finding]:
    told: set[ast.AST] = set()
    for loop in project.loader_loops():
        for loader in loop.loaders:
            for sampler in alternatives(samplers.sampler_of(project, loader)):
                if not isinstance(sampler, Sampler) or not _matters(project, sampler, loader):
                    continue
                epochs = project.repeated_by(loop, loader)
                if epochs is None or not samplers.trains(project, loop, loader):
                    continue
                if samplers.may_be_told_epoch(project, sampler, loop.node):
                    late = samplers.set_late(project, loop, loader, epochs)
                    if late is not None and late not in told:
                        told.add(late)
                        yield _too_late(project, late, loop)
                elif sampler.call not in told and not project.hints.trainer_calls_set_epoch:
                    told.add(sampler.call)
                    yield _never(project, sampler, loop, loader, epochs)
    for fit in trainers.fits(project):
        for sampler in alternatives(samplers.sampler_of(project, fit.loader)):
            if isinstance(sampler, Sampler) and sampler.call not in told and _is_left_alone(project, fit, sampler):
                told.add(sampler.call)
                yield _never_by_trainer(project, fit, sampler)


def _is_left_alone(project: Project, fit: Fit, sampler: Sampler) -> bool:
    """Whether neither a trainer nor the project sets the epoch of a sampler that shuffles by it."""
    if fit.trainer.sets_epoch or not fit.trains or project.hints.trainer_calls_set_epoch:
        return False
    return _matters(project, sampler, fit.loader) and not samplers.may_be_told_epoch(project, sampler, fit.node)


def _never_by_trainer(project: Project, fit: Fit, sampler: Sampler) -> Finding:
    given = project.place(fit.node)
    return Finding(
        project.place(sampler.call),
        "this sampler shuffles by epoch, but no `set_epoch` reaches it, and this Trainer calls none: every epoch has "
        "the same order",
        "call `set_epoch(epoch)` on the sampler in a callback that runs at the start of each epoch",
        (Related(given, "the Trainer takes the loader from here"),),
    )


def _matters(project: Project, sampler: Sampler, loader: Loader) -> bool:
    return not loader.prepared and samplers.shuffles(project, sampler) and purpose(project, sampler) != "evaluation"


def _never(project: Project, sampler: Sampler, loop: LoaderLoop, loader: Loader, epochs: LoopNode) -> Finding:
    around = project.place(epochs)
    return Finding(
        project.place(sampler.call),
        f"this sampler shuffles by epoch, but no `set_epoch` reaches it: every epoch of the loop at "
        f"{project.told(around)} has the same order",
        "call `set_epoch(epoch)` on the sampler at the start of each epoch",
        (Related(around, "the loop over epochs"), Related(project.place(loop.node), "the loader is iterated here")),
        _fix(project, loop, loader, epochs),
    )


def _fix(project: Project, loop: LoaderLoop, loader: Loader, epochs: LoopNode) -> Fix | None:
    """Set the epoch first thing in the loop, if the sampler or its loader has a name there."""
    epoch = samplers.epoch_of(epochs) if epochs is not loop.node else None
    name = _name_in(project, loop, loader, epochs)
    if epoch is None or name is None or not isinstance(epochs, ForStatement):
        return None
    found = alternatives(samplers.sampler_of(project, loader))
    text = f"{name}.set_epoch({epoch})"
    if NONE in found:
        if name.endswith(".sampler"):
            return None
        text = f"if {name} is not None:\n    {text}"
    elif not all(isinstance(one, Sampler) and one.name == samplers.DISTRIBUTED_SAMPLER for one in found):
        text = f'if hasattr({name}, "set_epoch"):\n    {text}'
    return Fix("set the sampler's epoch", (edits.with_first_statement(project, epochs, text),))


def _name_in(project: Project, loop: LoaderLoop, loader: Loader, epochs: LoopNode) -> str | None:
    """What the loop over epochs can call the sampler by."""
    here = project.function_of(epochs)
    given = project.argument(loader, "sampler")
    if project.function_of(loader.call) is here and isinstance(given.expr, ast.Name):
        return given.expr.id
    source = dotted(loop.source)
    return f"{source}.sampler" if source is not None and loop.function is here and given.given else None


def _too_late(project: Project, call: ast.Call, loop: LoaderLoop) -> Finding:
    return Finding(
        project.place(call),
        "`set_epoch` comes after the loader was iterated in this epoch: it takes effect one epoch late, and the first "
        "two epochs have the same order",
        "call it before the loop over the loader",
        (Related(project.place(loop.node), "the loader is iterated here"),),
    )
