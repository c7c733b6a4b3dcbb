"""What reading a sample changes in the dataset, found by intervention: put back, does the same sample come again?"""

from __future__ import annotations

import random
import sys
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.host import child_process
from pytest_dataloader.probe.loader.batch_storages import arrays_by_address
from pytest_dataloader.probe.loader.positions import length_of, nested_datasets
from pytest_dataloader.probe.loader.referents import FEW, Reach, is_object_array, is_opaque, referents
from pytest_dataloader.probe.samples.digests import digest, leaves
from pytest_dataloader.probe.samples.generators import is_generator, seed_child
from pytest_dataloader.probe.samples.reference import read_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_dataloader.probe.loader.referents import Referent

_SAMPLES = 8
"""Read twice each."""
_ANSWER_SECONDS = 10.0
_UNEXPLAINED = 2
"""So many samples that change, and not by what the dataset keeps, are enough: they draw from a generator."""
_PER_CONTAINER = 8
_DEPTH = 10
_MOST = 2000
"""Objects looked at for a sample."""
_ROWS_BYTES = 1 << 20
"""Of an array that is larger, the rows from the sample's position on, up to so many bytes."""
_DISTINCT = 4
"""Different values of an array in a sample from which on their all being in a record says where it comes from."""
_SCALARS = (str, bytes, int, float, complex, bool, type(None))
_SEED = 1


@dataclass(frozen=True, slots=True)
class SideEffect:
    """What reading changes: ``attribute`` is the path of it, and ``changed`` of the samples ``read`` are others when
    they are read again. ``held``: samples hold the very data, which changes in place; else they follow from it.
    ``of_record``: each sample has one of its own; else it is one for all, as a count of readings is.
    """

    attribute: str
    changed: int
    read: int
    held: bool
    of_record: bool

    @property
    def is_of_samples(self) -> bool:
        """Whether each sample changes by its own reading."""
        return self.held or self.of_record


def find_side_effect(loader: Any, indices: Sequence[Any], *, seconds: float) -> SideEffect | None:
    """Read samples twice in a forked child, with the same seeds, and put back what the second reading has changed.

    None where they stay the same, or where what changes them is not kept by the dataset; and where it cannot be tried.
    """
    found = child_process.ask(lambda: _found(loader, list(indices[:_SAMPLES]), seconds), seconds + _ANSWER_SECONDS)
    return found if isinstance(found, SideEffect) else None


def _found(loader: Any, indices: Sequence[Any], seconds: float) -> SideEffect | None:
    deadline = time.monotonic() + seconds
    causes: list[tuple[str, bool, bool]] = []
    read = changed = 0
    for index in indices:
        unlike, cause = _read_twice(loader, index)
        read, changed = read + 1, changed + unlike
        causes += cause
        if time.monotonic() > deadline or changed - len(causes) >= _UNEXPLAINED:
            break
    if not causes:
        return None
    attribute, held, of_record = causes[0]
    return SideEffect(attribute, changed, read, held, of_record)


def _read_twice(loader: Any, index: Any) -> tuple[bool, list[tuple[str, bool, bool]]]:
    """Whether a sample is another one when it is read again, and what changes it: path, held, of the record."""
    before = digest(_read(loader, index))
    if before == digest(_read(loader, index)):
        return False, []
    stored = list(_stored(loader.dataset, index))
    wanted = digest(_read(loader, index))
    changes = [each for each in stored if each.changed]
    sample = _read(loader, index)
    held = any(_holds(sample, each.read()) for each in changes)

    def again(parts: Sequence[_Rows | _Slot]) -> str:
        for each in parts:
            each.put_back()
        return digest(_read(loader, index))

    if not changes or digest(sample) == wanted or again(changes) != wanted:
        return True, []
    # Of several that have changed, one without which the sample changes all the same is named.
    needed = [each for each in changes if again([other for other in changes if other is not each]) != wanted]
    named = (needed or changes)[0]
    size = length_of(loader.dataset)
    return True, [(named.path, held, "[*]" in named.path or (isinstance(named, _Rows) and len(named.rows) == size))]


def _read(loader: Any, index: Any) -> Any:
    seed_child(_SEED)
    return next(read_at(loader, [index]))


class _Rows:
    """Rows of an array or a tensor, as they were when this was made."""

    def __init__(self, path: str, rows: Any) -> None:
        self.path, self.rows = path, rows
        self.kept = rows.clone() if hasattr(rows, "clone") else rows.copy()

    @property
    def changed(self) -> bool:
        return digest(self.rows) != digest(self.kept)

    def read(self) -> Any:
        return self.rows

    def put_back(self) -> None:
        self.rows[...] = self.kept


class _Slot:
    """An attribute, a key or a position, with what it referred to when this was made."""

    def __init__(self, path: str, holder: Any, key: Any) -> None:
        self.path, self.holder, self.key = path, holder, key
        self.kept = holder[key]

    @property
    def changed(self) -> bool:
        now = self.read()
        return now is not self.kept and not (isinstance(now, _SCALARS) and now == self.kept)

    def read(self) -> Any:
        try:
            return self.holder[self.key]
        except LookupError:
            return None

    def put_back(self) -> None:
        self.holder[self.key] = self.kept


def _stored(dataset: Any, index: Any) -> Iterator[_Rows | _Slot]:
    """What a dataset keeps that reading a sample may change: all that is small, and what lies at its position."""
    position = index if isinstance(index, int) else None
    reach = Reach((position,), length_of(dataset), _PER_CONTAINER, random.Random(0))
    queue: deque[tuple[str, Any, Reach, int]] = deque([("dataset", dataset, reach, 0)])
    seen: dict[int, Any] = {}  # kept alive: another object could have the same address
    while queue and len(seen) < _MOST:
        path, thing, reach, depth = queue.popleft()
        if id(thing) in seen or is_opaque(thing) or is_generator(thing) or isinstance(thing, _SCALARS):
            continue
        seen[id(thing)] = thing
        yield from _parts(path, thing, reach.positions[0])
        if depth == _DEPTH:
            continue
        below = [(path + step, inner, own, depth + 1) for step, inner, own in nested_datasets(thing, reach)]
        try:
            below += [(path + _step(each, reach), each.thing, reach, depth + 1) for each in referents(thing, reach)]
        except Exception:  # an object whose own code refuses to be looked into
            continue
        queue.extend(below)


def _step(referent: Referent, reach: Reach) -> str:
    """The sample's own position stands for those of all samples."""
    return "[*]" if referent.step == f"[{reach.positions[0]!r}]" else referent.step


def _parts(path: str, thing: Any, position: int | None) -> Iterator[_Rows | _Slot]:
    fields = getattr(thing, "__dict__", None)
    if _is_array(thing):
        rows = _rows(thing, position)
        if rows is not None:
            yield _Rows(path, rows)
    elif isinstance(thing, dict) and len(thing) <= FEW:
        yield from (_Slot(f"{path}[{'*' if key == position else repr(key)}]", thing, key) for key in thing)
    elif isinstance(thing, list | dict) or is_object_array(thing):
        within = position in thing if isinstance(thing, dict) else position is not None and position < len(thing)
        if within:
            yield _Slot(f"{path}[*]", thing, position)
    elif type(fields) is dict:
        yield from (_Slot(f"{path}.{name}", fields, name) for name in fields)


def _is_array(thing: Any) -> bool:
    torch, np = sys.modules["torch"], sys.modules.get("numpy")
    dense = isinstance(thing, torch.Tensor) and thing.layout is torch.strided and not thing.requires_grad
    return dense or (np is not None and isinstance(thing, np.ndarray) and not thing.dtype.hasobject)


def _rows(array: Any, position: int | None) -> Any:
    """All of a small array; of another the rows from a position on; None where that is not in it."""
    if array.nbytes <= _ROWS_BYTES:
        return array
    if position is None or not 0 <= position < len(array):
        return None
    return array[position : position + max(1, _ROWS_BYTES * len(array) // array.nbytes)]


def _holds(sample: Any, stored: Any) -> bool:
    """Whether a sample holds an array, or a text, that a dataset has stored: its memory, or its values in any order."""
    if isinstance(stored, str):
        return digest(stored) in leaves(sample).values()
    arrays = [_plain(each) for each in arrays_by_address(sample).values()]
    return any(
        _is_part_of(part, whole)
        for whole in map(_plain, arrays_by_address(stored).values()) if whole is not None
        for part in arrays if part is not None
    )  # fmt: skip


def _is_part_of(part: Any, whole: Any) -> bool:
    import numpy as np

    if np.may_share_memory(part, whole):
        return True
    values = np.unique(part)
    return len(values) >= _DISTINCT and bool(np.isin(values, whole).all())


def _plain(array: Any) -> Any:
    """An array of numbers; None for an image or a tensor of another kind."""
    import numpy as np

    try:
        plain = np.asarray(array)
    except (RuntimeError, TypeError, ValueError):
        return None
    return plain if plain.dtype.kind in "biuf" else None
