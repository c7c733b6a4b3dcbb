"""Arguments of a DataLoader that exclude each other.

## What it does

Finds loaders whose arguments torch rejects: a sampler together with `shuffle=True`; a batch sampler together with a
batch size other than 1, `shuffle`, `sampler` or `drop_last`; `batch_size=None` with `drop_last=True`; and an
`IterableDataset` with `shuffle=True`, a sampler or a batch sampler.

## Why is this bad?

The constructor raises `ValueError`, on a cluster after the job has waited in its queue. A finding here says the same
before the code is pushed. What depends on a condition (`shuffle=(sampler is None)`) is never flagged, nor is
`shuffle=False`, which is legal everywhere.

## Example

```python
from torch.utils.data import DataLoader, DistributedSampler


def make_loader(dataset):
    sampler = DistributedSampler(dataset)
    return DataLoader(dataset, batch_size=32, sampler=sampler, shuffle=True)
```

## Use instead

```python
from torch.utils.data import DataLoader, DistributedSampler


def make_loader(dataset):
    sampler = DistributedSampler(dataset)
    return DataLoader(dataset, batch_size=32, sampler=sampler)
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.flow.values import Collection, Const, Instance, Made, Value, alternatives
from dl_lint.rule import Finding, Related, rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dl_lint.flow.values import Loader
    from dl_lint.pipeline.loaders import Argument
    from dl_lint.project import Project


@rule("DL203", severity="bug")
def conflicting_sampler_arguments(project: Project) -> Iterator[Finding]:
    for loader in project.loaders():
        if project.models.has(loader.name, "TorchLoader"):
            given = _Arguments(project, loader)
            conflicts = (*_of_iterable(given), *_of_batch_sampler(given), *_of_sampler(given), *_of_no_batches(given))
            yield from conflicts[:1]  # torch raises for the first


class _Arguments:
    """The arguments of a loader, and findings about them."""

    def __init__(self, project: Project, loader: Loader) -> None:
        self.project, self.loader = project, loader

    def __getitem__(self, name: str) -> Argument:
        return self.project.argument(self.loader, name)

    def conflict(self, name: str, other: str, message: str, remedy: str) -> Finding:
        node = self[name].node
        if self.project.path(node) != self.project.path(self.loader.call):
            node = self.loader.call
        related = Related(self.project.place(self[other].node), f"`{other}` is given here")
        return Finding(self.project.place(node), f"{message}, so torch raises a ValueError", remedy, (related,))


def _of_iterable(given: _Arguments) -> Iterator[Finding]:
    if not _all(given["dataset"].value, lambda one: _iterates(given.project, one)):
        return
    for name, clashes in (("shuffle", _holds), ("sampler", _is_object), ("batch_sampler", _is_object)):
        if clashes(given[name]):
            message = f"`{name}` over an IterableDataset, which is read in the order of its own `__iter__`"
            yield given.conflict(name, "dataset", message, f"leave `{name}` out, and shuffle in `__iter__`")


def _of_batch_sampler(given: _Arguments) -> Iterator[Finding]:
    if not _is_object(given["batch_sampler"]):
        return
    clashing = (("batch_size", _is_not_one), ("shuffle", _holds), ("sampler", _is_object), ("drop_last", _holds))
    for name, clashes in clashing:
        if clashes(given[name]):
            message = f"`{name}` beside `batch_sampler`, which draws whole batches on its own"
            yield given.conflict(name, "batch_sampler", message, f"leave `{name}` out, or give it to the batch sampler")


def _of_sampler(given: _Arguments) -> Iterator[Finding]:
    if _is_object(given["sampler"]) and _holds(given["shuffle"]):
        message = "`shuffle=True` beside `sampler`, which decides the order on its own"
        yield given.conflict("shuffle", "sampler", message, "leave `shuffle` out, or have the sampler shuffle")


def _of_no_batches(given: _Arguments) -> Iterator[Finding]:
    if _is_none(given["batch_size"]) and _holds(given["drop_last"]):
        message = "`drop_last=True` beside `batch_size=None`, which turns batching off"
        yield given.conflict("drop_last", "batch_size", message, "leave `drop_last` out")


def _holds(argument: Argument) -> bool:
    return _all(argument.value, lambda one: isinstance(one, Const) and one.kind == "bool" and one.value is True)


def _is_none(argument: Argument) -> bool:
    return _all(argument.value, lambda one: isinstance(one, Const) and one.kind == "none")


def _is_not_one(argument: Argument) -> bool:
    return _all(argument.value, lambda one: isinstance(one, Const) and one.value != 1)


def _is_object(argument: Argument) -> bool:
    """Whether something is certainly given: an object, not None, not what a caller may leave out."""
    return _all(argument.value, lambda one: isinstance(one, Made | Instance | Collection))


def _iterates(project: Project, dataset: Value) -> bool:
    if not isinstance(dataset, Instance | Made):
        return False
    bases = set(project.external_bases(dataset.cls)) if dataset.cls is not None else set()
    if isinstance(dataset, Made):
        bases.add(dataset.name)
    found = {one for one in bases if project.models.has(one, "IterableDataset")}
    # torch shuffles its pipes itself, so that ``shuffle=True`` is theirs to have
    return bool(found) and not any(one.endswith("IterDataPipe") for one in found)


def _all(value: Value, test: Callable[[Value], bool]) -> bool:
    found = alternatives(value)
    return bool(found) and all(test(one) for one in found)
