"""A dataset keeps one Python object for each sample, and every worker copies them all.

## What it does

Finds lists, dicts and sets on a map-style dataset that are filled from the data (a directory listing, the lines of a
file, JSON, an append loop or a comprehension over such) and indexed by the sample that is fetched; also numpy arrays of
objects and the text columns of pandas tables. The message says what is known of the cost: the bytes of a sample by what
the code puts into it, and the workers.

## Why is this bad?

Reading a Python object writes to its reference count. In a forked worker that write copies the page of memory that the
object is on, so each worker comes to own a copy of the whole container (pytorch/pytorch#13246): 100 bytes for a
path, 300 for a `Path`, 500 for a record of a few texts, 2,000 for a nested one (docs/memory.md). With spawn and
forkserver it is pickled to every worker instead. Numbers in an array or a tensor, and strings in a numpy array or a
pyarrow table, have no reference counts.

## Example

```python
import json

from PIL import Image
from torch.utils.data import Dataset


class Images(Dataset):
    def __init__(self, index="coco/instances_train2017.json"):
        with open(index) as file:
            self.entries = json.load(file)

    def __len__(self):
        return len(self.entries)

    def __getitem__(self, index):
        entry = self.entries[index]
        return Image.open(entry["path"]), entry["boxes"]
```

## Use instead

```python
import json

import numpy as np
from PIL import Image
from torch.utils.data import Dataset


class Images(Dataset):
    def __init__(self, index="coco/instances_train2017.json"):
        with open(index) as file:
            entries = [json.dumps(entry).encode() for entry in json.load(file)]
        self.ends = np.cumsum([len(entry) for entry in entries])
        self.entries = np.frombuffer(b"".join(entries), dtype=np.uint8)

    def __len__(self):
        return len(self.ends)

    def __getitem__(self, index):
        start = self.ends[index - 1] if index else 0
        entry = json.loads(self.entries[start : self.ends[index]].tobytes())
        return Image.open(entry["path"]), entry["boxes"]
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dl_lint.pipeline import records, workers
from dl_lint.rule import Finding, Needs, Quiet, Related, rule

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator

    from dl_lint.flow.values import Value
    from dl_lint.pipeline.records import Container, Indexed
    from dl_lint.project import Project
    from dl_lint.source.positions import Place

NUMBERS = "keep them in one array or tensor of numbers"
TEXTS = (
    "keep texts in one array of fixed-width bytes (`np.char.encode(…)`, and `.decode()` the one that is read), or "
    "in a pyarrow array where their lengths differ much"
)
COLUMNS = (
    "keep each column of the records in an array of its own, numbers as numbers and texts as fixed-width bytes "
    "(`np.char.encode(…)`), or all in a pyarrow table"
)
RECORDS = "keep the records serialised, joined in one byte array with an array of offsets, or in a pyarrow table"

QUIET = (
    Quiet("advice", "a base's container, read in the same place, was told already", lambda head: head is not None),
)


@rule("DL301", severity="slow", quiet=QUIET)
def python_container_in_dataset(project: Project) -> Iterator[Finding]:
    told: set[ast.AST] = set()
    heads: dict[tuple[Value, ast.AST], Place] = {}
    for cls in records.owners(project):
        if workers.idle(project, cls):
            continue
        reads: dict[str, list[Indexed]] = {}
        for read in records.indexed(project, project.fetching(cls)):
            if workers.coming_to(project, cls, read.node) == "workers" and (read.direct or not records.is_short(read)):
                reads.setdefault(read.attribute, []).append(read)
        for one in records.of_python_objects(project, cls, reads):
            new = [node for node in one.filled if node not in told and project.site(node).scope.file.linted]
            told.update(new)
            at = records.telling(project, one.reads).node
            head = records.of_base(project, cls, at, heads)
            if new:
                new.sort(key=project.place)
                found = _finding(project, one, new, head, workers.numbers(project, cls), Needs((), cls))
                heads.setdefault((cls, at), found.place)
                yield found


def _finding(
    project: Project,
    one: Container,
    filled: list[ast.AST],
    head: Place | None,
    range_: tuple[int, int] | None,
    needs: Needs,
) -> Finding:
    """At the first place that fills an attribute, whichever branches fill it elsewhere."""
    at = project.place(records.telling(project, one.reads).node)
    others = [Related(project.place(other), "or filled here") for other in filled[1:]]
    heads = [Related(head, "filled in a base as well, and mended with this")] if head is not None else []
    direct = any(read.direct for read in one.reads)
    holds = (
        f"holds a Python object for each sample, and fetching one ({project.told(at)}) reads it"
        if direct
        else f"holds Python objects, and fetching a sample ({project.told(at)}) looks one of them up"
    )
    return Finding(
        project.place(filled[0]),
        f"`self.{one.attribute}` {holds}: every worker comes to own a copy of all of them, as each read writes to a "
        f"reference count{_cost(one, range_)}",
        _flat_form(one),
        (Related(at, "read here for each sample"), *others, *heads),
        subject=(head,),
        cost=one.size.bytes or None,
        needs=needs,
    )


def _cost(one: Container, range_: tuple[int, int] | None) -> str:
    """What is known of it: bytes for each, and in how many workers."""
    size = one.size
    fewest, most = range_ or (0, 0)
    numbers = f"{most}" if fewest == most else f"{fewest} to {most}"
    each = f"{'at least' if size.least else 'about'} {size.bytes:,} bytes for {size.of}"
    where = f" in each of {numbers} workers" if most > 1 else " in each worker"
    return f"; {each}{where}" if size.bytes else ""


def _flat_form(one: Container) -> str:
    """What holds the same without an object for each, by what one sample takes."""
    return {"number": NUMBERS, "text": TEXTS, "array": NUMBERS, "record": COLUMNS, "unknown": RECORDS}[one.size.form]
