"""What a page shows of a document of evidence, as plain values for its template."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_dataloader.printable import printable
from pytest_dataloader.quantities import figure, percent, size
from pytest_dataloader.report import ladder
from pytest_dataloader.report.page import figures
from pytest_dataloader.report.page.rules import explanation_of
from pytest_dataloader.verdict import paragraphs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

VERDICTS = {"failed": "✗", "inconclusive": "?", "passed": "✓", "not_measured": "○"}
"""From the gravest, with the sign that tells them apart without colour."""
_GRAVITY = list(VERDICTS)
_SHOWN = 5
BYTE_LIMITS = frozenset({"max_worker_growth", "max_total_memory", "max_shm"})
"""Limits in bytes."""
_MOST_ATTRIBUTES = 8


@dataclass(frozen=True, slots=True)
class Remedy:
    """One thing to change: the check that says so, the rule of dl-lint that finds it, and where that is explained."""

    check: str
    code: str
    address: str
    paragraphs: tuple[tuple[str, bool], ...]
    """Text, and whether it is code."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One check: its verdict, the sentence, and what stands below it."""

    check: str
    verdict: str
    reason: str
    details: tuple[str, ...]
    limits: str
    ranks: tuple[tuple[int, str, str], ...]
    """Rank, verdict and reason, in a job of several."""

    @property
    def word(self) -> str:
        return self.verdict.replace("_", " ")

    @property
    def sign(self) -> str:
        return VERDICTS[self.verdict]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a title; ``numeric`` columns stand at the right."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Shown:
    """One loader. Charts are named by the number of the loader and their own."""

    number: int
    name: str
    nodeid: str
    description: str
    checks: tuple[Judged, ...]
    changes: tuple[Remedy, ...]
    figures: tuple[figures.Figure, ...]
    tables: tuple[Table, ...]

    @property
    def verdict(self) -> str:
        """The gravest; what was not measured counts only where nothing was."""
        return min((each.verdict for each in self.checks), key=_GRAVITY.index, default="not_measured")

    @property
    def sign(self) -> str:
        return VERDICTS[self.verdict]

    @property
    def counts(self) -> str:
        return counts(self.checks)


def counts(checks: Iterable[Judged]) -> str:
    """How many checks there are of each verdict, the gravest first."""
    found = Counter(each.verdict for each in checks)
    return ", ".join(f"{found[name]} {name.replace('_', ' ')}" for name in VERDICTS if found[name])


def loaders_of(document: Mapping[str, Any]) -> list[Shown]:
    """The loaders of a document, the gravest first, those that were never built among them."""
    drawn = figures.all_figures(document["loaders"])
    found = [
        _shown(number, each, charts)
        for number, (each, charts) in enumerate(zip(document["loaders"], drawn, strict=True))
    ]
    return sorted(found, key=lambda loader: _GRAVITY.index(loader.verdict))


def environment_of(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What a run was made on, name by name; what is not known is left out."""
    found = []
    for name, value in document["environment"].items():
        if value is None:
            continue
        words = size(value) if name.endswith("_bytes") else _value(value)
        found.append((name.removesuffix("_bytes").replace("_", " "), printable(words)))
    return found


def _shown(number: int, loader: Mapping[str, Any], charts: Sequence[figures.Figure]) -> Shown:
    checks = loader["checks"] | ({"tune": loader["tune"]} if "tune" in loader else {})
    gravest = sorted(checks.items(), key=lambda item: _GRAVITY.index(item[1]["verdict"]))
    return Shown(
        number=number,
        name=printable(loader["id"]),
        nodeid=printable(loader["nodeid"]),
        description=printable(loader["description"]),
        checks=tuple(_judged(name, each) for name, each in gravest),
        changes=tuple(
            Remedy(name, printable(one["code"]), explanation_of(one["code"]), tuple(paragraphs(printable(one["text"]))))
            for name, each in gravest
            for one in each["advice"]
        ),
        figures=tuple(charts),
        tables=tuple(_tables(checks)),
    )


def _judged(name: str, each: Mapping[str, Any]) -> Judged:
    reason, *details = printable(each["reason"]).splitlines() or [""]
    limits = ", ".join(f"{key} = {_limit(key, value)}" for key, value in each["limits"].items())
    ranks = tuple(
        (rank["rank"], rank["verdict"].replace("_", " "), printable(rank["reason"]).partition("\n")[0])
        for rank in each.get("ranks") or ()
    )
    return Judged(name, each["verdict"], reason, tuple(line.strip() for line in details), printable(limits), ranks)


def _limit(name: str, value: Any) -> str:
    """A limit as people write it: bytes with their unit.

    >>> _limit("max_worker_growth", 8_000_000), _limit("world_size", 2), _limit("max_stall", 0.05)
    ('8.0 MB', '2', '0.05')
    """
    return size(value) if name in BYTE_LIMITS and isinstance(value, int) else _value(value)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _tables(checks: Mapping[str, Mapping[str, Any]]) -> Iterable[Table]:
    seen = {name: each["evidence"] for name, each in checks.items()}
    yield from _slow_batches(seen.get("stages") or {})
    yield from _slow_samples(seen.get("stages") or {})
    yield from _attributes(seen.get("memory") or {})
    yield from _tuning(seen.get("tune") or {})


def _slow_batches(evidence: Mapping[str, Any]) -> Iterable[Table]:
    timed = (evidence.get("timeline") or {}).get("batches") or ()
    slowest = sorted(timed, key=figures.made_ms, reverse=True)[:_SHOWN]
    if slowest:
        rows = tuple(
            (
                f"{one['epoch']}.{one['number']}",
                str(one["worker"]) if one["worker"] >= 0 else "main",
                figure(figures.made_ms(one)),
                printable(", ".join(str(index)[:40] for index in one["indices"])),
            )
            for one in slowest
        )
        yield Table("Slowest batches", ("epoch.batch", "worker", "ms", "first samples by index"), rows, (2,))


def _slow_samples(evidence: Mapping[str, Any]) -> Iterable[Table]:
    times = evidence.get("sample_times") or {}
    if times.get("slowest"):
        rows = tuple(
            (printable(str(one["index"])[:80]), figure(one["ms"]), f"{figure(one['ms'] / times['median_ms'])} times")
            for one in times["slowest"]
        )
        head = ("index", "ms", f"of the median, {figure(times['median_ms'])} ms")
        yield Table("Slowest samples", head, rows, (1, 2))


def _attributes(evidence: Mapping[str, Any]) -> Iterable[Table]:
    copied = [each for each in evidence.get("attributes") or () if each["growth_bytes"] or each["copied"]]
    rows = tuple(
        (
            printable(each["path"]),
            f"{each['count']:,} {printable(each['type'])}",
            size(each["exposed_bytes"]),
            percent(each["share_copied"]),
            size(each["growth_bytes"]),
        )
        for each in sorted(copied, key=lambda each: -each["growth_bytes"])[:_MOST_ATTRIBUTES]
    )
    if rows:
        head = ("attribute", "objects", "size", "copied by reading", "per worker")
        yield Table("Copied attributes", head, rows, (2, 3, 4))


def _tuning(evidence: Mapping[str, Any]) -> Iterable[Table]:
    for title, lines in (
        ("Tuning", ladder.cells(evidence.get("rows") or ())),
        ("Batch sizes", ladder.size_cells(evidence.get("batch_sizes") or ())),
        ("Pinning", ladder.pinning_cells(evidence.get("pinning") or ())),
    ):
        if len(lines) > 1:
            names, *rows = lines
            head = (names[0] or "settings", *names[1:-1], names[-1] or "note")
            numeric = tuple(range(1, len(names) - 1))
            yield Table(title, head, tuple(tuple(printable(cell) for cell in row) for row in rows), numeric)
