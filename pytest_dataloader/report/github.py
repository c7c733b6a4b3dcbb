"""What GitHub Actions takes from a step: annotations on lines of files, and a summary for the page of the job."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_dataloader.printable import printable
from pytest_dataloader.quantities import counted
from pytest_dataloader.report import files, markdown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from pytest_dataloader.record import Record

MOST_ANNOTATIONS = 10
"""GitHub shows as many of a kind for each step, and drops the others without a word."""
_MOST_CHARACTERS = 4_000
_LEAST_ROOM = 4_000
"""Bytes that a summary needs to say anything."""


@dataclass(frozen=True, slots=True)
class AnnotationLocation:
    """Where a loader is declared or measured: a file, empty where there is none, and a line, from 1, or 0."""

    file: str = ""
    line: int = 0


def is_asked(environ: Mapping[str, str]) -> bool:
    """Whether somebody reads annotations: this is a step of GitHub Actions."""
    return environ.get("GITHUB_ACTIONS") == "true"


def location_of(path: Path, line: int, environ: Mapping[str, str]) -> AnnotationLocation:
    """A line, from 1, of a file, which is named from the root of the checkout, as GitHub names files."""
    if not path.is_file():
        return AnnotationLocation()
    root, file = Path(environ.get("GITHUB_WORKSPACE") or Path.cwd()), Path(os.path.normpath(path))
    return AnnotationLocation(file.relative_to(root).as_posix() if file.is_relative_to(root) else str(file), line)


def commands(records: Iterable[tuple[Record, AnnotationLocation]], *, strict: bool) -> Iterator[str]:
    """A workflow command for each failure, and for what is inconclusive: no more than are shown, the last counts."""
    found: dict[str, list[tuple[Record, AnnotationLocation]]] = {"error": [], "warning": []}
    for record, place in records:
        if record.fails(strict=strict):
            found["error"].append((record, place))
        elif record.verdict == "inconclusive":
            found["warning"].append((record, place))
    for level, each in found.items():
        shown = each if len(each) <= MOST_ANNOTATIONS else each[: MOST_ANNOTATIONS - 1]
        for record, place in shown:
            yield _command(level, f"{record.id}: {record.check}", _message(record), place)
        if len(each) > len(shown):
            more, word = len(each) - len(shown), "failed" if level == "error" else "inconclusive"
            told = f"{counted(more, 'more check')} {word}; the log and the summary of the job have them all"
            yield _command(level, f"{more:,} more {word}", told, AnnotationLocation())


def summary_of(environ: Mapping[str, str]) -> Path | None:
    """The file that the page of the job is made of; None where there is none."""
    named = environ.get("GITHUB_STEP_SUMMARY", "").strip()
    return Path(named) if named else None


def is_summary(path: Path | None, environ: Mapping[str, str]) -> bool:
    """Whether a path is that of the job's summary, which others write to as well."""
    summary = summary_of(environ)
    return None not in (path, summary) and os.path.realpath(str(path)) == os.path.realpath(str(summary))


def write_markdown(path: Path, environ: Mapping[str, str], build: Callable[[int], str]) -> None:
    """Write to a file what ``build`` makes of a number of bytes; to the job's summary it is added. Raises OSError."""
    if is_summary(path, environ):
        append_summary(path, build)
    else:
        files.write_text(path, build(markdown.MOST_BYTES))


def try_summary(environ: Mapping[str, str], build: Callable[[int], str]) -> str:
    """Add to the job's summary, where there is one; what went wrong, in a line, as no run fails for it."""
    path = summary_of(environ)
    try:
        if path is not None:
            append_summary(path, build)
    except OSError as error:
        return f"GITHUB_STEP_SUMMARY: cannot write {path}: {error.strerror or error}"
    return ""


def append_summary(path: Path, build: Callable[[int], str]) -> None:
    """Add to the job's summary what ``build`` makes of the bytes that are left in it.

    Raises OSError, also where so much is in it that GitHub would refuse the whole.
    """
    try:
        room = markdown.MOST_BYTES - path.stat().st_size
    except FileNotFoundError:
        room = markdown.MOST_BYTES
    if room < _LEAST_ROOM:
        raise OSError(0, "it is full: GitHub takes 1 MiB for a step", str(path))
    files.append(path, build(room))


def _message(record: Record) -> str:
    advice = (": ".join(filter(None, (each.code, each.text))) for each in record.advice)
    return "\n".join([record.reason, *advice])


def _command(level: str, title: str, message: str, place: AnnotationLocation) -> str:
    located = {"file": place.file, "line": str(place.line)} if place.file and place.line else {"file": place.file}
    properties = {**{key: value for key, value in located.items() if value}, "title": f"dataloader {title}"}
    told = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{level} {told}::{_data(_shortened(message))}"


def _data(text: str) -> str:
    return "%0A".join(printable(line.replace("%", "%25")) for line in text.split("\n"))


def _property(text: str) -> str:
    return _data(_shortened(text)).replace(":", "%3A").replace(",", "%2C")


def _shortened(text: str) -> str:
    return text if len(text) <= _MOST_CHARACTERS else f"{text[: _MOST_CHARACTERS - 3]}..."
