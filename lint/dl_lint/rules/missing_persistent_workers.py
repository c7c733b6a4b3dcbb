"""A loader with workers is iterated again and again, and starts its workers anew each time.

## What it does

Finds loaders with workers that an epoch loop iterates more than once, without `persistent_workers=True`. The loop may
stand in another function or file, or belong to the trainer of Lightning, composer, ignite or catalyst. The message has
the number of workers and what is known of the number of passes: a validation in every n-th epoch is reported as one.

## Why is this bad?

For each epoch the workers are started again, import what they need and fill their queues while the model waits. With
`fork` that is 49 ms for one worker, 130 ms for four and up to half a second an epoch; with `forkserver`, the default on
Linux from Python 3.14, 12 to 25 seconds.

## Example

```python
from torch.utils.data import DataLoader


def train(model, dataset, epochs):
    loader = DataLoader(dataset, batch_size=32, shuffle=True, num_workers=4)
    for epoch in range(epochs):
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

## Fix safety

The fix is safe where the number of workers is a literal and each epoch needs them: between those that do, workers that
stay hold their memory. Where the user chooses the number, the fix is `persistent_workers=n > 0`, and unsafe.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint import edits
from dl_lint.flow.values import Option, alternatives
from dl_lint.pipeline import loaders, loops, persistence, trainers, trip_counts
from dl_lint.rule import Finding, Fix, Quiet, Related, rule
from dl_lint.source.syntax import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.enclosing import LoopNode
    from dl_lint.flow.values import Loader
    from dl_lint.project import Project

QUIET = (
    Quiet(
        "silent",
        "what the workers hold is changed between passes, which those that stay would not see",
        lambda project, loader, again, loop: persistence.changes(project, loader, again, loop),
    ),
    Quiet(
        "silent",
        "it is iterated in every n-th step of another loader, and its workers would idle in between",
        lambda project, loader, again, loop: trip_counts.is_rare(project, loader, again, loop),
    ),
    Quiet(
        "advice",
        "the declared torch has no persistent workers",
        lambda project, loader, again, loop: persistence.are_lacking(project, loader),
    ),
)


AGAIN = "again and again"
UNCOUNTED = f"{AGAIN} (how many passes that makes is not known)"
RARELY = f"{AGAIN} (in every n-th pass)"


@rule("DL204", severity="slow", quiet=QUIET)
def missing_persistent_workers(project: Project) -> Iterator[Finding]:
    ways: dict[ast.Call, list[tuple[Loader, ast.AST, LoopNode | None]]] = {}
    fits = {fit.node: fit for fit in trainers.fits(project)}
    fitted = ((fit.loader, fit.node, None) for fit in trainers.fits(project))
    for loader, again, loop in (*_repeated(project), *fitted):
        if persistence.starts_workers_again(project, loader):
            ways.setdefault(loader.call, []).append((loader, again, loop))
    for several in ways.values():
        # One builder may serve several loops: told is one that nothing keeps quiet, with more than one pass if any has.
        loud = [way for way in several if not any(one.when(project, *way) for one in QUIET)]
        loader, again, loop = min(loud or several[:1], key=lambda way: loops.once_by_default(project, way[1]))
        place = project.place(again)
        hooked = again in fits
        by = "the Trainer" if hooked else f"the loop at {project.told(place)}"
        passes = (UNCOUNTED if fits[again].uncounted else AGAIN) if hooked else _passes(project, loader, again, loop)
        yield Finding(
            project.place(loader.call),
            f"{by} iterates this loader {passes}, and its {_workers(project, loader)} "
            f"restarted for {'each of those' if passes == RARELY else 'every pass'}",
            f"pass {persistence.wanted(project, loader)}, so that the workers stay between epochs",
            (Related(place, "the Trainer takes it from here" if hooked else "iterated again by this"),),
            _fix(project, loader, safe=passes != RARELY),
            subject=(project, loader, again, loop),
        )


def _repeated(project: Project) -> Iterator[tuple[Loader, ast.AST, LoopNode | None]]:
    for loop in project.loader_loops():
        for loader in loop.loaders:
            again = project.repeated_by(loop, loader)
            if again is not None:
                yield loader, again, loop.node
    yield from ((loader, again, again) for loader, again in (*project.drained_again(), *project.begun_again()))


def _passes(project: Project, loader: Loader, again: ast.AST, loop: LoopNode | None) -> str:
    """How often the loader is iterated, as far as is known."""
    if trip_counts.skips_epochs(project, loader, again, loop):
        return RARELY
    if loops.twice_at_most(project, again):
        return "twice"
    if loops.once_by_default(project, again):
        return "as often as an option says (once by default)"
    return UNCOUNTED if isinstance(again, ast.While) else AGAIN


def _workers(project: Project, loader: Loader) -> str:
    """How many workers there are, by the code and the defaults of options."""
    known = sorted({number for number in loaders.worker_numbers(project, loader) if number})
    if not known:
        return "workers are"
    said = project.argument(loader, "num_workers").value
    numbers = " or ".join(map(str, known))
    if any(isinstance(one, Option) for one in alternatives(said)):
        return f"workers ({numbers} by default) are"
    return "one worker is" if known == [1] else f"{numbers} workers are"


def _fix(project: Project, loader: Loader, *, safe: bool) -> Fix | None:
    node = project.argument(loader, "num_workers").node
    if not isinstance(node, ast.keyword) or node.arg is None or node not in loader.call.keywords:
        return None
    literal = isinstance(node.value, ast.Constant)
    edit = edits.with_argument(project, loader.call, persistence.keyword(project, loader))
    if edit is None or not (literal or dotted(node.value)):
        return None
    safe = safe and literal and not persistence.fills_caches(project, loader)
    return Fix("keep the workers between epochs", (edit,), safe=safe)
