"""Every error of reading a sample is caught, and something else is returned without a word.

## What it does

Finds a bare `except`, `except Exception` and `except BaseException` around the reading of a sample in a map-style
dataset that return `None`, a filler or another sample, or try again, and neither raise, log nor count. Narrow
exceptions are left alone, and so are handlers that do anything else, such as reading the file in another way.

## Why is this bad?

Nobody learns how much of the data is gone: with 50 of 200 files cut off, an epoch ended without an error, and a quarter
of what was learnt from were zeros. A missing mount, a typo in a path or a change of a library makes all samples
fillers, and training goes on. A handler that fetches another sample recurses, or loops, without end then.

## Example

```python
import torch
from PIL import Image
from torch.utils.data import Dataset


class Photos(Dataset):
    def __init__(self, paths, transform):
        self.paths = paths
        self.transform = transform

    def __getitem__(self, index):
        try:
            return self.transform(Image.open(self.paths[index]))
        except Exception:
            return torch.zeros(3, 224, 224)
```

## Use instead

```python
from PIL import Image
from torch.utils.data import Dataset


class Photos(Dataset):
    def __init__(self, paths, transform):
        self.paths = paths
        self.transform = transform

    def __getitem__(self, index):
        return self.transform(Image.open(self.paths[index]))
```

Check the files once before training, and leave out those that cannot be read. Where that is too much, catch the
reader's own exception (`PIL.UnidentifiedImageError`), log the path, and stop after a few.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.pipeline.fetching import exceptions
from dl_lint.rule import Finding, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project import Project

REMEDY = "catch the reader's own exception, log the sample, and raise after a few, or remove bad files beforehand"


@rule("DL312", severity="bug")
def exception_swallowed_in_getitem(project: Project) -> Iterator[Finding]:
    seen = set()
    for dataset in project.dataset_classes():
        if dataset.kind != "map":
            continue
        for one in exceptions.swallowed(project, dataset):
            if one.handler in seen:
                continue
            seen.add(one.handler)
            message = f"any exception while `{dataset.name}` reads a sample silently gives {one.instead}: "
            message += (
                "where nothing can be read this never ends"
                if one.endless
                else "what cannot be read is left out, however much that is"
                if one.instead == "`None`"
                else "what cannot be read is trained on"
            )
            yield Finding(project.place(one.handler), message, REMEDY)
