"""Fixes as text edits: chosen so that none overlap, applied by position, shown, and written whole or not at all."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import re
import stat
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO

from dl_lint.source.disk import digest
from dl_lint.source.text import NEWLINE, line_starts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from dl_lint.engine.report import Reported
    from dl_lint.rule import Edit
    from dl_lint.source.file import Source
    from dl_lint.source.positions import Span


def choose(findings: Iterable[Reported], *, unsafe: bool, paths: Collection[str]) -> list[Reported]:
    """The findings to fix in one pass: each with its whole fix in ``paths`` and clear of those chosen before."""
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

    name = _quoted(path)
    for line in unified_diff(_lines(before), _lines(after), name, name, n=3):
        yield line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"


def _quoted(path: str) -> str:
    """The name of a file as git writes it into a diff, where it holds what is no printable character."""
    if path.isprintable() and not set(path) & set('"\\'):
        return path
    escaped = (chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:03o}" for byte in os.fsencode(path))
    return f'"{"".join(escaped)}"'


def _lines(text: str) -> list[str]:
    """Split at line feeds only, as diffs are."""
    return [line + "\n" for line in text.split("\n")[:-1]] + (
        [text.rpartition("\n")[2]] if not text.endswith("\n") and text else []
    )


class Changed(Exception):
    """The file is no longer what was linted."""


def write(path: str, before: bytes, after: bytes) -> None:
    """Replace the file's content in one step, keeping its mode; a link keeps pointing where it did.

    Raises Changed if it does not hold ``before`` any more or another run is at it, OSError if it cannot be written.
    """
    target = os.path.realpath(path)
    with open(target, "rb") as file:
        _lock(file.fileno())  # while this is held, no other run takes the file for a stray, whatever its name
        seen = os.fstat(file.fileno())
        if file.read() != before:
            raise Changed
        if not os.access(target, os.W_OK):  # renaming over it would get around its protection
            raise PermissionError(13, "Permission denied", path)
        temporary = os.path.join(os.path.dirname(target), f".dl-lint-{digest(target, before)}-{os.getpid()}.tmp")
        with _filled(temporary, after, seen):
            _put_in_place(temporary, target, before, after)


def _filled(temporary: str, content: bytes, like: os.stat_result) -> BinaryIO:
    """A new file of another's owner and mode, locked while it is open. None is left where that fails."""
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    file = open(handle, "wb")  # noqa: SIM115  (closed by who asked for it)
    try:
        _lock(handle)
        file.write(content)
        file.flush()
        with suppress(PermissionError):  # only root may keep another's name on it
            os.fchown(handle, like.st_uid, like.st_gid)
        os.fchmod(handle, stat.S_IMODE(like.st_mode))
        os.fsync(handle)
    except BaseException:
        _discard(temporary)
        with suppress(OSError):  # a full disk, for what could not be flushed
            file.close()
        raise
    return file


def _discard(temporary: str) -> None:
    with suppress(OSError):
        os.unlink(temporary)


def _lock(handle: int) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise Changed from None


_OURS = re.compile(r"\.dl-lint-([0-9a-f]{32})-[0-9]+\.tmp")


def sweep(folder: str) -> None:
    """Delete what runs that were killed have left in a folder. Nothing else has such a name: it is made of a file
    beside it and of what that holds, or held until it changed places with this one."""
    with suppress(OSError):
        entries = [entry for entry in os.scandir(os.path.realpath(folder)) if entry.is_file(follow_symlinks=False)]
        for entry in entries:
            name = _OURS.fullmatch(entry.name)
            if name is not None:
                with suppress(OSError, Changed), open(entry.path, "rb") as file:
                    _lock(file.fileno())
                    held = file.read()
                    targets = [other.path for other in entries if other is not entry]
                    if any(name[1] in (digest(one, held), digest(one, _content(one))) for one in targets):
                        os.unlink(entry.path)


def _put_in_place(temporary: str, target: str, before: bytes, after: bytes) -> None:
    """Let two files change places in one step, and back if the one that comes out is not what was linted, so that
    whatever an editor saved meanwhile stays. Raises Changed."""
    try:
        if not _exchanged(temporary, target):  # a race of microseconds is left
            if _content(target) != before:
                raise Changed
            os.replace(temporary, target)
            return
    except BaseException:
        _discard(temporary)
        raise
    if _content(temporary) == before:
        _discard(temporary)
        return
    _give_back(temporary, target, after)  # if that fails, what the editor saved is left where it is
    _discard(temporary)
    raise Changed


def _give_back(temporary: str, target: str, after: bytes) -> None:
    """Put what an editor has saved back under its name, or what it has saved since."""
    while True:
        try:
            _exchanged(temporary, target)
            if _content(temporary) == after:
                return
        except FileNotFoundError:  # the editor has taken our file away, and may put one of its own there at any moment
            with suppress(FileExistsError):
                os.link(temporary, target)
                return


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


AT_FDCWD, RENAME_EXCHANGE = -100, 2


def _exchanged(one: str, other: str) -> bool:
    """Make two names change places; False where the system or the file system cannot. Raises OSError."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if sys.platform == "linux" else None
    if rename is None:
        return False
    if rename(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.EINVAL, errno.ENOSYS):
        return False
    raise OSError(number, os.strerror(number), other)
