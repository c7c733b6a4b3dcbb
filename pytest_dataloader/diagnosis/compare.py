"""``pytest-dataloader compare``: two runs of ``--dataloader-json`` side by side."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_dataloader.diagnosis import documents
from pytest_dataloader.diagnosis.arguments import CommandParser
from pytest_dataloader.errors import BadReport
from pytest_dataloader.printable import encodable, printable
from pytest_dataloader.probe.host import disk
from pytest_dataloader.report import comparison, github
from pytest_dataloader.report.console import show

if TYPE_CHECKING:
    from collections.abc import Sequence

NAME = "compare"
_EXAMPLES = (
    "compare old.json new.json",
    "compare main.json branch.json --markdown",
    "compare main.json.gz branch.json --markdown summary.md",
)

_NOT_WORSE, _WORSE, _NOT_COMPARED = 0, 1, 2
_MOST_BYTES = 100_000_000
"""A loader's evidence is some 50 kB, with a timeline a megabyte."""
_STANDARD_OUTPUT = "-"


def main(arguments: Sequence[str]) -> int:
    """Compare the two files that the arguments name; the status to exit with."""
    parser = _parser()
    given = parser.parse(arguments)
    try:
        old, new = (_read(path) for path in (given.old, given.new))
        found = comparison.compare_runs(old, new, (str(given.old), str(given.new)))
    except BadReport as error:
        print(printable(f"{parser.prog}: {error}").replace("\n", "\\n"), file=sys.stderr)
        return _NOT_COMPARED
    if given.markdown == _STANDARD_OUTPUT:
        _say(comparison.comparison_document(found))
    else:
        show(comparison.comparison_tables(found), sys.stdout)
    if isinstance(given.markdown, Path):
        try:
            github.write_markdown(given.markdown, os.environ, lambda room: comparison.comparison_document(found, room))
        except OSError as error:
            print(
                printable(f"{parser.prog}: cannot write {given.markdown}: {error.strerror or error}"), file=sys.stderr
            )
            return _NOT_COMPARED
    return _WORSE if found.worse else _NOT_WORSE


def _parser() -> CommandParser:
    parser = CommandParser(
        NAME,
        "Set two runs side by side: what changed in verdicts and in figures.",
        _EXAMPLES,
        "0 where nothing got worse, 1 where a check that passed fails now, 2 where they could not be compared",
    )
    parser.add_argument("old", type=Path, metavar="OLD.json", help="what --json or --dataloader-json wrote")
    parser.add_argument("new", type=Path, metavar="NEW.json", help="the same of a later run")
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


def _read(path: Path) -> comparison.ReportedRun:
    document = documents.read_document(path, _MOST_BYTES, BadReport)
    try:
        return comparison.read_run(document)
    except BadReport as error:
        raise BadReport(f"{path}: {error}") from None


def _say(text: str) -> None:
    print(encodable(text, sys.stdout.encoding), end="")
