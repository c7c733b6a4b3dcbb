"""An attribute of a DataLoader is assigned that must not change once the loader exists.

## What it does

Finds assignments to `batch_size`, `sampler`, `batch_sampler`, `drop_last`, `dataset` and `persistent_workers` of a
DataLoader, on the object, through `setattr`, and on `self` in a subclass once `super().__init__()` has run.

## Why is this bad?

DataLoader raises `ValueError: batch_size attribute should not be set after DataLoader is initialized` there, as its
samplers were made from the old values. The line may be a rare branch that no test reaches.

Not flagged: `collate_fn`, `worker_init_fn` and other attributes that may change, objects that are not known to be
loaders (configurations, wrappers), `object.__setattr__`, and subclasses that lift the guard.

## Example

```python
from torch.utils.data import DataLoader, DistributedSampler


def distribute(dataset, world_size):
    loader = DataLoader(dataset, num_workers=4)
    if world_size > 1:
        loader.sampler = DistributedSampler(dataset, shuffle=False)
    return loader
```

## Use instead

```python
from torch.utils.data import DataLoader, DistributedSampler


def distribute(dataset, world_size):
    sampler = None
    if world_size > 1:
        sampler = DistributedSampler(dataset, shuffle=False)
    return DataLoader(dataset, num_workers=4, sampler=sampler)
```
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from dl_lint.flow import reaching
from dl_lint.flow.interpreter import classes
from dl_lint.flow.values import Class, Const, External, Instance, Loader, Unknown, Value, alternatives
from dl_lint.rule import Finding, Related, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.flow.scopes import Scope
    from dl_lint.project import Project

GUARDED = ("batch_size", "sampler", "batch_sampler", "drop_last", "dataset", "persistent_workers")
SWITCH = "_DataLoader__initialized"
OTHERS = ("webdataset.", "dgl.")
"""Libraries whose loaders are built differently."""


@rule("DL211", severity="bug")
def loader_argument_set_later(project: Project) -> Iterator[Finding]:
    for owner, name, node in _assignments(project):
        values = alternatives(project.value(owner))
        annotated = _annotated(project, owner) if all(isinstance(one, Unknown) for one in values) else None
        if annotated is None and not all(_guards(project, one, node) for one in values):
            continue
        made = next((one.call for one in values if isinstance(one, Loader)), annotated)
        where = project.place(made) if made is not None else None
        yield Finding(
            project.place(node),
            f"`{name}` of a DataLoader cannot be assigned once the loader exists: this raises ValueError",
            f"pass `{name}=` to the constructor, and build another loader where it has to change",
            (Related(where, "the loader"),) if where is not None else (),
        )


def _assignments(project: Project) -> Iterator[tuple[ast.expr, str, ast.AST]]:
    """The object, the attribute and the statement, by file, in source order."""
    for file in project.files:
        for name in GUARDED:
            for store in file.stores.get(name, ()):
                if isinstance(store.target, ast.Attribute) and store.op != "del":
                    yield store.target.value, name, store.node
    for call in project.calls("builtins.setattr"):
        if len(call.args) == 3:
            named = project.value(call.args[1])
            if isinstance(named, Const) and named.value in GUARDED:
                yield call.args[0], str(named.value), call


def _guards(project: Project, value: Value, node: ast.AST) -> bool:
    """Whether ``value`` is a loader that refuses the assignment at ``node``."""
    match value:
        case Loader():
            return not value.name.startswith(OTHERS) and (value.cls is None or not _lifted(project, value.cls))
        case Instance():
            bases = project.external_bases(value.cls)
            if not any(_is_loader(project, name) and not name.startswith(OTHERS) for name in bases) or _lifted(
                project, value.cls
            ):
                return False
            return _after_super(project.function_of(node), node, project)
        case _:
            return False


def _lifted(project: Project, cls: Class) -> bool:
    """Whether a subclass turns the guard off, or has attributes of its own by these names."""
    for one in classes.lineage(project, cls):
        if isinstance(one, Class):
            if "__setattr__" in one.scope.bindings or any(name in one.scope.bindings for name in GUARDED):
                return True
            if any(SWITCH in (kept.attribute, _mangled(one, kept.attribute)) for kept in project.kept(one)):
                return True
    return False


def _mangled(cls: Class, attribute: str) -> str:
    """What Python makes of ``self.__attribute``: in a class of one's own called DataLoader, torch's own switch."""
    return f"_{cls.scope.name.lstrip('_')}{attribute}" if attribute.startswith("__") else attribute


def _after_super(method: Scope, node: ast.AST, project: Project) -> bool:
    """Whether the constructor of DataLoader has run where a method stores to self."""
    if method.name != "__init__":
        return True
    sites = project.sites
    inner = [call for call in method.calls if isinstance(call.func, ast.Attribute) and call.func.attr == "__init__"]
    return any(reaching.reached_by(sites[call], sites[node]) == "always" for call in inner)


def _annotated(project: Project, owner: ast.expr) -> ast.arg | None:
    """The parameter that ``owner`` is, if it is annotated as a DataLoader and not bound again."""
    if not isinstance(owner, ast.Name):
        return None
    scope = project.function_of(owner)
    bound = scope.bindings.get(owner.id, ())
    param = bound[0].node if len(bound) == 1 else None
    if not isinstance(param, ast.arg) or param.annotation is None:
        return None
    found = alternatives(project.value(param.annotation))
    return param if any(isinstance(one, External) and _is_loader(project, one.name) for one in found) else None


def _is_loader(project: Project, name: str) -> bool:
    return project.models.has(name, "Loader", "TorchLoader")
