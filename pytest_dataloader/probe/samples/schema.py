"""The schema of batches: the type of each field, NaN and gradients in it, and whether its rows belong together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

_DEPTH = 4
_FIELDS = 64
_WHOLE = 8
"""Elements of a field that is NaN throughout and no mark of one missing value."""
_ALIGNED_ROWS = 64
"""Rows of a batch, at most, that are held against its samples one by one."""


@dataclass(frozen=True, slots=True)
class FieldSeen:
    """One field of one batch, by its path in it: ``[1]['label']``.

    ``kind`` is its dtype, or its Python type, or empty where the batch lacks it. ``rows`` are along its first
    dimension; ``nan_rows`` hold NaN and ``nan_throughout`` nothing else. ``holders`` of ``samples`` have such a field.
    ``listed`` numbers of a list were made into as many parts. ``elsewhere`` rows are not of the sample that another
    field has in the same row. ``floats``: samples hold Python's own floats there.
    """

    path: str
    kind: str = ""
    rows: int = 0
    nan_rows: int = 0
    nan_throughout: int = 0
    gradients: bool = False
    holders: int = 0
    samples: int = 0
    listed: int = 0
    elsewhere: int = 0
    floats: bool = False


class _Reading:
    """One batch held against the samples that it was made of."""

    def __init__(self, samples: Sequence[Any], *, aligned: bool) -> None:
        self.size = len(samples)
        self.aligned = aligned and self.size <= _ALIGNED_ROWS
        self.fields: list[FieldSeen] = []
        self.sources: list[tuple[int, tuple[frozenset[int], ...]]] = []

    def walk(self, samples: list[Any], part: Any, path: str, depth: int) -> None:
        if len(self.fields) >= _FIELDS:
            return
        inner = depth < _DEPTH
        if isinstance(part, Mapping) and inner:
            given = [sample for sample in samples if isinstance(sample, Mapping)]
            keys = dict.fromkeys(key for sample in given for key in sample)
            for key in keys:
                if key not in part:
                    holders = sum(key in sample for sample in given)
                    self.fields.append(FieldSeen(f"{path}[{key!r}]", holders=holders, samples=self.size))
            for key, below in part.items():
                self.walk([sample[key] for sample in given if key in sample], below, f"{path}[{key!r}]", depth + 1)
        elif isinstance(part, list | tuple) and inner and 0 < len(part) <= _FIELDS:
            if path and (numbers := _list_of_numbers(samples, part)):
                kind = _kind(part[0])
                self.fields.append(FieldSeen(path, kind, holders=self.size, samples=self.size, listed=numbers))
                return
            for at, below in enumerate(part):
                given = [sample[at] for sample in samples if isinstance(sample, list | tuple) and len(sample) > at]
                self.walk(given, below, f"{path}[{at}]", depth + 1)
        else:
            self._leaf(samples, part, path)

    def _leaf(self, samples: list[Any], part: Any, path: str) -> None:
        rows = _rows(part)
        some, throughout = _nan_rows(part)
        if self.aligned and rows == len(samples) == self.size and all(sources := _sources(samples, part)):
            self.sources.append((len(self.fields), sources))
        self.fields.append(
            FieldSeen(
                path, _kind(part), rows or 0, some, throughout,
                gradients=getattr(part, "requires_grad", False) is True,
                holders=len(samples), samples=self.size,
                floats=bool(samples) and all(type(sample) is float for sample in samples),
            )
        )  # fmt: skip

    def with_rows_elsewhere(self) -> tuple[FieldSeen, ...]:
        """The fields, with how many rows are of another sample than the same rows of the field before them."""
        found = list(self.fields)
        for at, (number, sources) in enumerate(self.sources):
            for _, others in self.sources[:at]:
                if moved := sum(not one & other for one, other in zip(sources, others, strict=True)):
                    found[number] = replace(found[number], elsewhere=moved)
                    break
        return tuple(found)


def fields_in(samples: Sequence[Any], batch: Any, *, aligned: bool) -> tuple[FieldSeen, ...]:
    """The fields of a batch that was made of ``samples``; ``aligned``: hold their rows against them, too."""
    reading = _Reading(samples, aligned=aligned)
    reading.walk(list(samples), batch, "", 0)
    return reading.with_rows_elsewhere()


def _list_of_numbers(samples: list[Any], part: list[Any] | tuple[Any, ...]) -> int:
    """How many numbers the lists of samples hold, of which a batch has a tensor for each place."""
    if not samples or not all(isinstance(sample, list) and len(sample) == len(part) for sample in samples):
        return 0
    plain = all(type(number) in (int, float, bool) for sample in samples for number in sample)
    sideways = all(getattr(each, "shape", None) == (len(samples),) for each in part)
    return len(part) if plain and sideways and len(part) > 1 else 0


def _kind(part: Any) -> str:
    dtype = getattr(part, "dtype", None)
    return str(dtype).removeprefix("torch.") if dtype is not None else type(part).__name__


def _rows(part: Any) -> int | None:
    shape = getattr(part, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else None
    return len(part) if isinstance(part, list | tuple) else None


def _nan_rows(part: Any) -> tuple[int, int]:
    """Rows of a field of floating-point numbers that hold NaN, and of these those that hold nothing else."""
    import torch

    tensor = part.detach() if isinstance(part, torch.Tensor) else None
    if tensor is None and type(part).__module__ == "numpy" and getattr(part, "dtype", None) is not None:
        tensor = torch.as_tensor(part) if part.dtype.kind == "f" else None
    if tensor is None or not tensor.is_floating_point() or tensor.dim() == 0 or not tensor.numel():
        return 0, 0
    if tensor.layout is not torch.strided or tensor.device.type == "meta":
        return 0, 0
    missing = tensor.isnan().reshape(len(tensor), -1)
    some = int(missing.any(1).sum())
    return some, int(missing.all(1).sum()) if some and missing.shape[1] >= _WHOLE else 0


def _sources(samples: list[Any], part: Any) -> tuple[frozenset[int], ...]:
    """The samples that each row can be of, by its content, padded at its ends; none where it was computed."""
    shapes = Counter(tuple(getattr(sample, "shape", ())) for sample in samples)
    known: dict[tuple[tuple[int, ...], bytes], frozenset[int]] = {}
    for at, sample in enumerate(samples):
        key = (tuple(getattr(sample, "shape", ())), _bytes(sample))
        known[key] = known.get(key, frozenset()) | {at}
    largest = sorted(shapes, key=lambda shape: -_volume(shape))
    found: list[frozenset[int]] = []
    for row in part:
        mine = tuple(getattr(row, "shape", ()))
        fitting = [s for s in largest if len(s) == len(mine) and all(a <= b for a, b in zip(s, mine, strict=True))]
        keys = ((shape, _bytes(row[tuple(slice(n) for n in shape)] if shape != mine else row)) for shape in fitting)
        found.append(frozenset().union(*(known[key] for key in keys if key in known)))
    return tuple(found)


def _volume(shape: tuple[int, ...]) -> int:
    volume = 1
    for length in shape:
        volume *= length
    return volume


def _bytes(value: Any) -> bytes:
    """The content of a tensor, an array or a number, as the same type gives it."""
    import torch

    if isinstance(value, torch.Tensor):
        solid = value.detach().cpu().contiguous()
        return str(solid.dtype).encode() + bytes(solid.reshape(-1).view(torch.uint8).numpy().data)
    if hasattr(value, "tobytes"):
        return str(value.dtype).removeprefix("torch.").join(("torch.", "")).encode() + bytes(value.tobytes())
    return _bytes(torch.as_tensor(value))
