"""One file that holds all samples is opened anew for each of them.

## What it does

Finds HDF5, netCDF and LMDB files, SQLite connections, archives and pandas tables that are opened whenever a sample is
fetched, by a path that is the same for all samples, also where a setting (`if self.in_memory`) decides whether it is.
One file per sample, and whatever is opened under another condition, in a cached function or an exception handler, is
left alone.

## Why is this bad?

Opening reads the header, the index or the whole file first: one of 10,000 samples in a zip archive took 98 ms where the
archive was opened each time, and 0.05 ms where it was opened once.

## Example

```python
import h5py
from torch.utils.data import Dataset


class Volumes(Dataset):
    def __init__(self, path, length):
        self.path = path
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        with h5py.File(self.path, "r") as file:
            return file["images"][index]
```

## Use instead

```python
import h5py
from torch.utils.data import Dataset


class Volumes(Dataset):
    def __init__(self, path, length):
        self.path = path
        self.length = length
        self.file = None

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        if self.file is None:
            self.file = h5py.File(self.path, "r")
        return self.file["images"][index]
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.pipeline.fetching import opening
from dl_lint.rule import Finding, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project import Project

TABLE = "read it once in `__init__`, and keep its columns as arrays"
HANDLE = "set an attribute to None in `__init__` and open it in `__getitem__` where it is still None, once per worker"


@rule("DL311", severity="slow")
def handle_opened_per_sample(project: Project) -> Iterator[Finding]:
    seen = set()
    for dataset in project.dataset_classes():
        for one in opening.openings(project, dataset) if dataset.kind == "map" else ():
            if one.call in seen:
                continue
            seen.add(one.call)
            yield Finding(
                project.place(one.call),
                f"{one.what} that holds all samples is opened, and its index or header read, for each sample of "
                f"`{dataset.name}`",
                TABLE if one.what == "a table" else HANDLE,
            )
