"""An iterator over a loader is made again for every batch.

## What it does

Finds `next(iter(loader))`, and `iter(loader)` followed by one `next`, in a loop that runs for each batch.

## Why is this bad?

Each `iter(loader)` starts an epoch: with workers it starts the processes, lets them fetch `prefetch_factor` batches
each, takes one batch and throws the rest away. That was measured to cost 53 times as much per batch as going on with
one iterator (fork; with spawn and forkserver the workers import torch again too). Without `shuffle=True` it is also
the same first batch every time.

Not flagged: one batch before a loop or at the start of an epoch, and iterators of lists, dicts or parameters.

## Example

```python
from torch.utils.data import DataLoader


def train(model, dataset, steps):
    loader = DataLoader(dataset, batch_size=32, shuffle=True, num_workers=4)
    for step in range(steps):
        images, labels = next(iter(loader))
        model(images, labels)
```

## Use instead

```python
from torch.utils.data import DataLoader


def train(model, dataset, steps):
    loader = DataLoader(dataset, batch_size=32, shuffle=True, num_workers=4, persistent_workers=True)
    batches = iter(loader)
    for step in range(steps):
        try:
            images, labels = next(batches)
        except StopIteration:
            batches = iter(loader)
            images, labels = next(batches)
        model(images, labels)
```
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.flow.values import ABSENT, Const, alternatives
from dl_lint.pipeline import trip_counts
from dl_lint.rule import Finding, Related, rule
from dl_lint.source.syntax import names_read, targets

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dl_lint.flow.enclosing import LoopNode
    from dl_lint.flow.values import Loader
    from dl_lint.project import Project


@rule("DL201", severity="slow")
def iterator_rebuilt_in_loop(project: Project) -> Iterator[Finding]:
    for call in project.calls("builtins.iter"):
        if len(call.args) != 1 or not _drawn_from_once(project, call):
            continue
        loaders, certain = project.iterated_loaders(call.args[0])
        loop = _step_loop(project, call)
        if loop is None or not loaders or not certain:
            continue
        if _takes_another(project, call.args[0], loop) or _makes_another(project, call, loaders, loop):
            continue
        made = project.place(loaders[0].call)
        yield Finding(
            project.place(call),
            _message(project, loaders[0]),
            "make the iterator once before the loop, draw from it with `next`, and make another on StopIteration",
            (Related(made, "the loader is built here"), Related(project.place(loop), "the loop that repeats it")),
        )


def _takes_another(project: Project, source: ast.expr, loop: LoopNode) -> bool:
    """Whether each pass of a loop has a loader of its own: ``for loader in loaders: next(iter(loader))``."""
    if loop in project.loops_around(source):
        return project.changes_in(source, loop)
    function = project.function_of(source)
    passed = (
        project.passed(frame.call, name.id, *function.positions)
        for frame in project.callers(function)
        if loop in project.loops_around(frame.call)
        for name in names_read(source)
    )
    return any(one.given and project.changes_in(one.expr, loop) for one in passed)


def _makes_another(project: Project, call: ast.Call, loaders: Sequence[Loader], loop: LoopNode) -> bool:
    """Whether the function that a loop calls makes the loader as well as the iterator."""
    if loop in project.loops_around(call):
        return False
    function = project.function_of(call)
    places = (place for one in loaders for place in (one.call, *(frame.call for frame in one.frames)))
    return any(project.function_of(place) is function for place in places)


def _message(project: Project, loader: Loader) -> str:
    text = "`iter` restarts the loader for every batch"
    if project.workers(loader) in ("some", "unknown"):
        text += ": workers start, prefetch, and end after one batch"
    shuffled = [project.argument(loader, name).value for name in ("shuffle", "sampler", "batch_sampler")]
    if all(alternatives(value) in ((ABSENT,), (Const(False, "bool"),)) for value in shuffled):
        text += ", and without shuffle it is the same first batch each time"
    return text


def _drawn_from_once(project: Project, call: ast.Call) -> bool:
    """Whether the iterator gives one batch and is dropped."""
    above = project.parent(call)
    if isinstance(above, ast.Call):
        return isinstance(above.func, ast.Name) and above.func.id == "next" and above.args[0] is call
    if isinstance(above, ast.Attribute):
        return above.attr in ("next", "__next__")
    bound = targets(above) if above is not None else []
    if len(bound) != 1 or not isinstance(bound[0], ast.Name):
        return False
    if project.in_handler(call) or any(project.tests_around(call)):
        return False  # made anew when it is exhausted
    loads = project.site(call).scope.loads[bound[0].id]
    return len(loads) == 1 and _is_next_of(project, loads[0]) and _same_loop(project, loads[0], call)


def _is_next_of(project: Project, load: ast.Name) -> bool:
    above = project.parent(load)
    if isinstance(above, ast.Attribute):
        return above.attr in ("next", "__next__")
    return isinstance(above, ast.Call) and isinstance(above.func, ast.Name) and above.func.id == "next"


def _same_loop(project: Project, one: ast.AST, other: ast.AST) -> bool:
    return next(project.loops_around(one), None) is next(project.loops_around(other), None)


def _step_loop(project: Project, call: ast.Call) -> LoopNode | None:
    """The loop that makes the iterator again for each batch, in this function or around a call of it.

    A loop that goes over a whole loader in most of its passes is one over epochs; one batch more per epoch is no harm,
    nor every n steps.
    """
    if project.in_handler(call):
        return None
    loop = next(project.loops_around(call), None)
    if loop is None:
        function = project.function_of(call)
        if any(loop.function is function for loop in project.loader_loops()):
            return None
        loop = next((one for one in project.repeating(call) if not trip_counts.is_over_epochs(project, one)), None)
    if loop is None or trip_counts.is_over_epochs(project, loop) or trip_counts.is_left_out(project, call, loop):
        return None
    return loop
