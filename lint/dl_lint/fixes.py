"""Fixes as text edits: chosen so that none overlap, applied by position, shown, and written whole or not at all."""

from __future__ import annotations

import fcntl
import os
import stat
import tempfile
from contextlib import suppress
from typing import TYPE_CHECKING

from dl_lint.source.text import NEWLINE, line_starts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from dl_lint.engine.report import Reported
    from dl_lint.rule import Edit
    from dl_lint.source.file import Source
    from dl_lint.source.positions import Span


TEMPORARY = ".dl-lint-"


def choose(findings: Iterable[Reported], *, unsafe: bool, paths: Collection[str]) -> list[Reported]:
    """The findings to mend in one pass: each with its whole fix in ``paths`` and clear of those chosen before."""
    taken: dict[str, list[Span]] = {}
    chosen = []
    for reported in findings:
        fix = reported.finding.fix
        if fix is None or not fix.edits or not reported.fixable(unsafe=unsafe):
            continue
        spans = [(edit.place.path, edit.place.span) for edit in fix.edits]
        clear = not any(overlap(span, other) for path, span in spans for other in taken.get(path, ()))
        if clear and all(path in paths for path, _ in spans):
            for path, span in spans:
                taken.setdefault(path, []).append(span)
            chosen.append(reported)
    return chosen


def overlap(one: Span, other: Span) -> bool:
    """Whether two edits could undo each other. Touching ends count, as nobody could say which text comes first."""
    return one[:2] <= other[2:] and other[:2] <= one[2:]


def edits_by_path(chosen: Iterable[Reported]) -> dict[str, list[Edit]]:
    """The edits of chosen findings, file by file."""
    by_path: dict[str, list[Edit]] = {}
    for reported in chosen:
        assert reported.finding.fix is not None
        for edit in reported.finding.fix.edits:
            by_path.setdefault(edit.place.path, []).append(edit)
    return by_path


def apply(source: Source, edits: Iterable[Edit]) -> bytes:
    """The file with edits applied that do not overlap; new lines end as the file's first line does.

    Raises ValueError for a position outside the text, or a character that the file's encoding lacks.
    """
    text = source.text
    starts = line_starts(text)
    replacements = []
    done = 0
    for edit in sorted(edits, key=lambda edit: edit.place.span):
        row, column, end_row, end_column = edit.place.span
        start, end = _offset(starts, row, column, len(text)), _offset(starts, end_row, end_column, len(text))
        if not done <= start <= end:
            raise ValueError(f"edit at {row}:{column + 1} overlaps another")
        replacements.append((start, end, NEWLINE.sub(source.newline, edit.text)))
        done = end
    return source.replaced(replacements)


def _offset(starts: list[int], row: int, column: int, length: int) -> int:
    if not 1 <= row <= len(starts):
        raise ValueError(f"edit at line {row} of {len(starts)}")
    offset = starts[row - 1] + column
    if column < 0 or offset > (starts[row] if row < len(starts) else length):
        raise ValueError(f"edit at column {column + 1} of line {row}, which is shorter")
    return offset


def difference(path: str, before: str, after: str) -> Iterator[str]:
    """A unified diff that ``patch`` and ``git apply`` take, also for a file without a final line end."""
    from difflib import unified_diff

    for line in unified_diff(_lines(before), _lines(after), path, path, n=3):
        yield line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"


def _lines(text: str) -> list[str]:
    """Split at line feeds only, as diffs are."""
    return [line + "\n" for line in text.split("\n")[:-1]] + (
        [text.rpartition("\n")[2]] if not text.endswith("\n") and text else []
    )


def _sweep(folder: str) -> None:
    """Delete what runs that were killed have left; they left it where a fix was due, and so it is due again."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(TEMPORARY) and entry.is_file(follow_symlinks=False):
                with suppress(OSError), open(entry.path, "rb") as file:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    os.unlink(entry.path)


class Changed(Exception):
    """The file is no longer what was linted."""


def write(path: str, before: bytes, after: bytes) -> None:
    """Replace the file's content in one step, keeping its mode; a link keeps pointing where it did.

    Raises Changed if it does not hold ``before`` any more, OSError if it cannot be written.
    """
    target = os.path.realpath(path)
    with open(target, "rb") as file:
        seen = os.fstat(file.fileno())
        if file.read() != before:
            raise Changed
    if not os.access(target, os.W_OK):  # renaming over it would get around its protection
        raise PermissionError(13, "Permission denied", path)
    folder = os.path.dirname(target)
    _sweep(folder)
    handle, temporary = tempfile.mkstemp(prefix=TEMPORARY, dir=folder)
    try:
        with open(handle, "wb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # until it is in place: who can lock it may take it for a stray
            file.write(after)
            file.flush()
            with suppress(PermissionError):  # only root may keep another's name on it
                os.fchown(file.fileno(), seen.st_uid, seen.st_gid)
            os.fchmod(file.fileno(), stat.S_IMODE(seen.st_mode))
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
