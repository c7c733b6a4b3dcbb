"""A loader is built anew in each pass of the loop that iterates it, always from the same arguments.

## What it does

Finds loaders with workers that are made inside the loop that iterates them (each in its body, or in functions that it
calls), where no argument depends on the loop.

## Why is this bad?

Each pass starts the workers again and throws them away: about half a second with `fork`, 12 to 25 seconds with
`forkserver` (the default on Linux from Python 3.14), where every worker imports torch anew. Persistent workers cannot
help a loader that does not persist, and a loader built once starts its workers for each pass unless they persist: only
both together spare the starts.

Not flagged: loaders without workers, which cost microseconds to build, and arguments that depend on the loop, that are
changed in it (also by a method of the dataset), or whose origin is not known.

## Example

```python
from torch.utils.data import DataLoader


def train(model, dataset, epochs):
    for epoch in range(epochs):
        loader = DataLoader(dataset, batch_size=32, shuffle=True, num_workers=4)
        for batch in loader:
            model(batch)
```

## Use instead

```python
from torch.utils.data import DataLoader


def train(model, dataset, epochs):
    loader = DataLoader(dataset, batch_size=32, shuffle=True, num_workers=4, persistent_workers=True)
    for epoch in range(epochs):
        for batch in loader:
            model(batch)
```
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.pipeline import invariance
from dl_lint.rule import Finding, Related, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.enclosing import LoopNode
    from dl_lint.flow.values import Loader
    from dl_lint.pipeline.loops import LoaderLoop
    from dl_lint.project import Project


@rule("DL205", severity="slow")
def loader_built_in_epoch_loop(project: Project) -> Iterator[Finding]:
    seen: set[ast.Call] = set()
    for loop in project.loader_loops():
        for loader in loop.loaders:
            if loader.call in seen or project.workers(loader) in ("none", "default-none"):
                continue
            outer = _rebuilt_by(project, loop, loader)
            if outer is not None:
                seen.add(loader.call)
                place = project.place(outer)
                yield Finding(
                    project.place(loader.call),
                    f"the loop at {project.told(place)} builds this loader again and again, from arguments that "
                    "do not depend on it, and its workers start again each time",
                    "build it once, before the loop, with `persistent_workers=True`: without that, workers restart "
                    "for each pass all the same",
                    (Related(place, "the loop that builds it again"),),
                )


def _rebuilt_by(project: Project, loop: LoaderLoop, loader: Loader) -> LoopNode | None:
    """The loop that both builds and iterates a loader, itself or by calls, if it builds the same one each time."""
    iterating = {loop.node, *project.repeating(loop.node)}
    epochs = project.repeated_by(loop, loader)
    for outer in project.repeating(loader.call):
        inside = outer in project.loops_around(loader.call)
        if isinstance(outer, ast.comprehension) or outer not in iterating or (outer is loop.node and not inside):
            continue
        if epochs not in (None, outer, loop.node):
            continue  # built once for many epochs, as in a loop over runs
        if (
            invariance.is_same_in(project, loader.call, outer)
            if inside
            else invariance.is_same_through_calls(project, loader, outer, loop)
        ):
            return outer
    return None
