"""``pytest-dataloader trace record MODULE:ATTR``: the timeline of one loader, measured by the check ``stages``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pytest_dataloader.diagnosis import check
from pytest_dataloader.diagnosis.arguments import CommandParser, file, seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

NAME = "trace record"
_EXAMPLES = (
    "trace record train:make_loader",
    "trace record proj.data:make_loader -o ours.json --seconds 10",
    "trace record proj/data.py:make_loader -- --batch-size 64",
)


def main(arguments: Sequence[str]) -> int:
    """Measure the stages of what the arguments name and write their timeline; the status to exit with."""
    ours, theirs = check.split_arguments(arguments)
    given = _parser().parse(ours)
    budget = [] if given.seconds is None else ["--seconds", str(given.seconds)]
    return check.main([given.loader, "--checks", "stages", "--trace", str(given.output), *budget, "--", *theirs])


def _parser() -> CommandParser:
    parser = CommandParser(
        NAME,
        "Write the way of a loader's batches through its workers as a trace, for ui.perfetto.dev.",
        _EXAMPLES,
        "0 where a file was written, 1 where the loader fails, 2 where nothing could be measured",
        "MODULE:ATTR [options] [-- ARGS...]",
    )
    parser.add_argument("loader", metavar="MODULE:ATTR", help="a DataLoader, or a callable that returns one")
    parser.add_argument(
        "-o",
        "--output",
        type=file,
        metavar="OURS.json",
        default=Path("ours.json"),
        help="the file to write (ours.json)",
    )
    parser.add_argument("--seconds", type=seconds, metavar="N", help="measuring budget (5)")
    return parser
