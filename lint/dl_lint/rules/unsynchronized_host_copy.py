"""A copy to the host is read before it has arrived.

## What it does

Finds `x.to("cpu", non_blocking=True)`, and `host.copy_(x, non_blocking=True)` into pinned memory, whose result is read
on the host (`numpy()`, `item()`, indexing, `print`, arithmetic, `torch.cat` of what was collected) while nothing has
waited for it: no `synchronize`, no event, no later blocking copy from the device.

## Why is this bad?

The call returns once the copy is queued, with a pinned tensor that holds whatever was in that memory before. What is
read is garbage or an older batch, now and then, and more often on a faster host. Copies to the device need no such
care, since kernels wait for them on the same stream; the host does not (pytorch#140296, pytorch#182190).

Not flagged: copies that are only handed back, moved back to the device or looked at for their shape; copies into
pageable memory, which CUDA finishes before it returns; and functions that call something that waits in between.

## Example

```python
import torch


def predict(model, images):
    scores = model(images.cuda(non_blocking=True))
    return scores.argmax(1).to("cpu", non_blocking=True).tolist()
```

## Use instead

```python
import torch


def predict(model, images):
    scores = model(images.cuda(non_blocking=True))
    return scores.argmax(1).to("cpu").tolist()
```

To overlap several copies, queue them all, call `torch.cuda.synchronize()` once, and read then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint import edits
from dl_lint.rule import Finding, Fix, Related, rule
from dl_lint.transfers.synchronisation import early_reads

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator

    from dl_lint.project import Project


@rule("DL104", severity="bug")
def unsynchronized_host_copy(project: Project) -> Iterator[Finding]:
    for copy, looked_at in early_reads(project):
        read = project.place(looked_at)
        yield Finding(
            project.place(copy),
            f"this copy may still be under way when the host reads it at {project.told(read)}: what it sees is "
            "whatever was in that memory before",
            "leave `non_blocking=True` out, or call `torch.cuda.synchronize()` before the first read",
            (Related(read, "read here, and nothing has waited for the copy"),),
            _fix(project, copy),
        )


def _fix(project: Project, copy: ast.Call) -> Fix | None:
    edit = edits.without_argument(project, copy, "non_blocking")
    return Fix("wait for the copy", (edit,)) if edit is not None else None
