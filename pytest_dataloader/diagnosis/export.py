"""``pytest-dataloader export``: the figures of a run in the format of a service that keeps a history."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_dataloader.diagnosis import documents
from pytest_dataloader.diagnosis.arguments import CommandParser
from pytest_dataloader.errors import BadReport
from pytest_dataloader.printable import printable, put
from pytest_dataloader.report import history

if TYPE_CHECKING:
    from collections.abc import Sequence

NAME = "export"
_EXAMPLES = (
    "export new.json --format bencher > bencher.json",
    "export new.json --format bigger-is-better > rates.json",
    "export new.json --format smaller-is-better > costs.json",
)
_FORMATS = ("bencher", "bigger-is-better", "smaller-is-better")


def main(arguments: Sequence[str]) -> int:
    """Print the figures of the run that the arguments name; the status to exit with."""
    parser = _parser()
    given = parser.parse(arguments)
    try:
        run = documents.read_report(given.report)
    except BadReport as error:
        print(printable(f"{parser.prog}: {error}").replace("\n", "\\n"), file=sys.stderr)
        return 2
    found: object
    if given.format == "bencher":
        found = history.bencher_document(run)
    else:
        found = history.benchmark_action_document(run, more_is_better=given.format == "bigger-is-better")
    put(f"{json.dumps(found, indent=2)}\n", sys.stdout)
    return 0


def _parser() -> CommandParser:
    parser = CommandParser(
        NAME,
        "Print the figures of a run for Bencher, or for github-action-benchmark.",
        _EXAMPLES,
        "0, or 2 where the file is no report",
    )
    parser.add_argument("report", type=Path, metavar="REPORT.json", help="what --json or --dataloader-json wrote")
    parser.add_argument(
        "--format",
        choices=_FORMATS,
        default="bencher",
        help="Bencher's metric format, or the custom tools of github-action-benchmark",
    )
    return parser
