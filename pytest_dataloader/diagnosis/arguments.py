"""What the subcommands of ``pytest-dataloader`` share of their command lines: options, limits, and mistakes told."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from pytest_dataloader import checks
from pytest_dataloader.errors import BadLimit
from pytest_dataloader.printable import did_you_mean, printable
from pytest_dataloader.probe.host import disk
from pytest_dataloader.settings import limits, options

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

COMMAND = "pytest-dataloader"


class CommandParser(argparse.ArgumentParser):
    """A parser of one subcommand: its options are written out, and one that is misspelt is told the closest."""

    def __init__(self, name: str, description: str, examples: Sequence[str], statuses: str, usage: str = "") -> None:
        listed = "\n".join(f"  {COMMAND} {example}" for example in examples)
        super().__init__(
            prog=f"{COMMAND} {name}".rstrip(),
            usage=f"%(prog)s {usage}" if usage else None,
            description=description,
            epilog=f"examples:\n{listed}\n\nexit status: {statuses}\n",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """What the words mean; ends with status 2 where they mean nothing."""
        given, unknown = self.parse_known_args(words)
        if unknown:
            known = self._option_string_actions
            hints = (did_you_mean(word.partition("=")[0], known) for word in unknown if word.startswith("--"))
            self.error(f"unrecognized arguments: {' '.join(unknown)}{next(filter(None, hints), '')}")
        return given

    def error(self, message: str) -> NoReturn:
        super().error(printable(message))


def add_measuring(parser: argparse.ArgumentParser, names: Iterable[str], *, budget: str) -> None:
    """Which checks of ``names`` run, how long each measures (``budget``), and what fails."""
    parser.add_argument(
        "--checks",
        type=lambda text: re.split(r"[,\s]+", text.strip(", ")),
        metavar="NAMES",
        help=f"only these, such as memory,order; all are {', '.join(names)}",
    )
    parser.add_argument("--seconds", type=seconds, metavar="N", help=f"measuring budget of a check ({budget})")
    parser.add_argument("--strict", action="store_true", help="what is inconclusive, or was not seen, fails too")


def add_files(parser: argparse.ArgumentParser) -> None:
    """How much of a report is shown, and the files that it is written to."""
    parser.add_argument(
        "-v", "--verbose", action="count", default=0, help="show all checks with charts; -vv all evidence too"
    )
    parser.add_argument("--json", type=file, metavar="PATH", help="write evidence and verdicts to this file")
    parser.add_argument("--html", type=_page, metavar="PATH", help="write the report as one page with charts")
    parser.add_argument(
        "--markdown", type=file, metavar="PATH", help="write a summary for a CI job to this file, as Markdown"
    )


def add_limits(parser: argparse.ArgumentParser, names: Iterable[str]) -> None:
    """An option for each limit of the checks ``names``."""
    group = parser.add_argument_group("limits")
    for name, holders in limits_with_checks(names).items():
        flag = f"--{name.replace('_', '-')}"
        told = f"{limits.DESCRIPTIONS[name]} ({', '.join(holders)})".replace("%", "%%")
        group.add_argument(flag, type=_value, metavar=checks.limits_of(holders[0])[name].metavar, help=told)


def limits_given(given: argparse.Namespace, names: Iterable[str]) -> dict[str, Any]:
    """The limits among what was given."""
    return {name: value for name in limits_with_checks(names) if (value := getattr(given, name, None)) is not None}


def limits_with_checks(names: Iterable[str]) -> dict[str, list[str]]:
    """Every limit of some checks, with those that hold it."""
    found: dict[str, list[str]] = {}
    for check in names:
        for name in checks.limits_of(check):
            found.setdefault(name, []).append(check)
    return found


def seconds(text: str) -> float:
    try:
        return float(limits.LIMIT_KINDS["Seconds"].read(float(text)))
    except (BadLimit, ValueError):
        raise argparse.ArgumentTypeError(f"expected a number of seconds above 0, got {text!r}") from None


def file(text: str) -> Path:
    """Where a file is to be written, found out at once."""
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
