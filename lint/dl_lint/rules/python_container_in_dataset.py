"""A dataset keeps one Python object for each sample, and every worker copies them all.

## What it does

Finds lists, dicts and sets on a map-style dataset that are filled from the data (a directory listing, the lines of a
file, JSON, an append loop or a comprehension over such) and indexed by the sample that is fetched; also numpy arrays of
objects and the text columns of pandas tables. The message says what is known of the cost: the bytes of a sample by what
the code puts into it, the number of samples where the project holds it, and the workers.

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
from dl_lint.rule import Finding, Quiet, Related, rule

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


def in_one_array(name: str) -> str:
    """Code that keeps a list of numbers without a Python object for each; pytest-dataloader's check says the same."""
    return f"keep numbers in one array, which workers share:\n    self.{name} = np.array(self.{name})"


def packed_records(name: str) -> str:
    """Code that keeps a list of any records without a Python object for each; pytest-dataloader's check says the
    same."""
    return f"""keep records in one array, which workers share:
    packed = [pickle.dumps(each) for each in self.{name}]
    self.ends = np.cumsum([len(each) for each in packed])
    self.{name} = np.frombuffer(b"".join(packed), np.uint8)
    # return len(self.ends) from __len__, and in __getitem__:
    start = self.ends[index - 1] if index else 0
    record = pickle.loads(self.{name}[start : self.ends[index]])"""


QUIET = (Quiet("advice", "a base's container, read in the same place, was reported", lambda head: head is not None),)


@rule("DL301", severity="slow", quiet=QUIET)
def python_container_in_dataset(project: Project) -> Iterator[Finding]:
    told: set[ast.AST] = set()
    heads: dict[tuple[Value, ast.AST], Place] = {}
    for cls in records.owners(project):
        if workers.idle(project, cls):
            continue
        reads: dict[str, list[Indexed]] = {}
        for read in records.indexed(project, project.fetching(cls)):
            if read.direct or not records.is_short(read):
                reads.setdefault(read.attribute, []).append(read)
        for one in records.of_python_objects(project, cls, reads):
            new = [node for node in one.filled if node not in told and project.site(node).scope.file.linted]
            told.update(new)
            at = records.telling(project, one.reads).node
            head = records.of_base(project, cls, at, heads)
            if new:
                new.sort(key=project.place)
                found = _finding(project, one, new, head, workers.numbers(project, cls))
                heads.setdefault((cls, at), found.place)
                yield found


def _finding(
    project: Project, one: Container, filled: list[ast.AST], head: Place | None, range_: tuple[int, int] | None
) -> Finding:
    """At the first place that fills an attribute, whichever branches fill it elsewhere."""
    at = project.place(records.telling(project, one.reads).node)
    others = [Related(project.place(other), "or filled here") for other in filled[1:]]
    heads = [Related(head, "filled in a base as well, and fixed with this")] if head is not None else []
    direct = any(read.direct for read in one.reads)
    objects = "a Python object for each sample" if direct else "Python objects"
    return Finding(
        project.place(filled[0]),
        f"`self.{one.attribute}` holds {objects}: every worker copies them all (copy-on-write), as reading one "
        f"({project.told(at)}) writes to its reference count{_cost(one, range_, 'samples' if direct else 'objects')}",
        _flat_form(one),
        (Related(at, "read here for each sample"), *others, *heads),
        subject=(head,),
        cost=one.size.bytes * one.count if one.size.bytes and one.count else None,
    )


def _cost(one: Container, range_: tuple[int, int] | None, of: str) -> str:
    """What is known of it: bytes for each, how many there are, and in how many workers."""
    size, count = one.size, one.count
    fewest, most = range_ or (0, 0)
    numbers = f"{most}" if fewest == most else f"{fewest} to {most}"
    each = f"{'at least' if size.least else 'about'} {size.bytes:,} bytes for {size.of}"
    if size.bytes and count:
        total = size.bytes * count
        sums = shown(most * total) if fewest == most else f"{shown(fewest * total)} to {shown(most * total)}"
        in_all = f", {sums} in {numbers} workers" if most > 1 else ""
        return f", {shown(total)} per worker{in_all} ({count:,} {of}, {each})"
    where = f" in each of {numbers} workers" if most > 1 else " in each worker"
    if size.bytes:
        return f", {each}{where}"
    return f", {count:,} {of}{where}" if count else ""


def shown(size: int) -> str:
    """Bytes in the unit that leaves one to three digits before the point."""
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= unit:
            return f"{size / unit:.{1 if size < 10 * unit else 0}f} {name}"
    return f"{size} bytes"


def _flat_form(one: Container) -> str:
    """What holds the same without an object for each: code to paste for a list that is indexed by the sample."""
    if one.is_sequence and all(read.direct and read.depth == 1 for read in one.reads):
        if one.size.form == "number":
            return in_one_array(one.attribute)
        if one.size.form != "array":
            return packed_records(one.attribute)
    return {"number": NUMBERS, "text": TEXTS, "array": NUMBERS, "record": COLUMNS, "unknown": RECORDS}[one.size.form]
