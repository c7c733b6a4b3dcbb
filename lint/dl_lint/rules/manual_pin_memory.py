"""A tensor is pinned on the thread that is about to copy it to the device.

## What it does

Finds `x.pin_memory()` whose result is copied to the device in the same pass of the code: chained, as in
`x.pin_memory().to(device, non_blocking=True)`, or through a variable.

## Why is this bad?

Pinning allocates page-locked memory and copies the tensor into it, and the thread that trains waits for both: on an
H200, 1.4 to 1.8 ms for a batch of 7 MB and 7.4 to 10 ms for one of 38 MB. Of a batch that the loader's thread had
pinned, the copy was under way after 0.06 to 0.2 ms. A plain `x.to(device, non_blocking=True)`, for which the driver
stages the same bytes through its own pinned buffer, took 0.6 to 1.9 times as long as pinning by hand, by size and
threads. With a blocking copy behind it, as in `x.pin_memory().to(device)`, the host also waits for all that the device
has been given to do. Pinning is worth it where another thread does it: `DataLoader(pin_memory=True)` has such a thread.

Not flagged: a buffer that is pinned once and used again, pinning in a collate function or in a `pin_memory` method
(the loader's thread runs those), and weights.

## Example

```python
def train(model, batches, device):
    for images in batches:
        images = images.pin_memory().to(device, non_blocking=True)
        model(images)
```

## Use instead

```python
from torch.utils.data import DataLoader


def train(model, dataset, device):
    for images in DataLoader(dataset, batch_size=32, num_workers=4, pin_memory=True):
        images = images.to(device, non_blocking=True)
        model(images)
```
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.flow.values import Derived, Made, Tensor, Value, alternatives
from dl_lint.pipeline import workers
from dl_lint.rule import Finding, Related, rule
from dl_lint.source.syntax import targets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project import Project
    from dl_lint.transfers.copies import Transfer

WEIGHT_FILES = ("safetensors.", "torch.load", "torch.nn.")
"""Where weights come from: no loader could pin them in its thread."""


@rule("DL101", severity="slow")
def manual_pin_memory(project: Project) -> Iterator[Finding]:
    told = set()
    for move in project.transfers():
        if move.destination != "device":
            continue
        for one in alternatives(move.receiver):
            if not isinstance(one, Tensor) or one.placement != "pinned" or one.node in told:
                continue
            pin = one.node
            if _pins(pin) and _each_time(project, pin, move) and not _of_weights(project, one, move):
                told.add(pin)
                yield _finding(project, pin, move)


def _finding(project: Project, pin: ast.AST, move: Transfer) -> Finding:
    copy = f"`.{move.method}(…, non_blocking=True)`"
    if move.asynchronous is False:
        message = "pinning here buys nothing: the copy that follows is a blocking one, and the host waits for both"
        remedy = f"copy with {copy}, so that the host does not wait for the device"
    else:
        message = "the host waits here while the tensor is copied to pinned memory"
        remedy = f"keep {copy}"
    return Finding(
        project.place(pin),
        message,
        f"{remedy}, and let the loader's thread pin, with `DataLoader(pin_memory=True)`",
        () if move.receiver_expr is pin else (Related(project.place(move.call), "the copy to the device"),),
    )


def _pins(node: ast.AST) -> bool:
    """Whether this is ``x.pin_memory()`` and not an allocation such as ``torch.empty(…, pin_memory=True)``."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "pin_memory"


def _each_time(project: Project, pin: ast.AST, move: Transfer) -> bool:
    """Whether the tensor is pinned anew for each copy, by code of the main process that runs again and again."""
    function = project.function_of(pin)
    if function is not project.function_of(move.call) or function.name in ("pin_memory", "__init__"):
        return False
    around = tuple(project.loops_around(pin))
    if any(loop not in around for loop in project.loops_around(move.call)):
        return False  # pinned before the loop that copies it
    if around:
        return not _collates(project, pin)
    if function.kind == "module":
        return False
    called = bool(project.callers(function))
    return (not called or bool(project.repeating(pin))) and not _collates(project, pin)


def _collates(project: Project, pin: ast.AST) -> bool:
    """Whether a loader runs this as its collate function."""
    return project.function_of(pin) in project.reachable(*(one.function for one in workers.collators(project)))


def _of_weights(project: Project, pinned: Tensor, move: Transfer) -> bool:
    above = project.parent(move.call)
    bound = targets(above) if above is not None else []
    if any(isinstance(to, ast.Attribute) and to.attr == "data" for to in bound):
        return True
    return any(_is_weight(project, one) for one in alternatives(pinned.source))


def _is_weight(project: Project, value: Value) -> bool:
    while isinstance(value, Derived | Tensor):
        if isinstance(value, Tensor):
            value = value.source
            continue
        if value.step == "attr" and project.models.is_method(str(value.key), "Weights"):
            return True
        value = value.base
    return isinstance(value, Made) and value.name.startswith(WEIGHT_FILES)
