"""A loader with workers is iterated again and again, and starts its workers anew each time.

## What it does

Finds loaders with workers that an epoch loop iterates more than once, without `persistent_workers=True`. The loop may
stand in another function or file, or belong to a Lightning Trainer.

## Why is this bad?

For each epoch the workers are started again, import what they need and fill their queues while the model waits. With
`fork` that is up to half a second an epoch, with `forkserver`, the default on Linux from Python 3.14, 12 to 25 seconds.
Persistent workers stay, with their dataset: where it is changed between epochs, also through the loader's iterator,
they would not see it, so nothing is flagged there; nor where the collate_fn is changed, an attribute of the loader or
of a wrapper, which may hand it on, or what the dataset's `__iter__` iterates. Nor is a loader of every n-th epoch: its
workers would idle. Where a loop ends after so many steps, which may be few epochs, takes batches of an endless
generator or renews an iterator at its end, is written to have two passes, is for a trial (`if args.debug:`), is gone
over for each of a few models or tries on this and that what was learnt before, or an option, 1 by default, says how
many epochs there are or how many lie between two passes, the finding is advice, and so it is of two workers or one,
which fork in a tenth of a second. Where a function builds loaders for several callers, the finding names those whose
loader is iterated again, without a fix; where the others read theirs once, at their end, it proposes one value for all.

The option came with torch 1.7, where it fails if batches are pinned; from 1.8 on it works. Where a project is for an
older torch, or says that one is enough, the finding is advice and says by which file that was told: the nearest
requirements or prose that name a version (`torch>=1.5`, "PyTorch >= 1.5"), unless the code uses what only a newer one
has. `target-torch` in `[tool.dl-lint]` overrules them: what is too old for it is not reported.

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

The fix is safe where the number of workers is a literal. Where the user chooses it, the fix is
`persistent_workers=n > 0`, and unsafe.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import branches, builders, cadence, exhaustion, hooks, persistence, renewal
from dl_lint.project.syntax import dotted
from dl_lint.rule import Finding, Fix, Related, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project import Project
    from dl_lint.project.context import LoopNode
    from dl_lint.project.declarations import Version
    from dl_lint.project.target import Target
    from dl_lint.project.values import Loader


@rule("DL204", severity="slow")
def missing_persistent_workers(project: Project) -> Iterator[Finding]:
    seen: set[t.Call] = set()
    found = [
        (loader, again, exhaustion.doubt(project, loader, again, loop))
        for loader, again, loop in (*_repeated(project), *hooks.given_to_trainers(project))
        if persistence.starts_workers_again(project, loader)
        and not renewal.changes(project, loader, again, loop)
        and not cadence.is_rare(project, loader, again, loop)
    ]
    repeated = branches.alike(project, found)
    for loader, again, doubt in sorted(repeated, key=lambda one: bool(one[2])):
        if loader.call in seen:
            continue
        seen.add(loader.call)
        doubt = doubt or exhaustion.of_its_own(project, loader)
        only = builders.only_from(project, [one for one, _, _ in repeated if one.call is loader.call])
        target, since = project.target(loader.call), persistence.first_torch(project, loader)
        lacking = persistence.is_lacking(target, since)
        if lacking and not target.told:
            continue
        place = project.place(again)
        hooked = isinstance(again, t.FunctionDef | t.Call)
        by = "the Trainer" if hooked else f"the loop at {project.told(place)}"
        asked = [
            Related(project.place(call), "iterated again, of those built here: the loader of this") for call in only
        ]
        yield Finding(
            project.place(loader.call),
            f"{by} iterates this loader again and again, and its workers are started anew for every pass{doubt}"
            + (f"; {target.told}, {persistence.lack(target, since)}" if lacking else ""),
            _remedy(project, loader, target, since, only),
            (Related(place, "the Trainer takes it from here" if hooked else "iterated again by this"), *asked),
            None if lacking or only else _fix(project, loader),
            advice=bool(doubt) or lacking,
        )


def _repeated(project: Project) -> Iterator[tuple[Loader, t.Node, LoopNode | None]]:
    for loop in project.loader_loops():
        for loader in loop.loaders:
            again = project.repeated_by(loop, loader)
            if again is not None:
                yield loader, again, loop.node
    yield from ((loader, again, again) for loader, again in project.drained_again())


def _remedy(project: Project, loader: Loader, target: Target, since: Version, only: tuple[t.Call, ...]) -> str:
    first = "" if target.is_known_to_have(since) else f" (torch {since[0]}.{since[1]} or newer)"
    name, passed = project.function_of(loader.call).name, f"pass {persistence.wanted(project, loader)}{first}"
    if not only:
        return f"{passed}, so that the workers stay between epochs"
    if builders.serves_all(project, loader, only):
        return f"{passed}: other callers of `{name}` read theirs once, and lose nothing"
    from_here = " and ".join(project.told(project.place(call)) for call in only)
    return f"let `{name}` take `persistent_workers`{first}, and pass True from {from_here} only: it builds others too"


def _fix(project: Project, loader: Loader) -> Fix | None:
    node = project.argument(loader, "num_workers").node
    if not isinstance(node, t.Keyword) or node.name is None or node not in loader.call.keywords:
        return None
    literal = isinstance(node.value, t.Constant)
    edit = project.with_argument(loader.call, persistence.keyword(project, loader))
    if edit is None or not (literal or dotted(node.value)):
        return None
    safe = literal and not persistence.fills_caches(project, loader)
    return Fix("keep the workers between epochs", (edit,), safe=safe)
