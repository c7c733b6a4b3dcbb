"""``pytest-dataloader check MODULE:ATTR``: one loader diagnosed from any folder, with no configuration."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_dataloader import checks, loaders, progress
from pytest_dataloader.diagnosis import output
from pytest_dataloader.diagnosis.arguments import (
    CommandParser,
    add_files,
    add_limits,
    add_measuring,
    file,
    limits_given,
)
from pytest_dataloader.diagnosis.report import Report, examine_all
from pytest_dataloader.diagnosis.runner import Subject
from pytest_dataloader.distributed.job import Job, place_in
from pytest_dataloader.errors import BadLimit, BadTarget
from pytest_dataloader.probe.host import interruption, sockets_folder
from pytest_dataloader.record import Record
from pytest_dataloader.settings import targets
from pytest_dataloader.settings.options import DEFAULT_SECONDS, QUICK_SECONDS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

NAME = "check"
_EXAMPLES = (
    "check train:make_loader --quick",
    "check proj.data:loader --min-samples-per-second 2000 --max-worker-growth 32MB",
    "check proj/data.py:make_loader --checks throughput,stages --step-ms 35 -- --batch-size 64",
)


def main(arguments: Sequence[str]) -> int:
    """Diagnose what the arguments name and print the report; the status to exit with."""
    return measure_named(arguments, _parser(), _diagnose)


def measure_named(arguments: Sequence[str], parser: CommandParser, measure: Callable[[argparse.Namespace], int]) -> int:
    """Call ``measure`` with what the arguments mean; its status.

    The user's code finds those after ``--`` as its own, signals raise, and workers find their sockets.
    """
    ours, theirs = split_arguments(arguments)
    given = parser.parse(ours)
    put_back = interruption.raise_on_signals("SIGTERM ended the run")
    remove_folder = sockets_folder.share_with_workers()
    try:
        with loaders.arguments_of(given.loader, theirs, targets.import_roots(Path.cwd())):
            return measure(given)
    finally:
        remove_folder()
        put_back()


def split_arguments(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """What stands before ``--``, and what follows it, which is the user's own.

    >>> split_arguments(["train:make", "--quick", "--", "--lr", "3"])
    (['train:make', '--quick'], ['--lr', '3'])
    """
    words = list(arguments)
    end = words.index("--") if "--" in words else len(words)
    return words[:end], words[end + 1 :]


def _diagnose(given: argparse.Namespace) -> int:
    """In a job of several ranks all have one verdict and one status, and the first reports."""
    budget = given.seconds or (QUICK_SECONDS if given.quick else DEFAULT_SECONDS)
    place = place_in(os.environ)
    if place is None:
        return _diagnose_as_rank(given, None)
    job = Job.join(place, place.patience_seconds(budget))
    status = output.EXIT_NOT_RUN
    try:
        status = _diagnose_as_rank(given, job)
    finally:
        heard, _ = job.close(str(status))
    return max(map(int, heard.values()))


def _diagnose_as_rank(given: argparse.Namespace, job: Job | None) -> int:
    roots = targets.import_roots(Path.cwd())
    told, watched = list[Record](), progress.StandaloneLine(sys.stderr)
    build: Any = None
    stopped: KeyboardInterrupt | None = None
    try:
        with loaders.importable(roots):
            loader, build = loaders.build(given.loader, roots)
            report = examine_all(
                Subject(given.loader, given.loader, loader, build),
                given.checks,
                limits=limits_given(given, checks.NAMES),
                seconds=given.seconds,
                quick=given.quick,
                whole_epoch=given.whole_epoch,
                traced=given.trace is not None or given.html is not None,
                progress=watched.show,
                done=told.append,
                job=job,
            )
    except (BadTarget, BadLimit) as error:
        output.say(f"pytest-dataloader {NAME}: {error}", sys.stderr)
        return output.EXIT_NOT_RUN
    except KeyboardInterrupt as stop:
        stopped, report = stop, Report(tuple(told), {})
    shown = output.EXIT_PASSED
    with interruption.finishing():
        watched.clear()
        if job is None or job.place.rank == 0:
            shown = output.show_report(report, given, sys.stdout)
            output.tell_github(report, given, output.place_of_callable(build), sys.stdout)
    if stopped is None:
        return shown or output.status_of(report, strict=given.strict)
    place = loaders.place_of_error(stopped)
    output.say(f"pytest-dataloader {NAME}: interrupted{f' at {place}' if place else ''}", sys.stderr)
    return output.EXIT_NOT_RUN


def _parser() -> CommandParser:
    parser = CommandParser(
        NAME,
        "Measure one loader, from any folder and with no configuration.",
        _EXAMPLES,
        "0 where no check failed, 1 where one did, 2 where nothing could be measured",
        "MODULE:ATTR [options] [-- ARGS...]",
    )
    parser.add_argument(
        "loader",
        metavar="MODULE:ATTR",
        help="a DataLoader or another iterable of batches, or a callable that returns one; "
        "FILE.py:ATTR too; it finds ARGS in sys.argv",
    )
    add_measuring(parser, checks.NAMES, budget="5; with --quick 0.5")
    parser.add_argument("--quick", action="store_true", help="every check in its shortest useful form, under 10 s")
    parser.add_argument(
        "--whole-epoch", action="store_true", help="workers and order read an epoch to its end, however long it takes"
    )
    add_files(parser)
    parser.add_argument(
        "--trace", type=file, metavar="PATH", help="write the timeline of stages to this file, for ui.perfetto.dev"
    )
    add_limits(parser, checks.NAMES)
    return parser
