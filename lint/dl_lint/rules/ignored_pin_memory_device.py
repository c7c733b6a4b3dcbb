"""`pin_memory_device` does nothing any more.

## What it does

Finds `pin_memory_device=` in the construction of a DataLoader, also through a dict, a partial or a subclass, unless
it is the default `""`.

## Why is this bad?

The argument is deprecated and, from torch 2.8 on, ignored: batches are pinned for the accelerator there is. With
`pin_memory=True` every iteration over the loader warns, which stops test suites that turn warnings into errors;
without `pin_memory=True` nothing was ever pinned.

## Example

```python
from torch.utils.data import DataLoader


def make_loader(dataset):
    return DataLoader(dataset, num_workers=4, pin_memory=True, pin_memory_device="cuda")
```

## Use instead

```python
from torch.utils.data import DataLoader


def make_loader(dataset):
    return DataLoader(dataset, num_workers=4, pin_memory=True)
```
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint import edits
from dl_lint.flow.values import Const, Made, Unknown, alternatives
from dl_lint.rule import Finding, Fix, Quiet, Related, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.pipeline.loaders import Argument
    from dl_lint.project import Project

IGNORES = (2, 8)
"""The first torch that ignores it."""

OTHERS = ("torchdata.", "dgl.")
"""Libraries whose loaders have iterators of their own."""


QUIET = (
    Quiet(
        "silent",
        "the declared torch still heeds it",
        lambda project, loader: project.target(loader.call).lacks(IGNORES),
    ),
)


@rule("DL209", severity="slow", quiet=QUIET)
def ignored_pin_memory_device(project: Project) -> Iterator[Finding]:
    seen: set[ast.AST] = set()
    for loader in project.loaders():
        argument = project.argument(loader, "pin_memory_device")
        if argument.node in seen or loader.name.startswith(OTHERS) or not _names_device(argument):
            continue
        seen.add(argument.node)
        pins = project.pins(loader)
        made = project.place(loader.call)
        yield Finding(
            project.place(argument.node),
            "`pin_memory_device` is deprecated and ignored"
            + ("" if pins != "no" else ", and without `pin_memory=True` this loader pins nothing"),
            "leave it out: batches are pinned for the accelerator there is"
            if pins != "no"
            else "write `pin_memory=True` instead",
            (Related(made, "the loader is built here"),),
            _fix(project, argument.node),
            subject=(project, loader),
        )


def _names_device(argument: Argument) -> bool:
    """Whether an argument names a device; the default is the empty string. Unknown keywords may hold none."""
    written = isinstance(argument.node, ast.keyword) and argument.node.arg == "pin_memory_device"
    return all(
        written if isinstance(one, Unknown) else isinstance(one, Const | Made) and one != Const("", "str")
        for one in alternatives(argument.value)
    )


def _fix(project: Project, node: ast.AST) -> Fix | None:
    call = project.parent(node)
    if not isinstance(call, ast.Call) or not isinstance(node, ast.keyword) or node.arg is None:
        return None
    edit = edits.without_argument(project, call, node.arg)
    return Fix("leave `pin_memory_device` out", (edit,)) if edit is not None else None
