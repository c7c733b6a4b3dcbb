"""A file that a dataset opens in the main process and reads in its workers.

## What it does

Finds `h5py.File`, `lmdb.open`, `sqlite3.connect`, archives, `open()` and their like kept on `self` by what `__init__`
or `__len__` runs and read by what `__getitem__` runs, also through an alias: `self.images = self.file["images"]`. Files
that are closed again, opened in the worker or read with `os.pread` are left alone, and so are datasets without workers.

## Why is this bad?

Forked workers inherit the descriptor, and with it one file offset for all: between the seek and the read of one worker
another one seeks. Of 400 samples read by two workers 3 were wrong, without an error; a zip archive fails with
`Bad CRC-32`. HDF5, SQLite and LMDB forbid it outright. Under spawn and forkserver most handles cannot be pickled.

## Example
```python
import h5py
from torch.utils.data import DataLoader, Dataset


class Volumes(Dataset):
    def __init__(self, path):
        self.file = h5py.File(path, "r")
        self.images = self.file["images"]

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        return self.images[index]


def make_loader(path):
    return DataLoader(Volumes(path), batch_size=8, num_workers=4)
```

## Use instead
```python
import h5py
from torch.utils.data import DataLoader, Dataset


class Volumes(Dataset):
    def __init__(self, path):
        self.path = path
        self.file = None
        with h5py.File(path, "r") as file:
            self.length = len(file["images"])

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        if self.file is None:
            self.file = h5py.File(self.path, "r")
        return self.file["images"][index]


def make_loader(path):
    return DataLoader(Volumes(path), batch_size=8, num_workers=4)
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.flow.outcomes import truth_of
from dl_lint.flow.values import Absent
from dl_lint.pipeline import datasets, handles, pickling, workers
from dl_lint.rule import Finding, Needs, Quiet, Related, listed, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.pipeline.datasets import DatasetClass
    from dl_lint.pipeline.handles import Shared
    from dl_lint.project import Project

REMEDY = (
    "keep the path, set the attribute to None in `__init__`, and open it in `__getitem__` where it is still None, so "
    "that every worker has its own"
)

_POSITION = "forked workers share it, and its position, so that they read each other's bytes"

_HARM = {
    "an LMDB environment": "forked workers inherit its memory map and its lock table, and LMDB forbids using an "
    "environment in a process that did not open it",
    "an LMDB environment without a lock table": "LMDB forbids using an environment in a process that did not open it, "
    "as forked workers would, and for spawned ones it cannot be pickled",
    "an SQLite connection": "forked workers share it, and SQLite forbids using a connection in a process that did not "
    "open it",
}
"""What goes wrong with the handles that have no position, by their names."""


def _only_reads(project: Project, shared: Shared) -> bool:
    """Whether a memory map is read by forked workers without a lock."""
    readonly = truth_of(project.argument(shared.made, "readonly").value)
    return not shared.pickled and _has_no_lock(project, shared) and readonly is True


QUIET = (
    Quiet("advice", "forked workers read the same pages of a map without a lock, though LMDB says not to", _only_reads),
)


@rule("DL303", severity="bug", quiet=QUIET)
def handle_shared_over_fork(project: Project) -> Iterator[Finding]:
    seen = set()
    for dataset in project.dataset_classes():
        if workers.idle(project, dataset.cls):
            continue
        alike: dict[tuple[object, ...], list[Shared]] = {}
        for shared in handles.shared(project, dataset.cls):
            if shared.made.call in seen or (
                project.hints.spawns and pickling.what_does_not_pickle(project, shared.made.name)
            ):
                continue  # of plain files, DL306 says that they cannot be pickled
            if workers.coming_to(project, dataset.cls, shared.read.node) == "main":
                continue
            seen.add(shared.made.call)
            harm = (_opened(project, datasets.holding(project, shared.made.call, dataset), shared), shared.pickled)
            key = (*harm, _harm(project, shared), _only_reads(project, shared))
            alike.setdefault(key, []).append(shared)
        for several in alike.values():
            yield _finding(project, dataset, several)


def _finding(project: Project, dataset: DatasetClass, several: list[Shared]) -> Finding:
    """One for the handles of a class that harm in the same way, at the first of them."""
    shared, *others = sorted(several, key=lambda one: project.place(one.made.call))
    holding = datasets.holding(project, shared.made.call, dataset)
    names = list(dict.fromkeys(f"`self.{one.read.attribute}`" for one in (shared, *others)))
    keeping = {
        f"`self.{kept.attribute}`"
        for kept in project.kept(dataset.cls)
        if kept.binding is not None and kept.binding.value is shared.made.call
    }
    kept_as = f" kept as {', '.join(sorted(keeping))}" if keeping.isdisjoint(names) and keeping else ""
    message = f"{_opened(project, holding, shared)}{kept_as} and read as {listed(names)} for each sample: "
    message += "workers are spawned, and it cannot be pickled for them" if shared.pickled else _harm(project, shared)
    related = [Related(project.place(shared.read.node), "read here, in every worker")]
    related += (Related(project.place(one.made.call), "opened here as well") for one in others)
    loader = workers.fetching_for(project, dataset.cls)
    if loader is not None:
        related.append(Related(project.place(loader[0].call), f"the loader, with {loader[1]}"))
    needs = Needs((), dataset.cls, shared.read.node)
    place = project.place(shared.made.call)
    return Finding(place, message, REMEDY, tuple(related), subject=(project, shared), needs=needs)


def _harm(project: Project, shared: Shared) -> str:
    what = handles.what_opens(project, shared.made.name) or ""
    return _HARM.get(f"{what} without a lock table" if _has_no_lock(project, shared) else what, _POSITION)


def _has_no_lock(project: Project, shared: Shared) -> bool:
    locked = project.argument(shared.made, "lock").value
    lmdb = handles.what_opens(project, shared.made.name) == "an LMDB environment"
    return lmdb and not isinstance(locked, Absent) and truth_of(locked) is not True


def _opened(project: Project, dataset: str, shared: Shared) -> str:
    what = handles.what_opens(project, shared.made.name)
    when = f"as soon as the length of `{dataset}` is asked for" if shared.measured else f"when `{dataset}` is made"
    return f"{what} is opened in the main process, {when},"
