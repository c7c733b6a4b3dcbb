"""`torch.cuda.empty_cache()` is called for every batch.

## What it does

Finds `empty_cache()` of `torch.cuda`, `torch.xpu`, `torch.npu` and `torch.accelerator` that runs in every pass of a
loop over batches, images or decoding steps, also inside a function called from one or a step of a Lightning module.

## Why is this bad?

The caching allocator keeps freed blocks so that the next batch gets its memory without asking the driver. Emptying it
gives them back: the call waits until the device has finished, and the next batch pays for `cudaMalloc` again. Training
runs took 1.3 to 1.4 times as long with it in every step. It does not make room for tensors either: the allocator gives
cached blocks back by itself before it runs out of memory.

Right after a `del` where nothing learns, in a validation, which runs only now and then, say, it is **advice**, and so
it is where each pass takes seconds anyway, as it writes a text, goes over a volume piece by piece or takes away noise
step by step, where nothing learns and each pass writes a file or attacks the model, and in a project that builds CUDA
code of its own, or uses MinkowskiEngine, which take memory past the allocator, where a comment says that it is for such
(NCCL, another process), or for a torch before 1.2. It is advice, too, in a loop that only counts (`for step in
range(steps)`) and in which nothing learns: a step may be anything; and where the peak of memory is measured beside it.
Not flagged: calls in an `except`, every n-th step, behind a setting, or after a model was deleted; loops that retry,
profile, collect how long the device takes for each pass, or go over chunks, weights, models or epochs.

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

from dl_lint.facts import tree as t
from dl_lint.project import allocators, hooks, timing
from dl_lint.project.cadence import is_validation
from dl_lint.project.passes import passes
from dl_lint.project.repetition import counts_only, learns, repetition, usual, words
from dl_lint.project.syntax import called, dotted
from dl_lint.project.values import NONE, Const
from dl_lint.rule import Finding, Related, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project import Project
    from dl_lint.project.passes import Pass

EMPTYING = tuple(f"torch.{kind}.empty_cache" for kind in ("cuda", "xpu", "npu", "accelerator"))

MODELS = frozenset(
    {"model", "models", "net", "network", "pipeline", "pipe", "unet", "vae", "encoder", "decoder", "transformer",
     "teacher", "student", "generator", "discriminator", "optimizer", "trainer", "llm", "ema"}
)  # fmt: skip


@rule("DL105", severity="slow")
def empty_cache_in_batch_loop(project: Project) -> Iterator[Finding]:
    for call in project.calls(*EMPTYING):
        found = _every_batch(project, call)
        if found is None or _after_model(project, call) or timing.is_timed(project, found.loop):
            continue
        loop = project.place(found.loop)
        yield Finding(
            project.place(call),
            f"this runs for every batch, sample or step ({project.told(loop)}): it waits for the device each "
            "time, and the next batch has to ask the driver for its memory again",
            "leave it out: the allocator uses cached blocks again, and gives them back before it runs out of memory",
            (Related(loop, "repeated here"),),
            advice=(
                _is_after_del(project, call) and (is_validation(project, found.loop) or not learns(project, found.loop))
            )
            or timing.takes_long(project, found.loop, call)
            or timing.measures_memory(project, call)
            or counts_only(project, found.loop)
            or allocators.stand_beside(project, call),
        )


def _every_batch(project: Project, call: t.Call) -> Pass | None:
    """The loop over batches (or samples, or steps) that runs ``call`` in every pass, if there is one."""
    given_up: list[tuple[t.Call, ...]] = []
    for one in passes(project.evaluator, call):
        if any(one.through[: len(path)] == path for path in given_up):
            continue
        if isinstance(one.loop, t.FunctionDef):
            kind = "step" if hooks.runs_for_each_batch(project, one.loop) else "other"
        else:
            kind = repetition(project, one.loop)
        if kind == "few" or not all(usual(project, test, outcome) for test, outcome in one.guards):
            given_up.append(one.through)
        elif kind == "step":
            return one
    return None


def _after_model(project: Project, call: t.Call) -> bool:
    """Whether a model was deleted, dropped or moved to the host before ``call`` in the same block."""
    site = project.site(call)
    for name, bindings in site.scope.bindings.items():
        for one in bindings if MODELS & set(words(name)) else ():
            gone = one.kind == "delete" or (one.kind == "assign" and project.bound_value(one) == NONE)
            if gone and one.site.block is site.block and one.site.order < site.order:
                return True
    for other in site.scope.calls:
        func = other.func
        if isinstance(func, t.Attribute) and func.attr in ("to", "cpu") and project.site(other).block is site.block:
            to_host = func.attr == "cpu" or (bool(other.args) and project.value(other.args[0]) == Const("cpu", "str"))
            if to_host and MODELS & set(words(dotted(func.value) or "")) and project.site(other).order < site.order:
                return True
    return False


def _is_after_del(project: Project, call: t.Call) -> bool:
    """Whether something was deleted in the same block just before, but for ``gc.collect()`` and ``x.cpu()``."""
    site = project.site(call)
    bound = [one.site for bindings in site.scope.bindings.values() for one in bindings if one.kind == "delete"]
    gone = max((one.order for one in bound if one.block is site.block and one.order < site.order), default=-1)
    later = [one for one in site.scope.calls if gone < project.site(one).order < site.order]
    return gone >= 0 and all(called(one) in ("collect", "cpu") for one in later)
