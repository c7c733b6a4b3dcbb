"""A dataset keeps one Python object for each sample, and every worker copies them all.

## What it does

Finds lists, dicts and sets on a map-style dataset that are filled from the data (a directory listing, the lines of a
file, JSON, an append loop or a comprehension over such) and indexed by the sample that is fetched; also numpy arrays of
objects and the text columns of pandas tables.

## Why is this bad?

Reading a Python object writes to its reference count. In a forked worker that write copies the page of memory that
the object is on, so while the workers go through the epoch each of them comes to own a copy of the whole container:
memory grows with `num_workers`, until a worker is killed (pytorch/pytorch#13246). With spawn and forkserver the
container is pickled to every worker instead, which is as large and slower to start.

Numbers in an array or a tensor, and strings in a numpy array or a pyarrow table, have no reference counts.

## How large must it be?

An epoch in random order adds to each worker 32 bytes for a number, 112 for a path or a short text, for a record of
fixed length 34 and 16 for each thing in it, and the things (docs/memory.md), and for a record of a parsed file some 600
if it holds a few texts, 2,000 if it holds lists or records. A flat list of 10,000 paths costs a worker 1 MB, which is
not worth a change; 1,000,000 cost 110 MB, which is with eight workers.

**Slow** is what comes to 0.8 GB in all workers of a machine where something tells how many samples there are: a number
in the code (`range(5_000_000)`) or in the documentation of the class ("11,000 train, 1,000 test"), or the name of a
large public data set, as that of the class, of its file, in its texts or in what makes its objects. Where no loader
says how many workers there are, or there are more than 100,000 samples, eight are assumed, and at least as many where
training is distributed. All else is **advice** (shown with `--pedantic` or where DL301 is selected): what nothing tells
to be so large; all but the largest container of a class; containers of a class that is for evaluation only, by its
names or as all loaders read it once, in order and without gradients; of one that decodes and keeps each file of its
records; of one that nobody makes, or only an option that is off by default and in no README; of one whose loaders have
one worker by default or none; of one that fills them anew for a base that reads its own in the same place; and arrays
on another way.

Not flagged: containers that are not indexed by the sample, such as class names, lists of a few large arrays, literals,
iterable datasets, datasets whose loaders have no workers, classes whose objects the linted code only iterates and
indexes where it makes them, and containers of the same objects as one filled before, such as its rows by class, of one
object again and again, or filled for another value of an option than they are read for.

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

from dl_lint.project import flow, heft, indexing, records, roles, workers
from dl_lint.rule import Finding, Place, Related, rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.facts import tree as t
    from dl_lint.project import Project
    from dl_lint.project.heft import Size
    from dl_lint.project.indexing import Indexed
    from dl_lint.project.records import Container
    from dl_lint.project.values import Class, Value


@rule("DL301", severity="slow")
def python_container_in_dataset(project: Project) -> Iterator[Finding]:
    told: set[t.Node] = set()
    heads: dict[tuple[Value, t.Node], Place] = {}
    for cls in records.owners(project):
        if workers.idle(project, cls):
            continue
        reads: dict[str, list[Indexed]] = {}
        for read in indexing.indexed(project, project.fetching(cls)):
            if read.direct or not indexing.is_short(read):
                reads.setdefault(read.attribute, []).append(read)
        containers = records.of_python_objects(project, cls, reads)
        sizes = {one.attribute: heft.size(project, cls, one.attribute, one.filled, one.reads) for one in containers}
        largest = max(sizes.values(), key=lambda size: (size.is_large, size.all), default=None)
        for one in containers:
            new = [node for node in one.filled if node not in told and project.site(node).scope.file.linted]
            told.update(new)
            size = sizes[one.attribute]
            ways = flow.by_way(sorted(new, key=project.place), project.site)
            at = records.telling(project, one.reads).node
            head = records.of_base(project, cls, at, heads)
            found = [_finding(project, cls, one, way, size, head, size is largest and way is ways[0]) for way in ways]
            heads.update(((cls, at), its.place) for its in found if not its.advice)
            yield from found


def _finding(
    project: Project, cls: Class, one: Container, filled: list[t.Node], size: Size, head: Place | None, first: bool
) -> Finding:
    """At the first place that fills an attribute on one way. Others are advice, as is what fills a base's ``head``."""
    at = project.place(records.telling(project, one.reads).node)
    others = [Related(project.place(other), "or filled here") for other in filled[1:]]
    heads = [Related(head, "filled in a base as well, and mended with this")] if head is not None else []
    return Finding(
        project.place(filled[0]),
        f"`self.{one.attribute}` holds a Python object for each sample, and fetching one ({project.told(at)}) "
        f"reads it: every worker comes to own a copy of {one.copied}, as each read writes to a reference count{size}",
        records.remedy(project, cls, one),
        (Related(at, "read here for each sample"), *others, *heads),
        advice=head is not None or not (first and size.is_large) or roles.is_minor(project, cls),
    )
