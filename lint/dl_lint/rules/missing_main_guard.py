"""A script that starts workers as soon as it is imported.

## What it does
Finds scripts whose module level iterates a loader with workers, in a loop of its own or in a function that it calls,
outside `if __name__ == "__main__"`. Modules that other files of the project import, and notebooks, are left alone.

## Why is this bad?
Under spawn (macOS, Windows) and forkserver (Linux from Python 3.14) every worker imports the main script again. Without
the guard it runs the script again, tries to start workers of its own, and dies: `DataLoader worker (pid(s) …) exited
unexpectedly`.

## Example
```python
from torch.utils.data import DataLoader

loader = DataLoader(range(1000), batch_size=10, num_workers=2)
for batch in loader:
    print(batch.sum())
```

## Use instead
```python
from torch.utils.data import DataLoader


def main():
    loader = DataLoader(range(1000), batch_size=10, num_workers=2)
    for batch in loader:
        print(batch.sum())


if __name__ == "__main__":
    main()
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.context import entry_points
from dl_lint.flow import guards
from dl_lint.flow.values import Loader, alternatives
from dl_lint.pipeline import loops, workers
from dl_lint.rule import Finding, Related, rule
from dl_lint.source.positions import span

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator

    from dl_lint.flow.scopes import FileIndex, Scope
    from dl_lint.project import Project

REMEDY = 'put it into a function, and call that under `if __name__ == "__main__":`'


@rule("DL307", severity="bug")
def missing_main_guard(project: Project) -> Iterator[Finding]:
    if project.hints.start_method == "fork":
        return
    starting = _starting(project)
    for file in project.files:
        if not file.path.endswith(".py"):
            continue
        found = [one for one in _run_on_import(project, file, starting) if not project.under_main_guard(one[0])]
        if found and not entry_points.is_imported(project, file):
            node, loader = min(found, key=lambda one: span(one[0]))
            message = (
                "workers are started as this file is imported: under spawn and forkserver (macOS, Windows, Linux from "
                "Python 3.14) each worker imports it again, starts workers in turn and dies"
            )
            related = (Related(project.place(loader.call), "this loader has workers"),)
            yield Finding(project.place(node), message, REMEDY, related)


def _starting(project: Project) -> dict[Scope, list[tuple[ast.AST, Loader]]]:
    """Where workers are started, by the function that does it."""
    found: dict[Scope, list[tuple[ast.AST, Loader]]] = {}
    for loop in project.loader_loops():
        for loader in loop.loaders:
            off = guards.is_switched_off(project, loop.node)
            if project.may_have_workers(loader) and not off:
                found.setdefault(loop.function, []).append((loop.node, loader))
    for file in project.files:
        for call in file.methods.get("iter", ()):
            for one in alternatives(project.value(call.args[0] if call.args else None)):
                if isinstance(one, Loader) and project.may_have_workers(one):
                    found.setdefault(project.function_of(call), []).append((call, one))
    return found


def _run_on_import(
    project: Project, file: FileIndex, starting: dict[Scope, list[tuple[ast.AST, Loader]]]
) -> Iterator[tuple[ast.AST, Loader]]:
    """What module level runs that starts workers: loops of its own, and calls of functions that have one."""
    yield from starting.get(file.module, ())
    for scope in entry_points.module_level(file):
        for call in (call for call in scope.calls if not project.under_main_guard(call)):
            for function in project.reachable(*workers.functions(project, project.value(call.func))):
                passed = (one for _, one in starting.get(function, ()) if loops.may_pass(project, call, one))
                yield from ((call, loader) for loader in passed)
