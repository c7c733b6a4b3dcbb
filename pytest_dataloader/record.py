"""What one check said about one loader, as it travels: test report, xdist message, JUnit property, JSON."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_dataloader.errors import NotMeasured
from pytest_dataloader.verdict import Advice, Outcome

PROPERTY = "dataloader."
"""Prefix of the user properties that carry records: ``dataloader.throughput``, ``dataloader.memory``..."""


@dataclass(frozen=True, slots=True)
class Record:
    """One check on one loader. ``id`` is the target's name, or the node id of the test that measured the loader."""

    id: str
    nodeid: str
    description: str
    check: str
    verdict: Outcome
    reason: str
    evidence: Mapping[str, Any]
    limits: Mapping[str, Any]
    advice: tuple[Advice, ...] = ()
    ranks: tuple[Mapping[str, Any], ...] = ()
    """In a job of several ranks: rank, verdict, reason and evidence of each."""
    vacuous: bool = False
    """Whether the check applies and saw nothing of the loader."""
    missed: tuple[str, ...] = ()
    """Of ``limits``, those that failed the check; none where it failed for something else."""

    def fails(self, *, strict: bool) -> bool:
        """Whether a run fails for it; ``strict`` where what is inconclusive, or was not seen, fails too."""
        return self.verdict == "failed" or (strict and (self.verdict == "inconclusive" or self.vacuous))

    def as_property(self) -> tuple[str, str]:
        """The record as a user property of a test. JSON text, because JUnit writes ``str(value)``."""
        return f"{PROPERTY}{self.check}", json.dumps(dataclasses.asdict(self), allow_nan=False)


def records_in(properties: Iterable[tuple[str, object]]) -> Iterator[Record]:
    """The records among the user properties of a report; properties of other plugins are passed over."""
    for name, value in properties:
        if name.startswith(PROPERTY) and isinstance(value, str):
            yield record_of(json.loads(value))


def record_of(fields: Mapping[str, Any]) -> Record:
    """A record out of what JSON made of it."""
    advice = tuple(Advice(**each) for each in fields["advice"])
    return Record(**{**fields, "advice": advice, "ranks": tuple(fields["ranks"]), "missed": tuple(fields["missed"])})


def figures(evidence: object) -> dict[str, Any]:
    """The figures of an evidence dataclass: its fields, then its properties, those of its bases included.

    One that was not measured is left out.
    """
    if evidence is None:
        return {}
    fields = dataclasses.asdict(evidence)  # type: ignore[call-overload]  # every check's evidence is a dataclass
    members = {name: member for kind in reversed(type(evidence).__mro__) for name, member in vars(kind).items()}
    for name, member in members.items():
        if isinstance(member, property) and not name.startswith("_"):
            try:
                fields[name] = getattr(evidence, name)
            except NotMeasured:
                continue
    return {name: plain(value) for name, value in fields.items()}


def plain(value: Any) -> Any:
    """A value as JSON can hold it. A number that is none (NaN, infinite) becomes None."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    return str(value)
