"""Figures of several runs in one table, and of one run in the formats of services that keep a history."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.padding import Padding
from rich.table import Table

from pytest_dataloader.printable import printable
from pytest_dataloader.report import markdown
from pytest_dataloader.report.comparison import MEASURES, Loader, Measure, ReportedRun, finite
from pytest_dataloader.report.console import text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


@dataclass(frozen=True, slots=True)
class RunFigure:
    """A figure of a check in one run, with its 95 % interval where it has one."""

    loader: Loader
    check: str
    measure: Measure
    value: float
    interval: tuple[float, float] | None


def run_figures(run: ReportedRun) -> Iterator[RunFigure]:
    """Every figure that is worth comparing."""
    for loader, checks in run.loaders.items():
        for check, seen in checks.items():
            for measure in MEASURES.get(check, ()):
                value = finite(seen.evidence.get(measure.key))
                if value is not None:
                    yield RunFigure(loader, check, measure, value, _interval(seen.evidence.get(measure.interval)))


def _interval(value: object) -> tuple[float, float] | None:
    bounds = [finite(bound) for bound in value] if isinstance(value, list) else []
    known = [bound for bound in bounds if bound is not None]
    return (known[0], known[1]) if len(bounds) == len(known) == 2 else None


def history_rows(runs: Sequence[ReportedRun]) -> list[tuple[str, ...]]:
    """A row for each figure: loader, check, figure, then its value in each run; empty where a run has none."""
    found: dict[tuple[Loader, str, str], dict[int, str]] = {}
    for number, run in enumerate(runs):
        for each in run_figures(run):
            row = found.setdefault((each.loader, each.check, each.measure.name), {})
            row[number] = each.measure.write(each.value)
    return [
        (loader[1], check, name, *(row.get(number, "") for number in range(len(runs))))
        for (loader, check, name), row in found.items()
    ]


def history_table(runs: Sequence[ReportedRun], names: Sequence[str]) -> Padding:
    """The figures of all runs for a terminal, a column for each run."""
    grid = Table(box=None, padding=(0, 2, 0, 0))
    for number, name in enumerate(("loader", "check", "figure", *names)):
        grid.add_column(text(_one_line(name)), justify="right" if number > 2 else "left", overflow="fold")
    for row in history_rows(runs):
        grid.add_row(*(text(_one_line(cell)) for cell in row))
    return Padding(grid, (0, 0, 0, 2))


def history_document(runs: Sequence[ReportedRun], names: Sequence[str]) -> str:
    """The same as Markdown."""
    head = markdown.table_head(*map(markdown.cell, ("loader", "check", "figure", *names)))
    rows = (markdown.table_row(*map(markdown.cell, row)) for row in history_rows(runs))
    return f"\n{head}{''.join(rows)}"


def bencher_document(run: ReportedRun) -> dict[str, dict[str, dict[str, float]]]:
    """A run in the Bencher Metric Format: by loader and check, then by measure."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for each in run_figures(run):
        bounds = {} if each.interval is None else dict(zip(("lower_value", "upper_value"), each.interval, strict=True))
        measures = found.setdefault(f"{each.loader[1]}/{each.check}", {})
        measures[each.measure.key.replace("_", "-")] = {"value": each.value, **bounds}
    return found


def benchmark_action_document(run: ReportedRun, *, more_is_better: bool) -> list[Mapping[str, Any]]:
    """A run as github-action-benchmark takes it, which has one tool for each sense of better."""
    return [
        {
            "name": f"{each.loader[1]}/{each.check}: {each.measure.name}",
            "unit": each.measure.unit,
            "value": each.value,
            **({} if each.interval is None else {"range": f"{each.interval[0]:g} to {each.interval[1]:g}"}),
        }
        for each in run_figures(run)
        if each.measure.more_is_better == more_is_better
    ]


def _one_line(text: str) -> str:
    return printable(text).replace("\n", "\\n")
