"""A copy to the device says `non_blocking=True`, but its source is pageable memory.

## What it does

Finds `.to(device, non_blocking=True)` and `.cuda(non_blocking=True)` on a batch, or a part or view of one, whose
loaders are all known not to pin, and on what `cat`, `stack`, `clone` and the like made of a batch on the host; not
where helpers get pinned batches as well.

## Why is this bad?

Only page-locked memory can be copied while the host goes on. From pageable memory CUDA first copies the batch to a
buffer of its own on the thread that trains; `non_blocking=True` reads as if that were overlapped, and is not.

## Example

```python
import torch
from torch.utils.data import DataLoader


def train(model, dataset, device):
    loader = DataLoader(dataset, num_workers=4)
    for images, labels in loader:
        images = images.to(device, non_blocking=True)
        labels = labels.to(device, non_blocking=True)
        model(images, labels)
```

## Use instead

```python
import torch
from torch.utils.data import DataLoader


def train(model, dataset, device):
    loader = DataLoader(dataset, num_workers=4, pin_memory=torch.cuda.is_available())
    for images, labels in loader:
        images = images.to(device, non_blocking=True)
        labels = labels.to(device, non_blocking=True)
        model(images, labels)
```

## Fix safety

Unsafe in a module that does not import torch: `pin_memory=True` warns on a machine without an accelerator.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint import edits
from dl_lint.flow.interpreter import tensor_memory
from dl_lint.flow.values import Batch, Loader, Tensor, Value, alternatives, present
from dl_lint.pipeline import training
from dl_lint.rule import Finding, Fix, Related, rule
from dl_lint.source.syntax import called
from dl_lint.transfers import copies

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project import Project
    from dl_lint.transfers.copies import Transfer


@rule("DL103", severity="slow")
def non_blocking_from_pageable(project: Project) -> Iterator[Finding]:
    for transfer in project.transfers():
        if transfer.destination != "device" or transfer.asynchronous is not True:
            continue
        sources = present(transfer.receiver)
        unpinned = [found for one in sources if (found := _unpinned(project, one))]
        computed = [one.node for one in sources if isinstance(one, Tensor) and _made_of(project, one, "pageable")]
        cast = [one.node for one in sources if isinstance(one, Tensor) and _cast_of_pinned(project, one)]
        if cast and len(cast) == len(sources):
            yield _of_copy(project, transfer, cast[0], ", unless it was of that dtype already")
        if not unpinned + computed or any(_may_be_pinned(project, one) for one in sources):
            continue
        if len(unpinned + computed) < len(sources) and not (unpinned and copies.nobody_pins(project, transfer.call)):
            continue
        if unpinned:
            # Where more than these may be copied here, nobody in the sub-project pins; only these are known to feed it.
            yield _of_loaders(project, transfer, _in_order(project, [one for found in unpinned for one in found]))
        else:
            yield _of_copy(project, transfer, computed[0])


def _unpinned(project: Project, value: Value) -> tuple[Loader, ...]:
    """The loaders, if none of them ever pins, whose batch this is, or may be after a cast."""
    loaders = project.batches_in(value) if _is_as_loaded(value) else ()
    return loaders if all(not one.prepared and project.pins(one) == "no" for one in loaders) else ()


def _is_as_loaded(value: Value) -> bool:
    return isinstance(value, Batch) or (isinstance(value, Tensor) and value.placement == "host")


def _may_be_pinned(project: Project, value: Value) -> bool:
    is_pinned = isinstance(value, Tensor) and value.placement == "pinned"
    return is_pinned or (_is_as_loaded(value) and not _unpinned(project, value))


def _made_of(project: Project, value: Tensor, placement: str) -> tuple[Loader, ...]:
    """The loaders of whose batches a tensor on the host was made; none where one is prepared."""
    found = tuple(project.batches_in(value.source)) if value.placement == placement else ()
    return () if any(one.prepared for one in found) else found


def _cast_of_pinned(project: Project, value: Tensor) -> bool:
    is_cast = "Cast" in tensor_memory.kinds(project, called(value.node))
    found = _made_of(project, value, "host") if is_cast else ()
    return bool(found) and all(project.pins(one) == "yes" for one in found)


def _of_loaders(project: Project, transfer: Transfer, loaders: tuple[Loader, ...]) -> Finding:
    made = [project.place(one.call) for one in loaders]
    one = len(loaders) == 1
    unattended = any(project.workers(loader) == "none" for loader in loaders)
    cast = not any(isinstance(one, Batch) for one in alternatives(transfer.receiver))
    given = ("workers and " if unattended else "") + "`pin_memory=True`" + (" and cast on the device" if cast else "")
    return Finding(
        project.place(transfer.call),
        f"{transfer.told} is in pageable memory, as {'its loader does' if one else 'its loaders do'} not pin "
        f"({', '.join(map(project.told, made))}): the host waits for this copy in spite of `non_blocking=True`",
        f"give the {'loader' if one else 'loaders'} {given}, or leave `non_blocking` out",
        tuple(Related(place, "this loader does not pin its batches") for place in made),
        _pinning(project, loaders[0]) if one and not unattended and not cast else None,
        repeats=True,
    )


def _of_copy(project: Project, transfer: Transfer, copy: ast.AST, unless: str = "") -> Finding:
    made = project.place(copy)
    return Finding(
        project.place(transfer.call),
        f"{transfer.told} was computed on the host ({project.told(made)}), so it is in pageable memory "
        f"whether its loader pins or not{unless}: the host waits for this copy in spite of `non_blocking=True`",
        "copy what the loader gives to the device first, and compute there",
        (Related(made, "this makes a new tensor in pageable memory"),),
    )


def _in_order(project: Project, loaders: list[Loader]) -> tuple[Loader, ...]:
    """Loaders, one for each call, those for training first."""
    each = {one.call: one for one in loaders}.values()
    return tuple(sorted(each, key=lambda one: training.purpose(project, one) == "evaluation"))


def _pinning(project: Project, loader: Loader) -> Fix | None:
    """Let the loader pin, where its own call says or may say whether it does."""
    argument = project.argument(loader, "pin_memory")
    bindings = project.function_of(loader.call).file.module.bindings
    imported = any(one.kind == "import" for one in bindings.get("torch", ()))
    value = "torch.cuda.is_available()" if imported else "True"
    edit = edits.with_argument(project, loader.call, f"pin_memory={value}") if argument.node is loader.call else None
    if isinstance(argument.expr, ast.Constant):
        edit = edits.replaced(project, argument.expr, value)
    return Fix("pin the loader's batches", (edit,), safe=imported) if edit else None
