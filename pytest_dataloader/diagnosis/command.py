"""``python -m pytest_dataloader MODULE:ATTR``: one loader diagnosed from any folder, with no configuration."""

from __future__ import annotations

import argparse
import inspect
import os
import re
import shutil
import sys
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any

from pytest_dataloader import checks, limits, loaders, options, progress, targets
from pytest_dataloader.diagnosis import analyze_trace, compare, merge_trace
from pytest_dataloader.diagnosis.report import Report, examine_all
from pytest_dataloader.diagnosis.runner import Subject
from pytest_dataloader.environment import environment
from pytest_dataloader.errors import BadLimit, BadTarget
from pytest_dataloader.printable import encodable, printable
from pytest_dataloader.probe.host import disk, interruption, sockets_folder
from pytest_dataloader.record import Record
from pytest_dataloader.report import bars, github, markdown, writers
from pytest_dataloader.report.line import painted

if TYPE_CHECKING:
    from collections.abc import Sequence


_EXAMPLES = """\
examples:
  python -m pytest_dataloader train:make_loader --quick
  python -m pytest_dataloader proj.data:loader --min-samples-per-second 2000 --max-worker-growth 32MB
  python -m pytest_dataloader proj.data:make_loader --checks throughput,stages --step-ms 35 --max-stall 0.05
  python -m pytest_dataloader train:make_loader --html page.html
  python -m pytest_dataloader train:make_loader --checks stages --trace ours.json
  python -m pytest_dataloader trace merge torch.json ours.json
  python -m pytest_dataloader trace analyze torch.json
  python -m pytest_dataloader compare old.json new.json

exit status: 0 where no check failed, 1 where one did, 2 where nothing could be measured
"""
_PASSED, _FAILED, _NOT_RUN = 0, 1, 2
_SUBCOMMANDS = {
    compare.NAME: compare.main,
    merge_trace.NAME: merge_trace.main,
    "trace merge": merge_trace.main,
    analyze_trace.NAME: analyze_trace.main,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Diagnose what the arguments name and print the report; the status to exit with."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    for count in (1, 2):
        if (name := " ".join(words[:count])) in _SUBCOMMANDS:
            return _SUBCOMMANDS[name](words[count:])
    parser = _parser()
    given = parser.parse_args(words)
    put_back = interruption.raise_on_signals("SIGTERM ended the run")
    remove_folder = sockets_folder.share_with_workers()
    try:
        return _diagnose(given, parser.prog)
    finally:
        remove_folder()
        put_back()


def _diagnose(given: argparse.Namespace, prog: str) -> int:
    asked = {name: value for name in _limits() if (value := getattr(given, name)) is not None}
    roots = targets.import_roots(Path.cwd())
    told, watched = list[Record](), progress.StandaloneLine(sys.stderr)
    build: Any = None
    stopped: KeyboardInterrupt | None = None
    try:
        with loaders.importable(roots):
            loader, build = loaders.build(given.loader, roots)
            subject = Subject(given.loader, given.loader, loader, build)
            report = examine_all(
                subject,
                given.checks,
                limits=asked,
                seconds=given.seconds,
                quick=given.quick,
                whole_epoch=given.whole_epoch,
                traced=given.trace is not None or given.html is not None,
                progress=watched.show,
                done=told.append,
            )
    except (BadTarget, BadLimit) as error:
        print(f"{prog}: {error}", file=sys.stderr)
        return _NOT_RUN
    except KeyboardInterrupt as stop:
        stopped, report = stop, Report(tuple(told), {})
    with interruption.finishing():
        watched.clear()
        shown = _show(report, given)
        _tell_github(report, given, build)
    if stopped is None:
        return shown or _status(report, strict=given.strict)
    place = loaders.place_of_error(stopped)
    print(printable(f"{prog}: interrupted{f' at {place}' if place else ''}"), file=sys.stderr)
    return _NOT_RUN


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pytest_dataloader",
        usage="%(prog)s MODULE:ATTR [options]",
        description="Measure a DataLoader and hold it to limits.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "loader",
        metavar="MODULE:ATTR",
        help="a DataLoader or another iterable of batches, or a callable that returns one",
    )
    parser.add_argument(
        "--checks",
        type=lambda text: re.split(r"[,\s]+", text.strip(", ")),
        metavar="NAMES",
        help=f"only these, such as memory,order; all are {', '.join(checks.NAMES)}",
    )
    parser.add_argument("--quick", action="store_true", help="every check in its shortest useful form, under 10 s")
    parser.add_argument(
        "--whole-epoch", action="store_true", help="workers and order read an epoch to its end, however long it takes"
    )
    parser.add_argument(
        "--seconds", type=_seconds, metavar="N", help="measuring budget of a check (5; with --quick 0.5)"
    )
    parser.add_argument("--strict", action="store_true", help="what is inconclusive, or was not seen, fails too")
    parser.add_argument("--json", type=_file, metavar="PATH", help="write evidence and verdicts to this file")
    parser.add_argument("--html", type=_page, metavar="PATH", help="write the report as one page with charts")
    parser.add_argument(
        "--trace", type=_file, metavar="PATH", help="write the timeline of stages to this file, for ui.perfetto.dev"
    )
    parser.add_argument(
        "--markdown", type=_file, metavar="PATH", help="write a summary for a CI job to this file, as Markdown"
    )
    group = parser.add_argument_group("limits")
    for name, holders in _limits().items():
        flag = f"--{name.replace('_', '-')}"
        group.add_argument(flag, type=_value, metavar="LIMIT", help=f"held by {', '.join(holders)}")
    return parser


def _limits() -> dict[str, list[str]]:
    """Every limit, with the checks that hold it."""
    found: dict[str, list[str]] = {}
    for check in checks.NAMES:
        for name in checks.limits_of(check):
            found.setdefault(name, []).append(check)
    return found


def _seconds(text: str) -> float:
    try:
        return float(limits.READERS["Seconds"](float(text)))
    except (BadLimit, ValueError):
        raise argparse.ArgumentTypeError(f"expected a number of seconds above 0, got {text!r}") from None


def _file(text: str) -> Path:
    try:
        return disk.destination(text, Path.cwd())
    except ValueError as error:
        raise argparse.ArgumentTypeError(printable(str(error))) from None


def _page(text: str) -> Path:
    try:
        return options.page_file(text, "", Path.cwd())
    except ValueError as error:
        raise argparse.ArgumentTypeError(printable(str(error))) from None


def _value(text: str) -> object:
    """A limit as it would stand in pyproject.toml: a number, a list with commas, or text."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text.split(",") if "," in text else text


def _show(report: Report, given: argparse.Namespace) -> int:
    """Print the summary and write the files asked for; 0, or the status of one that cannot be written."""
    watched = sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if watched or "COLUMNS" in os.environ else None
    colours = watched and not os.environ.get("NO_COLOR")
    for line in report.lines(width, bars.ink_for(sys.stdout.encoding)):
        print(encodable(painted(line, colours=colours), sys.stdout.encoding))
    status = _PASSED
    asked: dict[writers.Format, Path | None] = {
        "json": given.json,
        "html": given.html,
        "trace": given.trace,
        "markdown": given.markdown,
    }
    for form, path in asked.items():
        if path is not None and (wrong := writers.write_report(form, path, report.records)):
            print(printable(f"--{form}: {wrong}"), file=sys.stderr)
            status = _NOT_RUN
    return status


def _tell_github(report: Report, given: argparse.Namespace, build: Any) -> None:
    """Annotations on the function that made the loader, and the summary of the job, where there is one."""
    if github.is_asked(os.environ):
        place = _place_of(build)
        for command in github.commands([(record, place) for record in report.records], strict=given.strict):
            print(encodable(command, sys.stdout.encoding))
    measured = any(record.verdict != "not_measured" for record in report.records)
    if measured and not github.is_summary(given.markdown, os.environ):
        wrong = github.try_summary(
            os.environ, lambda room: markdown.report_document(report.records, environment(), room)
        )
        if wrong:
            print(printable(wrong), file=sys.stderr)


def _place_of(build: Any) -> github.AnnotationLocation:
    """Where a function is written; nowhere for what has no code of its own."""
    try:
        code = inspect.unwrap(build).__code__
    except Exception:  # whatever a callable of the user's makes of being asked
        return github.AnnotationLocation()
    if not isinstance(code, CodeType):
        return github.AnnotationLocation()
    return github.location_of(Path(code.co_filename), code.co_firstlineno, os.environ)


def _status(report: Report, *, strict: bool) -> int:
    missed = any(record.fails(strict=strict) for record in report.records)
    return _FAILED if missed else _PASSED if report.passed else _NOT_RUN
