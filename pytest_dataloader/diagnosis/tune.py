"""``pytest-dataloader tune MODULE:ATTR``: the settings that make one loader fastest here."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_dataloader import checks, loaders, progress
from pytest_dataloader.diagnosis import output
from pytest_dataloader.diagnosis.arguments import CommandParser, add_files, limits_given, seconds
from pytest_dataloader.diagnosis.check import measure_named
from pytest_dataloader.diagnosis.report import Report
from pytest_dataloader.diagnosis.runner import Runner, Subject
from pytest_dataloader.errors import BadLimit, BadTarget
from pytest_dataloader.probe.host import interruption
from pytest_dataloader.settings import targets
from pytest_dataloader.settings.options import DEFAULT_SECONDS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

NAME = "tune"
_CHECKS = (NAME,)
_EXAMPLES = (
    "tune train:make_loader",
    "tune proj.data:make_loader --step-ms 35 --seconds 20",
    "tune proj/data.py:make_loader --json tuned.json -- --batch-size 64",
)


def main(arguments: Sequence[str]) -> int:
    """Tune what the arguments name and print the table; the status to exit with."""
    return measure_named(arguments, _parser(), _tune)


def _tune(given: argparse.Namespace) -> int:
    roots, watched = targets.import_roots(Path.cwd()), progress.StandaloneLine(sys.stderr)
    setting = checks.Setting(given.seconds or DEFAULT_SECONDS, bench=True)
    runner = Runner(setting, progress=lambda label: lambda what, share: watched.show(f"{label}: {what}", share))
    subject = stopped = None
    try:
        limits = checks.read_limits(NAME, limits_given(given, _CHECKS))
        with loaders.importable(roots):
            loader, build = loaders.build(given.loader, roots)
            subject = Subject(given.loader, given.loader, loader, build)
            seen = runner.run(subject, NAME, limits)
            evidence, verdict = seen.evidence, seen.verdict
    except (BadTarget, BadLimit) as error:
        output.say(f"pytest-dataloader {NAME}: {error}", sys.stderr)
        return output.EXIT_NOT_RUN
    except KeyboardInterrupt as stop:
        stopped, evidence = stop, runner.known
        if subject is None or evidence is None:
            output.say(f"pytest-dataloader {NAME}: interrupted", sys.stderr)
            return output.EXIT_NOT_RUN
        verdict = checks.judge(NAME, evidence, limits=limits)
    with interruption.finishing():
        watched.clear()
        report = Report((subject.record(NAME, limits, evidence, verdict),), {})
        shown = output.show_report(report, given, sys.stdout)
    return shown or (output.EXIT_NOT_RUN if stopped is not None else output.status_of(report, strict=False))


def _parser() -> CommandParser:
    parser = CommandParser(
        NAME,
        "Measure a loader with more and more workers, other batch sizes and pinning, and print the line to paste.",
        _EXAMPLES,
        "0 where something is recommended, 2 where nothing could be measured",
        "MODULE:ATTR [options] [-- ARGS...]",
    )
    parser.add_argument(
        "loader", metavar="MODULE:ATTR", help="a DataLoader, or a callable that returns one; it finds ARGS in sys.argv"
    )
    parser.add_argument("--seconds", type=seconds, metavar="N", help="measuring budget (5)")
    parser.add_argument(
        "--step-ms", type=float, metavar="NUMBER", help="recommend no more workers than a step of so long needs"
    )
    add_files(parser)
    return parser
