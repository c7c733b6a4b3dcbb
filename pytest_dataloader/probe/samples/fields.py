"""The fields of the batches of an epoch, and what a training loop cannot rely on in them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_dataloader.probe.samples.sequence import OrderFault
from pytest_dataloader.quantities import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_dataloader.probe.samples.journal import JournalEntry
    from pytest_dataloader.probe.samples.schema import FieldSeen


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the batches of an epoch: in how many batches it has each type, and in how many samples NaN."""

    path: str
    kinds: dict[str, int]
    nan_samples: int
    samples: int
    listed: int
    floats: bool


def fields_of(entries: Sequence[JournalEntry]) -> tuple[Field, ...]:
    """The fields of the batches of an epoch, in the order of their paths in them."""
    return tuple(
        Field(
            path,
            dict(Counter(seen.kind for seen in batches if seen.kind)),
            sum(seen.nan_rows for seen in batches),
            sum(seen.rows for seen in batches),
            max(seen.listed for seen in batches),
            any(seen.floats for seen in batches),
        )
        for path, batches in _by_path(entries).items()
        if any(seen.kind for seen in batches)
    )


def _by_path(entries: Sequence[JournalEntry]) -> dict[str, list[FieldSeen]]:
    found: dict[str, list[FieldSeen]] = {}
    for entry in entries:
        for seen in entry.fields:
            found.setdefault(seen.path, []).append(seen)
    return found


def schema_faults(entries: Sequence[JournalEntry], collate: str, dataset: str) -> Iterator[OrderFault]:
    """What a training loop cannot rely on in the batches of an epoch."""
    for path, batches in _by_path(entries).items():
        name = path or "a batch"
        yield from _of_types(name, batches, dataset)
        yield from _of_holders(name, batches, collate)
        if throughout := sum(seen.nan_throughout for seen in batches):
            of = counted(sum(seen.rows for seen in batches), "sample")
            yield OrderFault("not_a_number", dataset, f"{name} is all NaN in {throughout:,} of {of}", throughout)
        if carry := sum(seen.gradients for seen in batches):
            detail = f"{name} requires gradients in {carry:,} of {counted(len(batches), 'batch')}"
            yield OrderFault("gradients", dataset, detail, carry)
        if elsewhere := sum(seen.elsewhere for seen in batches):
            detail = f"{elsewhere:,} rows of {name} belong to another sample than the rest of their row"
            yield OrderFault("misaligned", collate, detail, elsewhere)


def _of_types(name: str, batches: list[FieldSeen], dataset: str) -> Iterator[OrderFault]:
    kinds = Counter(seen.kind for seen in batches if seen.kind)
    if len(kinds) > 1:
        told = " and ".join(f"{kind} in {counted(count, 'batch')}" for kind, count in kinds.most_common(3))
        yield OrderFault("type_changes", dataset, f"{name} is {told}", kinds.total() - max(kinds.values()))


def _of_holders(name: str, batches: list[FieldSeen], collate: str) -> Iterator[OrderFault]:
    """A field that some samples have and others lack, and of which batches hold more or less as it comes."""
    short = [seen for seen in batches if seen.holders and (not seen.kind or 0 < seen.rows < seen.samples)]
    if not short or not any(seen.kind for seen in batches) or all(seen.holders == seen.samples for seen in batches):
        return
    lost = sum(seen.holders for seen in short if not seen.kind)
    part = sum(bool(seen.kind) for seen in short)
    dropped = f"\nit is dropped for {counted(lost, 'sample')} that have it" if lost else ""
    detail = f"{name} has fewer rows than samples in {part:,} of {counted(len(batches), 'batch')}{dropped}"
    yield OrderFault("field_missing", collate, detail, lost + part)
