"""What a subcommand says: the report on a stream, the files asked for, GitHub, and the status to exit with."""

from __future__ import annotations

import inspect
import os
import sys
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any

from pytest_dataloader.environment import environment
from pytest_dataloader.printable import encodable, printable, put
from pytest_dataloader.report import github, markdown, terminal, writers
from pytest_dataloader.report.console import show

if TYPE_CHECKING:
    import argparse
    from typing import TextIO

    from pytest_dataloader.diagnosis.report import Report

EXIT_PASSED, EXIT_FAILED, EXIT_NOT_RUN = 0, 1, 2
"""Statuses to exit with."""


def say(text: str, stream: TextIO) -> None:
    """Print a line as the stream can show it."""
    put(f"{encodable(printable(text), stream.encoding)}\n", stream)


def show_report(report: Report, given: argparse.Namespace, stream: TextIO) -> int:
    """Print the summary and write the files asked for; 0, or the status of one that cannot be written."""
    show(terminal.report_summary(report.records, given.verbose), stream)
    if report.records:
        show(terminal.closing(report.records, report.seconds, verbosity=given.verbose), stream)
    status = EXIT_PASSED
    asked: dict[writers.Format, Path | None] = {
        "json": given.json,
        "html": given.html,
        "trace": getattr(given, "trace", None),
        "markdown": given.markdown,
    }
    for form, path in asked.items():
        if path is None:
            continue
        if wrong := writers.write_report(form, path, report.records, quick=getattr(given, "quick", False)):
            print(printable(f"--{form}: {wrong}"), file=sys.stderr)
            status = EXIT_NOT_RUN
    return status


def tell_github(report: Report, given: argparse.Namespace, place: github.AnnotationLocation, stream: TextIO) -> None:
    """Annotations on the place that made the loader, and the summary of the job, where there is one."""
    if github.is_asked(os.environ):
        for command in github.commands([(record, place) for record in report.records], strict=given.strict):
            print(encodable(command, stream.encoding), file=stream)
    measured = any(record.verdict != "not_measured" for record in report.records)
    if measured and not github.is_summary(given.markdown, os.environ):
        wrong = github.try_summary(
            os.environ, lambda room: markdown.report_document(report.records, environment(), room)
        )
        if wrong:
            print(printable(wrong), file=sys.stderr)


def place_of_callable(build: Any) -> github.AnnotationLocation:
    """Where a function is written; nowhere for what has no code of its own."""
    try:
        code = inspect.unwrap(build).__code__
    except Exception:  # whatever a callable of the user's makes of being asked
        return github.AnnotationLocation()
    if not isinstance(code, CodeType):
        return github.AnnotationLocation()
    return github.location_of(Path(code.co_filename), code.co_firstlineno, os.environ)


def status_of(report: Report, *, strict: bool) -> int:
    """The status that a report ends a command with."""
    missed = any(record.fails(strict=strict) for record in report.records)
    return EXIT_FAILED if missed else EXIT_PASSED if report.passed else EXIT_NOT_RUN
