"""The same values are copied from the host to the device for every batch.

## What it does

Finds, in a loop over the batches of a loader, in a training step and in what these call, copies to the device of a
tensor that was made on the host before the loop, of one that is built in each pass from values that do not change in
it, and, in a training step, of one that is made of a shape alone, as zeros are. Methods that a trainer calls for every
batch count as loops.

## Why is this bad?

The copy comes from pageable memory, so the host stops queueing work for it, in every step, to move what the device had
in the step before.

Not flagged: other values that depend on the batch or the step, random ones, tensors that are written to in the loop,
tensors whose place is not known, and what an option switches off unless a user asks for it.

## Example

```python
import torch
from torch.utils.data import DataLoader


def train(model, dataset, device):
    weights = torch.tensor([1.0, 2.0, 0.5])
    for images, labels in DataLoader(dataset, num_workers=4):
        model(images, labels, weights.to(device))
```

## Use instead

```python
import torch
from torch.utils.data import DataLoader


def train(model, dataset, device):
    weights = torch.tensor([1.0, 2.0, 0.5]).to(device)
    for images, labels in DataLoader(dataset, num_workers=4):
        model(images, labels, weights)
```

Zeros and ones that are written to later can be made on the device: `torch.zeros(8, device=device)`.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.flow.interpreter import tensor_memory
from dl_lint.flow.values import Tensor, alternatives
from dl_lint.pipeline import training
from dl_lint.rule import Finding, Related, rule
from dl_lint.source.syntax import Display, FunctionDefinition, called, dotted
from dl_lint.transfers import loop_invariants

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project import Project
    from dl_lint.transfers.loop_invariants import Repeating


@rule("DL106", severity="slow")
def loop_invariant_device_copy(project: Project) -> Iterator[Finding]:
    for copy, source in _copies(project):
        of_nothing = _is_made_of_nothing(project, source)
        again = loop_invariants.repeating_loop(project, copy, source)
        if again is None and of_nothing:  # the device could make it, whatever its shape
            again = _training_step(project, copy)
        if again is None:
            continue
        place = project.place(again)
        built = dotted(source) is None or source in copy.args
        yield Finding(
            project.place(copy),
            (
                "a tensor that the device could make is built on the host and"
                if of_nothing
                else "a tensor of the same values is built on the host and"
                if built
                else f"`{dotted(source)}` stays the same but is"
            )
            + f" copied to the device for every batch ({project.told(place)})",
            "make it on the device: give the function that builds it `device=`"
            if of_nothing
            else "copy it once, before the loop",
            (
                Related(
                    place,
                    "the trainer calls this" if isinstance(again, FunctionDefinition) else "the loop over batches",
                ),
            ),
            repeats=True,
        )


def _training_step(project: Project, copy: ast.Call) -> Repeating | None:
    """What comes to a copy in every step of a training."""
    again = loop_invariants.repeating_loop(project, copy, None)
    return again if isinstance(again, FunctionDefinition) or (again and training.trains(project, again)) else None


def _is_made_of_nothing(project: Project, source: ast.expr) -> bool:
    """Whether a tensor is made of a shape alone, and computed of no other: ``torch.zeros(n, 3).float()``."""
    while isinstance(source, ast.Call) and isinstance(source.func, ast.Attribute):
        model = project.models.get(f"torch.{source.func.attr}")
        if (
            tensor_memory.makes_of_nothing(project, f"torch.{source.func.attr}")
            and dotted(source.func.value) == "torch"
        ):
            return not model.has("Draws")
        if source.args or not project.models.has(f"torch.Tensor.{source.func.attr}", "View", "Cast"):
            return False
        source = source.func.value
    return False


def _copies(project: Project) -> Iterator[tuple[ast.Call, ast.expr]]:
    """Copies of host tensors to the device, each with the name or the expression of what is copied."""
    for transfer in project.transfers():
        sources = alternatives(transfer.receiver)
        on_host = all(isinstance(one, Tensor) and one.placement in ("pageable", "pinned") for one in sources)
        if transfer.destination == "device" and sources and on_host and not project.batches_in(transfer.receiver):
            yield transfer.call, transfer.receiver_expr
    for call in project.calls("torch.tensor", "torch.as_tensor"):
        target = project.passed(call, "device")
        copies = call.args and (called(call) == "tensor" or isinstance(call.args[0], Display))
        if target.given and copies and project.placement(project.value(call)) != "cpu":
            yield call, call.args[0]
