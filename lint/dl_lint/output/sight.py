"""What could be followed, as a table, and what could not, place by place; the same as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dl_lint.output import cell_row
from dl_lint.output.frame import one_line, printable
from dl_lint.sight.facts import DatasetSight, LoaderSight

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dl_lint.engine.report import Report
    from dl_lint.output import Look
    from dl_lint.sight.facts import At, Fact, LoopSight, Sight, State

    Seen = LoaderSight | LoopSight | DatasetSight

STATES: tuple[State, ...] = ("known", "open", "lost")


def render(report: Report, look: Look) -> Iterator[str]:
    """The table, then every loader, training loop and dataset of which something is not known."""
    yield from table(report, look)
    for title, found in (
        ("Loaders", report.sight.loaders),
        ("Training loops", report.sight.loops),
        ("Datasets", report.sight.datasets),
    ):
        unknown = [one for one in found if any(fact.state != "known" for _, fact in one.facts)]
        if unknown:
            yield f"\n{look.paint('bold', title)}\n"
        for one in unknown:
            yield from _lines(one, look)


def table(report: Report, look: Look) -> Iterator[str]:
    """How many of each are known, left open and lost."""
    rows = [(name, _counts(facts)) for name, facts in _questions(report.sight)]
    width = max(len(name) for name, _ in rows)
    yield f"{'':{width}}  " + "".join(f"{state:>7}" for state in STATES) + "\n"
    for name, counts in rows:
        shown = "".join(f"{counts[state]:7}" for state in STATES)
        yield f"{look.paint('bold', name)}{' ' * (width - len(name))}  {shown}\n"


def render_json(report: Report, look: Look) -> Iterator[str]:
    """``summary`` holds the counts of the table by question and state."""
    sight = report.sight
    record = {
        "summary": {name: _counts(facts) for name, facts in _questions(sight)},
        "loaders": [_record(one, look) for one in sight.loaders],
        "loops": [_record(one, look) for one in sight.loops],
        "datasets": [_record(one, look) for one in sight.datasets],
    }
    yield json.dumps(record, indent=2) + "\n"


def _questions(sight: Sight) -> Iterator[tuple[str, list[State]]]:
    yield "loaders", [one.state for one in sight.loaders]
    yield "  their dataset", [one.dataset.state for one in sight.loaders]
    yield "  their workers", [one.workers.state for one in sight.loaders]
    yield "  who iterates them", [one.use.state for one in sight.loaders]
    yield "training loops: their loader", [one.state for one in sight.loops]
    yield "datasets: their loader", [one.state for one in sight.datasets]
    yield "  what fetching reads", [fact.state for one in sight.datasets for _, fact in one.attributes]


def _counts(found: Iterable[State]) -> dict[str, int]:
    states = list(found)
    return {state: states.count(state) for state in STATES}


def _lines(one: Seen, look: Look) -> Iterator[str]:
    name = f" {one.name}" if isinstance(one, LoaderSight | DatasetSight) else ""
    yield f"{look.paint('bold', _where(one.at, look))}:{name}\n"
    for what, fact in one.facts:
        if fact.state != "known":
            colour = "bold red" if fact.state == "lost" else "cyan"
            at = "" if fact.at is None else f", at {_where(fact.at, look)}"
            yield f"    {what} {look.paint(colour, fact.state)}: {fact.reason}: {one_line(fact.text)}{at}\n"


def _where(at: At, look: Look) -> str:
    name, row = cell_row(at.path, at.row, look)
    return f"{printable(name)}:{row}"


def _record(one: Seen, look: Look) -> dict[str, Any]:
    named = {"name": one.name} if isinstance(one, LoaderSight | DatasetSight) else {}
    return {**_place(one.at, look), **named, "state": one.state, **{key: _fact(fact, look) for key, fact in one.facts}}


def _fact(fact: Fact, look: Look) -> dict[str, Any]:
    place = None if fact.at is None else _place(fact.at, look)
    return {"state": fact.state, "text": fact.text, "reason": fact.reason or None, "place": place}


def _place(at: At, look: Look) -> dict[str, Any]:
    cell = look.cell(at.path, at.row)
    row = at.row if cell is None else at.row - cell.first + 1
    return {"filename": at.path, "cell": None if cell is None else cell.number, "row": row}
