"""A dataset keeps one Python object for each sample, and every worker copies them all.

## What it does

Finds lists, dicts and sets on a map-style dataset that are filled from the data (a directory listing, the lines of a
file, JSON, an append loop or a comprehension over such) and indexed by the sample that is fetched; also numpy arrays of
objects, the text columns of pandas tables and the records of a `COCO` object. The message says what is known of the
cost: the bytes of a sample by what the code puts into it, and the workers.

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

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dl_lint.pipeline import records, trainers, training, workers
from dl_lint.pipeline.costs import sizes
from dl_lint.rule import Finding, Needs, Quiet, Related, listed, rule

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator

    from dl_lint.flow.values import Class, Loader, Value
    from dl_lint.pipeline.costs.sizes import Size
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


@dataclass(frozen=True, slots=True)
class Filled:
    """A container with the places that fill it, first to last, and what was said of a base's that is read here too."""

    container: Container
    places: list[ast.AST]
    head: Place | None


def _of_base(_project: Project, _cls: Class, several: list[Filled]) -> bool:
    return all(one.head is not None for one in several)


def _only_evaluated(project: Project, cls: Class, _several: list[Filled]) -> bool:
    using = workers.of_product(project, cls)
    return (
        bool(using)
        and workers.are_all_given(project, cls)
        and all(training.is_only_evaluated(project, one) or _is_gone_over_once(project, one) for one in using)
    )


def _is_gone_over_once(project: Project, loader: Loader) -> bool:
    """Whether the loops over a loader are known, and none of them trains or is come to again."""
    if any(fit.loader.call is loader.call for fit in trainers.fits(project)):
        return False
    found = [loop for loop in project.loader_loops() if any(one.call is loader.call for one in loop.loaders)]
    return bool(found) and not any(
        training.is_trained_on(project, loop) or project.repeated_by(loop, loader) is not None for loop in found
    )


QUIET = (
    Quiet("advice", "a base's container, read in the same place, was reported", _of_base),
    Quiet("advice", "nothing trains on its objects: they are evaluated, or gone over once", _only_evaluated),
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
        alike: dict[str, list[Filled]] = {}
        for one in records.of_python_objects(project, cls, reads):
            new = [node for node in one.filled if node not in told and project.site(node).scope.file.linted]
            told.update(new)
            if new:
                new.sort(key=project.place)
                at = records.telling(project, one.reads).node
                filled = Filled(one, new, records.of_base(project, cls, at, heads))
                heads.setdefault((cls, at), project.place(new[0]))
                alike.setdefault(_flat_form(one), []).append(filled)
        for remedy, several in alike.items():
            several.sort(key=lambda one: project.place(one.places[0]))
            yield _finding(project, cls, remedy, several)


def _finding(project: Project, cls: Class, remedy: str, several: list[Filled]) -> Finding:
    """One for the attributes of a dataset that one change fixes, at the first place that fills one of them."""
    first = several[0]
    at = project.place(records.telling(project, first.container.reads).node)
    related = [Related(at, "read here for each sample")]
    for one in several:
        fills = "or filled here" if one is first else f"`self.{one.container.attribute}` is filled here"
        related += [Related(project.place(node), fills) for node in one.places[one is first :]]
        if one.head is not None:
            related.append(Related(one.head, "filled in a base as well, and fixed with this"))
    names = [f"`self.{one.container.attribute}`" for one in several]
    subject = f"{listed(names)} {'each hold' if len(names) > 1 else 'holds'}"
    direct = any(read.direct for one in several for read in one.container.reads)
    objects = "a Python object for each sample" if direct else "Python objects"
    size = sizes.together([one.container.size for one in several])
    return Finding(
        project.place(first.places[0]),
        f"{subject} {objects}: every worker copies them all (copy-on-write), as reading one ({project.told(at)}) "
        f"writes to its reference count{_cost(size, workers.numbers(project, cls))}",
        _remedy(remedy, several),
        tuple(related),
        subject=(project, cls, several),
        cost=size.bytes or None,
        needs=Needs(workers.of_product(project, cls)),
    )


def _cost(size: Size, range_: tuple[int, int] | None) -> str:
    """What is known of it: bytes for each, and in how many workers."""
    fewest, most = range_ or (0, 0)
    numbers = f"{most}" if fewest == most else f"{fewest} to {most}"
    each = f"{'at least' if size.least else 'about'} {size.bytes:,} bytes for {size.of}"
    where = f" in each of {numbers} workers" if most > 1 else " in each worker"
    return f", {each}{where}" if size.bytes else ""


def _remedy(form: str, several: list[Filled]) -> str:
    """What to write: code for lists that are indexed by the sample, that of the first where there are several."""
    one, *others = containers = [each.container for each in several]
    lists = all(each.is_sequence for each in containers)
    by_sample = all(read.direct and read.depth == 1 for each in containers for read in each.reads)
    if not (lists and by_sample) or one.size.form == "array":
        return form
    code = in_one_array(one.attribute) if one.size.form == "number" else packed_records(one.attribute)
    first, rest = code.split(":\n", 1)
    same = f" (the same for {', '.join(f'`self.{other.attribute}`' for other in others)})" if others else ""
    return f"{first}{same}:\n{rest}"


def _flat_form(one: Container) -> str:
    """What holds the same without an object for each, by what one sample takes."""
    return {"number": NUMBERS, "text": TEXTS, "array": NUMBERS, "record": COLUMNS, "unknown": RECORDS}[one.size.form]
