"""`torch.cuda.empty_cache()` is called for every batch.

## What it does

Finds `empty_cache()` of `torch.cuda`, `torch.xpu`, `torch.npu` and `torch.accelerator` that runs in every pass of a
loop over batches, images or decoding steps, also inside a function called from one or a step of a Lightning module; not
in an `except`, every n-th step, behind a setting or after a model was deleted.

## Why is this bad?

The caching allocator keeps freed blocks so that the next batch gets its memory without asking the driver. Emptying it
waits for the device, and the next batch calls `cudaMalloc` again: training took 1.3 to 1.4 times as long with it in
every step. It makes no room either: the allocator gives cached blocks back by itself before memory runs out.

## Example

```python
import torch
from torch.utils.data import DataLoader


def train(model, dataset):
    for batch in DataLoader(dataset, num_workers=4):
        model(batch).backward()
        torch.cuda.empty_cache()
```

## Use instead

```python
from torch.utils.data import DataLoader


def train(model, dataset):
    for batch in DataLoader(dataset, num_workers=4):
        model(batch).backward()
```

Where memory is fragmented, set `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True` instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.flow.call_graph import passes
from dl_lint.flow.values import NONE
from dl_lint.pipeline import trainers
from dl_lint.pipeline.training import repetition, usual, words
from dl_lint.rule import Finding, Related, rule
from dl_lint.source.syntax import FunctionDefinition

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator

    from dl_lint.flow.call_graph import Pass
    from dl_lint.project import Project

EMPTYING = tuple(f"torch.{kind}.empty_cache" for kind in ("cuda", "xpu", "npu", "accelerator"))

MODELS = frozenset(
    {"model", "models", "net", "network", "pipeline", "pipe", "unet", "vae", "encoder", "decoder", "transformer",
     "teacher", "student", "generator", "discriminator", "optimizer", "trainer", "llm", "ema"}
)  # fmt: skip


@rule("DL105", severity="slow")
def empty_cache_in_batch_loop(project: Project) -> Iterator[Finding]:
    for call in project.calls(*EMPTYING):
        found = _every_batch(project, call)
        if found is None or _after_model(project, call):
            continue
        loop = project.place(found.loop)
        yield Finding(
            project.place(call),
            f"this runs for every batch, sample or step ({project.told(loop)}): it waits for the device each "
            "time, and the next batch has to ask the driver for its memory again",
            "leave it out: the allocator takes blocks from the cache, and gives that back before memory runs out",
            (Related(loop, "repeated here"),),
        )


def _every_batch(project: Project, call: ast.Call) -> Pass | None:
    """The loop over batches (or samples, or steps) that runs ``call`` in every pass, if there is one."""
    given_up: list[tuple[ast.Call, ...]] = []
    for one in passes(project, call):
        if any(one.through[: len(path)] == path for path in given_up):
            continue
        if isinstance(one.loop, FunctionDefinition):
            kind = "step" if trainers.runs_for_each_batch(project, one.loop) else "other"
        else:
            kind = repetition(project, one.loop)
        if kind == "few" or not all(usual(project, test, outcome) for test, outcome in one.guards):
            given_up.append(one.through)
        elif kind == "step":
            return one
    return None


def _after_model(project: Project, call: ast.Call) -> bool:
    """Whether a model was deleted or dropped before ``call`` in the same block."""
    site = project.site(call)
    for name, bindings in site.scope.bindings.items():
        for one in bindings if MODELS & set(words(name)) else ():
            gone = one.kind == "delete" or (one.kind == "assign" and project.bound_value(one) == NONE)
            if gone and one.site.block is site.block and one.site.order < site.order:
                return True
    return False
