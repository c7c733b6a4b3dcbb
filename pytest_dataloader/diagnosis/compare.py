"""``pytest-dataloader compare``: runs of ``--dataloader-json`` side by side."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_dataloader.diagnosis import documents
from pytest_dataloader.diagnosis.arguments import CommandParser
from pytest_dataloader.errors import BadReport
from pytest_dataloader.printable import encodable, printable, put
from pytest_dataloader.probe.host import disk
from pytest_dataloader.report import comparison, github, history
from pytest_dataloader.report.console import show

if TYPE_CHECKING:
    from collections.abc import Sequence

NAME = "compare"
_EXAMPLES = (
    "compare old.json new.json",
    "compare main.json.gz branch.json --markdown summary.md",
    "compare monday.json tuesday.json wednesday.json",
)

_NOT_WORSE, _WORSE, _NOT_COMPARED = 0, 1, 2
_STANDARD_OUTPUT = "-"


def main(arguments: Sequence[str]) -> int:
    """Compare the first and the last of the files that the arguments name, and list the figures of all where there are
    more; the status to exit with.
    """
    parser = _parser()
    given = parser.parse(arguments)
    names = [str(path) for path in (given.old, given.new, *given.more)]
    try:
        runs = [documents.read_report(Path(name)) for name in names]
        found = comparison.compare_runs(runs[0], runs[-1], (names[0], names[-1]))
    except BadReport as error:
        print(printable(f"{parser.prog}: {error}").replace("\n", "\\n"), file=sys.stderr)
        return _NOT_COMPARED
    listed = history.history_document(runs, names) if given.more else ""
    if given.markdown == _STANDARD_OUTPUT:
        _say(comparison.comparison_document(found) + listed)
    else:
        show(comparison.comparison_tables(found), sys.stdout)
        if given.more:
            show(history.history_table(runs, names), sys.stdout)
    if isinstance(given.markdown, Path):
        try:
            github.write_markdown(given.markdown, os.environ, lambda room: _page(found, listed, room))
        except OSError as error:
            print(
                printable(f"{parser.prog}: cannot write {given.markdown}: {error.strerror or error}"), file=sys.stderr
            )
            return _NOT_COMPARED
    return _WORSE if found.worse else _NOT_WORSE


def _parser() -> CommandParser:
    parser = CommandParser(
        NAME,
        "Set runs side by side: what changed in verdicts and in figures from the first to the last.",
        _EXAMPLES,
        "0 where nothing got worse, 1 where a check that passed fails now, 2 where they could not be compared",
    )
    parser.add_argument("old", type=Path, metavar="OLD.json", help="what --json or --dataloader-json wrote")
    parser.add_argument("new", type=Path, metavar="NEW.json", help="the same of a later run")
    parser.add_argument(
        "more", type=Path, nargs="*", metavar="NEWER.json", help="further runs: the figures of all are listed"
    )
    parser.add_argument(
        "--markdown",
        type=_file,
        nargs="?",
        const=_STANDARD_OUTPUT,
        metavar="PATH",
        help="write it as Markdown to this file; without a PATH, print that instead",
    )
    return parser


def _file(text: str) -> Path | str:
    if text == _STANDARD_OUTPUT:
        return text
    try:
        return disk.destination(text, Path.cwd())
    except ValueError as error:
        raise argparse.ArgumentTypeError(printable(str(error))) from None


def _page(found: comparison.RunComparison, listed: str, room: int) -> str:
    """The comparison and then the list of all figures, where there is room for that."""
    fits = 2 * len(listed.encode()) < room
    return comparison.comparison_document(found, room - len(listed.encode()) * fits) + listed * fits


def _say(text: str) -> None:
    put(encodable(text, sys.stdout.encoding), sys.stdout)
