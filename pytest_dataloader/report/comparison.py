"""Two documents of ``--dataloader-json`` side by side: what changed in verdicts and in figures."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from rich.console import Group
from rich.padding import Padding
from rich.table import Table

from pytest_dataloader.errors import BadReport
from pytest_dataloader.printable import printable, shown
from pytest_dataloader.quantities import counted, figure, percent, size
from pytest_dataloader.report import markdown
from pytest_dataloader.report.console import text
from pytest_dataloader.report.json import SCHEMA
from pytest_dataloader.report.terminal import STYLES
from pytest_dataloader.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rich.console import RenderableType

ChangeKind = Literal["worse", "better", "other", "gone", "new", "same"]

SMALL = 0.1
"""A figure without an interval that moves by less than this share is not told: two runs of a loader differ as much."""
_ENVIRONMENT = {
    "cpu_model": "CPU",
    "cpus_allowed": "CPUs",
    "python": "Python",
    "torch": "torch",
    "start_method": "start method",
}
"""What of two places makes their figures different."""
_MOST_REASON = 300
_OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
_NUMBERS = (3, 4, 5)
"""The columns of figures that hold numbers."""
_WORDS: Mapping[ChangeKind, str] = {
    "worse": "❌ worse",
    "better": "✅ better",
    "other": "⚠️ other",
    "gone": "gone",
    "new": "new",
}
_STYLES: Mapping[ChangeKind, str] = {
    "worse": STYLES["failed"],
    "better": STYLES["passed"],
    "other": STYLES["not_measured"],
    "gone": STYLES["not_measured"],
    "new": "none",
}
_JSON_NAMES: Mapping[type, str] = {dict: "a table", str: "text"}
_Kind = TypeVar("_Kind", dict[str, Any], str)


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What a check said in one of the two runs."""

    verdict: Outcome
    reason: str
    evidence: Mapping[str, Any]
    limits: Mapping[str, Any]


Loader = tuple[str, str]
"""Node id and id."""


@dataclass(frozen=True, slots=True)
class ReportedRun:
    """A document as it was read: every check of every loader, and where it was measured."""

    environment: Mapping[str, Any]
    loaders: Mapping[Loader, Mapping[str, CheckResult]]


@dataclass(frozen=True, slots=True)
class CheckChange:
    """One check of one loader in both runs; None in that which has not seen it."""

    loader: str
    check: str
    old: CheckResult | None
    new: CheckResult | None

    @property
    def kind(self) -> ChangeKind:
        if self.old is None or self.new is None:
            return "new" if self.old is None else "gone"
        match self.old.verdict, self.new.verdict:
            case "passed", "failed":
                return "worse"
            case "failed", "passed":
                return "better"
            case old, new:
                return "same" if old == new else "other"

    @property
    def verdicts(self) -> str:
        """Both verdicts, or the one that there is."""
        old, new = ("" if seen is None else seen.verdict.replace("_", " ") for seen in (self.old, self.new))
        return f"{old} -> {new}" if old and new else f"{self.kind}, {old or new}"


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """One line about what changed."""

    kind: ChangeKind
    loader: str
    checks: str
    verdicts: str
    reason: str

    @property
    def cells(self) -> tuple[str, ...]:
        return (shown(self.loader, str), shown(self.checks, str), self.verdicts, self.reason)


@dataclass(frozen=True, slots=True)
class Movement:
    """A figure of a check that both runs measured, and that moved."""

    loader: str
    check: str
    name: str
    before: str
    now: str
    change: str
    note: str

    @property
    def cells(self) -> tuple[str, ...]:
        return (shown(self.loader, str), self.check, self.name, self.before, self.now, self.change, self.note)


@dataclass(frozen=True, slots=True)
class RunComparison:
    """What changed from one run to the other; ``still`` figures did not move to speak of."""

    names: tuple[str, str]
    elsewhere: tuple[str, ...]
    changes: tuple[CheckChange, ...]
    movements: tuple[Movement, ...]
    still: int

    @property
    def rows(self) -> list[ChangeRow]:
        """What changed, the worst first; checks of a loader that came or went alike are one row, unless they fail."""
        rows: dict[tuple[str, str, int | None], list[CheckChange]] = {}
        for number, change in enumerate(self.changes):
            alone = change.new is not None and (change.old is not None or change.new.verdict == "failed")
            if change.kind != "same":
                rows.setdefault((change.loader, change.verdicts, number if alone else None), []).append(change)
        found = [
            ChangeRow(alike[0].kind, loader, ", ".join(each.check for each in alike), verdicts, _why(alike))
            for (loader, verdicts, _), alike in rows.items()
        ]
        return sorted(found, key=lambda row: get_args(ChangeKind).index(row.kind))

    @property
    def footnote(self) -> str:
        """Which figures are not told."""
        return (
            f"{counted(self.still, 'other figure')} moved by less than {percent(SMALL)}, or stayed within "
            "what two runs differ by."
        )

    @property
    def worse(self) -> bool:
        """Whether a check that passed fails now."""
        return any(change.kind == "worse" for change in self.changes)

    @property
    def headline(self) -> str:
        counts = Counter(change.kind for change in self.changes)
        words = {"other": "other changes" if counts["other"] > 1 else "other change", "same": "the same"}
        return ", ".join(f"{counts[kind]:,} {words.get(kind, kind)}" for kind in get_args(ChangeKind) if counts[kind])


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure worth comparing: its key in the evidence, how it is called and written, the key of its interval, and
    whether more of it is better.
    """

    key: str
    name: str
    unit: str
    write: Callable[[float], str] = figure
    interval: str = ""
    more_is_better: bool = False


MEASURES: Mapping[str, tuple[Measure, ...]] = {
    "throughput": (
        Measure("samples_per_second", "samples/s", "samples/s", interval="interval", more_is_better=True),
        Measure("cpu_ms_per_sample", "CPU ms per sample", "ms", interval="cpu_ms_interval"),
        Measure("seconds_to_first_batch", "seconds to first batch", "s"),
    ),
    "memory": (
        Measure("growth_bytes_per_worker", "growth per worker", "B", size),
        Measure("predicted_total_bytes", "growth of all workers", "B", size),
    ),
    "fds": (
        Measure("peak", "peak of descriptors", "descriptors"),
        Measure("leaked", "descriptors left open", "descriptors"),
    ),
    "shm": (Measure("peak_bytes", "peak of /dev/shm", "B", size), Measure("leaked_bytes", "left behind", "B", size)),
    "portability": (Measure("pickled_bytes", "pickled per worker", "B", size),),
}
_TEXTS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "stages": (("bottleneck", "bottleneck"),),
    "memory": (("kind", "kind of growth"), ("attribute", "what grows")),
}


def read_run(document: object) -> ReportedRun:
    """Take a document apart, whoever wrote it; raises BadReport that names the place where it is none."""
    if not isinstance(document, dict) or not isinstance(document.get("loaders"), list):
        raise BadReport("it is no report of --dataloader-json: it has no list of loaders")
    if document.get("schema") != SCHEMA:
        raise BadReport(f"schema {shown(document.get('schema'))} is not {SCHEMA}; another version wrote it")
    environment = _typed(document.get("environment"), dict, "environment")
    loaders: dict[Loader, dict[str, CheckResult]] = {}
    for number, loader in enumerate(document["loaders"]):
        at = f"loaders[{number}]"
        held = _typed(loader, dict, at)
        key = tuple(_typed(held.get(name), str, f"{at}.{name}") for name in ("nodeid", "id"))
        checks = _typed(held.get("checks"), dict, f"{at}.checks")
        loaders[key[0], key[1]] = {name: _seen(each, f"{at}.checks[{shown(name)}]") for name, each in checks.items()}
    return ReportedRun(environment, loaders)


def compare_runs(old: ReportedRun, new: ReportedRun, names: tuple[str, str] = ("before", "now")) -> RunComparison:
    """What changed; raises BadReport where the two have no check in common."""
    changes = [
        CheckChange(name, check, before.get(check), now.get(check))
        for name, before, now in _pairs(old, new)
        for check in dict.fromkeys([*before, *now])
    ]
    both = [change for change in changes if change.old is not None and change.new is not None]
    if not both:
        raise BadReport("they have no check of a loader in common")
    movements: list[Movement] = []
    still = 0
    for change in both:
        for moved in _movements(change):
            still += moved is None
            movements += [] if moved is None else [moved]
    elsewhere = tuple(
        f"{word} {shown(old.environment.get(key), str)} -> {shown(new.environment.get(key), str)}"
        for key, word in _ENVIRONMENT.items()
        if old.environment.get(key) != new.environment.get(key)
    )
    return RunComparison(names, elsewhere, tuple(changes), tuple(movements), still)


def comparison_tables(found: RunComparison) -> Group:
    """The comparison for a terminal: what got worse first, then the figures that moved."""
    names = text(_clean(f"{found.names[0]} -> {found.names[1]}: "))
    parts: list[RenderableType] = [names.append(found.headline, "bold")]
    if found.elsewhere:
        parts.append(text(_clean(f"measured at another place, where figures differ: {'; '.join(found.elsewhere)}")))
    rows = found.rows
    for kind in dict.fromkeys(row.kind for row in rows):
        alike = [row.cells for row in rows if row.kind == kind]
        parts += [text(kind, "bold"), _table(alike, _STYLES[kind])]
    if found.movements:
        parts += [text("figures", "bold"), _table([each.cells for each in found.movements], "none", _NUMBERS)]
    if found.still:
        parts.append(text(found.footnote))
    return Group(*parts)


def _table(rows: Sequence[tuple[str, ...]], style: str, numbers: Sequence[int] = ()) -> Padding:
    """Rows in columns, the ``numbers`` at the right; the last column is not in the colour of the others."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    for at in range(len(rows[0])):
        last = at == len(rows[0]) - 1
        grid.add_column(justify="right" if at in numbers else "left", style="none" if last else style, overflow="fold")
    for row in rows:
        grid.add_row(*(text(_clean(cell)) for cell in row))
    return Padding(grid, (0, 0, 0, 2))


def comparison_document(found: RunComparison, most_bytes: int = markdown.MOST_BYTES) -> str:
    """The comparison as Markdown, of no more than ``most_bytes``."""
    page, left_out = markdown.Page(most_bytes), 0
    page.add(f"## DataLoader checks compared: {found.headline}\n\n{' → '.join(map(markdown.cell, found.names))}\n")
    if found.elsewhere:
        told = markdown.cell("; ".join(found.elsewhere))
        page.add(f"\n⚠️ Measured at another place, where figures differ: {told}\n")
    if found.rows:
        page.add("\n" + markdown.table_head("", "loader", "check", "verdict", "what was seen"))
    for row in found.rows:
        loader, checks, verdicts, reason = map(markdown.cell, row.cells)
        cells = (_WORDS[row.kind], loader, checks, verdicts.replace("->", "→"), reason)
        left_out += not page.add(markdown.table_row(*cells))
    if found.movements:
        title = f"{counted(len(found.movements), 'figure')} moved"
        head = markdown.table_head("loader", "check", "figure", "before", "now", "change", "")
        opened = page.add(f"\n<details><summary>{title}</summary>\n\n{head}")
        for each in found.movements:
            left_out += not page.add(markdown.table_row(*map(markdown.cell, each.cells)))
        page.close("\n</details>\n" if opened else "")
    if left_out:
        page.close(f"\n**Left out**, as a summary holds no more: {counted(left_out, 'line')}.\n")
    page.close(f"\n<sub>{found.footnote}</sub>\n" if found.still else "")
    return page.text


def _why(changes: Sequence[CheckChange]) -> str:
    """Why a check is as it is now, and what else it is held to; nothing of one that is gone, and of several at once."""
    new = changes[0].new
    if len(changes) > 1 or new is None:
        return ""
    first = new.reason.partition("\n")[0]
    shortened = first if len(first) <= _MOST_REASON else f"{first[: _MOST_REASON - 3]}..."
    held = {} if changes[0].old is None else changes[0].old.limits
    moved = [
        f"{name} {_limit(held.get(name))} -> {_limit(new.limits.get(name))}"
        for name in dict.fromkeys([*held, *new.limits])
        if changes[0].old is not None and held.get(name) != new.limits.get(name)
    ]
    return f"{shortened} (limits changed: {shown(', '.join(moved), str)})" if moved else shortened


def _limit(value: object) -> str:
    number = finite(value)
    return "none" if value is None else shown(value, str) if number is None else figure(number)


def _pairs(
    old: ReportedRun, new: ReportedRun
) -> Iterator[tuple[str, Mapping[str, CheckResult], Mapping[str, CheckResult]]]:
    """Loaders of both runs, by node id and id; by id alone where one moved and no other is called so."""
    alone = [{each for each in run.loaders if each not in other.loaders} for run, other in ((old, new), (new, old))]
    by_id = [_by_unique_id(keys) for keys in alone]
    moved = {by_id[0][name]: by_id[1][name] for name in by_id[0].keys() & by_id[1].keys()}
    for key, checks in old.loaders.items():
        yield key[1], checks, new.loaders.get(moved.get(key, key), {})
    for key, checks in new.loaders.items():
        if key not in old.loaders and key not in moved.values():
            yield key[1], {}, checks


def _by_unique_id(keys: set[Loader]) -> dict[str, Loader]:
    counts = Counter(name for _, name in keys)
    return {key[1]: key for key in keys if counts[key[1]] == 1}


def _movements(change: CheckChange) -> Iterator[Movement | None]:
    """The figures of a check that both runs have; None for each that did not move to speak of."""
    if change.old is None or change.new is None:
        return
    old, new = change.old.evidence, change.new.evidence
    unsure = [word for word, seen in (("before", change.old), ("now", change.new)) if seen.verdict == "inconclusive"]
    note = f"inconclusive {' and '.join(unsure)}" if unsure else ""
    for measure in MEASURES.get(change.check, ()):
        before, now = finite(old.get(measure.key)), finite(new.get(measure.key))
        if before is None or now is None:
            continue
        apart = _apart(old.get(measure.interval), new.get(measure.interval)) if measure.interval else None
        moved = _differs(before, now) if apart is None else apart
        texts = measure.write(before), measure.write(now)
        told = Movement(change.loader, change.check, measure.name, *texts, _moved_by(before, now), note)
        yield told if moved and texts[0] != texts[1] else None
    for key, name in _TEXTS.get(change.check, ()):
        words = [value if isinstance(value, str) else "" for value in (old.get(key), new.get(key))]
        if any(words):
            before_text, now_text = (shown(word, str) or "none" for word in words)
            moved = before_text != now_text
            yield Movement(change.loader, change.check, name, before_text, now_text, "", note) if moved else None


def _apart(old: object, new: object) -> bool | None:
    """Whether two intervals have nothing in common; None where one of them is none."""
    bounds = [
        [finite(bound) for bound in interval] if isinstance(interval, list) and len(interval) == 2 else [None]
        for interval in (old, new)
    ]
    known = [[bound for bound in interval if bound is not None] for interval in bounds]
    if any(len(interval) != 2 for interval in known):
        return None
    return known[0][1] < known[1][0] or known[1][1] < known[0][0]


def _differs(before: float, now: float) -> bool:
    return abs(now - before) > SMALL * max(abs(before), abs(now))


def _moved_by(before: float, now: float) -> str:
    """By what share a figure moved; by what factor where that is easier to read.

    >>> _moved_by(100, 80), _moved_by(3.0, 12.0), _moved_by(0, 3)
    ('-20 %', '4.0x', '')
    """
    if before <= 0 or now <= 0:
        return ""
    return f"{now / before:,.1f}x" if now / before >= 2 else f"{100 * (now / before - 1):+.0f} %"


def finite(value: object) -> float | None:
    """A finite number; None for anything else that JSON can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
        return None
    return float(value)


def _seen(value: object, at: str) -> CheckResult:
    held = _typed(value, dict, at)
    told = held.get("verdict")
    verdict = next((outcome for outcome in _OUTCOMES if outcome == told), None)
    if verdict is None:
        raise BadReport(f"{at}.verdict: expected one of {', '.join(_OUTCOMES)}, got {shown(told)}")
    reason = _typed(held.get("reason"), str, f"{at}.reason")
    figures, limits = (_typed(held.get(name), dict, f"{at}.{name}") for name in ("evidence", "limits"))
    return CheckResult(verdict, reason, figures, limits)


def _typed(value: object, kind: type[_Kind], at: str) -> _Kind:
    if not isinstance(value, kind):
        raise BadReport(f"{at}: expected {_JSON_NAMES[kind]}, got {shown(value)}")
    return value


def _clean(text: str) -> str:
    """A text that others chose, on one line."""
    return printable(text).replace("\n", "\\n")
