"""The list of events of a Chrome trace, read one after the other, so that its file may be larger than the memory.

Profilers have written what JSON does not allow, and their viewers refuse: ``inf`` as a bandwidth (pytorch/kineto#105),
backslashes of paths (pytorch/kineto#336), control characters in names (pytorch/pytorch#130622). It is read here.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from typing import TYPE_CHECKING, Any, TextIO

from pytest_dataloader.errors import BadTrace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_CHUNK = 1 << 20
_LONGEST = 1 << 26
"""Characters of one event, or of all else in the document: a call stack of a deep model has some 20,000."""
_TAIL = 16
"""Where decoding fails so close to the end of the window, its value goes on behind it."""
_SPACE = re.compile(r"[\s,]*")
_NUMBER = re.compile(r"(?<=[:\s\[])(-?)(?:inf|nan)\b")
_BACKSLASH = re.compile(r'\\(?:(["\\/bfnrt]|u[0-9a-fA-F]{4})|)')
_GZIP = b"\x1f\x8b"


def read_events(path: Path, about: dict[str, Any] | None = None) -> Iterator[dict[str, Any]]:
    """Each event of the trace in a file, compressed or not, in the order of the file.

    ``about`` gets what else the document says, once all events are read. Raises BadTrace, which names the file and the
    place, for one that cannot be read to its end.
    """
    try:
        with path.open("rb") as raw:
            packed = raw.read(2) == _GZIP
        # Not UTF-8 in a name of a kernel is no reason to read nothing.
        how: dict[str, Any] = {"mode": "rt", "encoding": "utf-8", "errors": "replace"}
        with gzip.open(path, **how) if packed else path.open(**how) as file:
            yield from _Stream(file, path, {} if about is None else about).events()
    except EOFError:
        raise BadTrace(f"{path} is cut off: its compressed data ends too early") from None
    except (OSError, zlib.error) as error:  # gzip's own are some
        raise BadTrace(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None


class _Stream:
    """A document of which a window is in memory."""

    def __init__(self, file: TextIO, path: Path, about: dict[str, Any]) -> None:
        self._file, self._path, self._about = file, path, about
        self._text, self._at, self._passed = "", 0, 0
        self._ended = self._repairs = False
        self._decode = json.JSONDecoder(strict=False).raw_decode

    def events(self) -> Iterator[dict[str, Any]]:
        """The events of a document: those of its key "traceEvents", or of a list of events alone."""
        start = self._next()
        if start == "[":
            yield from self._list()
        elif start == "{":
            yield from self._object()
        else:
            raise BadTrace(f"{self._path} is no trace: it is neither an object nor a list of events")

    def _object(self) -> Iterator[dict[str, Any]]:
        self._at += 1
        found = False
        while (ahead := self._next()) != "}":
            if not ahead:
                raise self._cut_off()
            key = self._value()
            if self._next() != ":":
                raise self._broken("expected a key and its value")
            self._at += 1
            if key == "traceEvents" and self._next() == "[":
                found = True
                yield from self._list()
            else:
                self._about[str(key)] = self._value()
        if not found:
            raise BadTrace(f"{self._path} is no trace: it has no list of traceEvents")

    def _list(self) -> Iterator[dict[str, Any]]:
        self._at += 1
        while (ahead := self._next()) != "]":
            if not ahead:
                raise self._cut_off()
            event = self._value()
            if isinstance(event, dict):
                yield event
        self._at += 1

    def _next(self) -> str:
        """The character that comes next, spaces and commas left out; empty at the end."""
        while True:
            match = _SPACE.match(self._text, self._at)
            self._at = match.end() if match else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def _value(self) -> Any:
        self._next()
        while True:
            try:
                value, end = self._decode(self._text, self._at)
            except json.JSONDecodeError as error:
                reason, failed_at = error.msg, error.pos
                if error.msg.startswith("Unterminated"):
                    failed_at = len(self._text)
            except RecursionError:
                raise self._broken("nested too deeply") from None
            else:
                # A number may go on behind the window.
                if end < len(self._text) or self._ended:
                    self._at = end
                    return value
                reason, failed_at = "a value without an end", end
            if len(self._text) - self._at > _LONGEST:
                raise self._broken(reason)
            if failed_at > len(self._text) - _TAIL and self._more():
                continue
            if not self._repair():
                raise self._cut_off() if failed_at >= len(self._text.rstrip()) else self._broken(reason)

    def _repair(self) -> bool:
        """From here on write what comes as JSON would have it, once it turned out to be something else."""
        if self._repairs:
            return False
        self._repairs = True
        self._passed += self._at
        self._text, self._at = repaired(self._text[self._at :]), 0
        return True

    def _more(self) -> bool:
        """Read on, and forget what has been read; False at the end."""
        if self._ended:
            return False
        # As much again as is there, so that a long value is not decoded from its beginning for every chunk; and to the
        # end of a line, so that no escape or number is cut.
        more = self._file.read(max(_CHUNK, len(self._text) - self._at)) + self._file.readline(_CHUNK)
        self._passed += self._at
        self._text, self._at = self._text[self._at :] + (repaired(more) if self._repairs else more), 0
        self._ended = not more
        return bool(more)

    def _cut_off(self) -> BadTrace:
        return BadTrace(f"{self._path} is cut off after {self._passed + len(self._text):,} characters")

    def _broken(self, reason: str) -> BadTrace:
        return BadTrace(f"{self._path} is no JSON at character {self._passed + self._at:,}: {reason}")


def repaired(text: str) -> str:
    r"""JSON of a text that has numbers and backslashes which JSON does not know.

    >>> print(repaired(r'{"bandwidth": inf, "file": "C:\work\t.py", "quoted": "\\server"}'))
    {"bandwidth": Infinity, "file": "C:\\work\t.py", "quoted": "\\server"}
    """
    numbers = _NUMBER.sub(lambda found: f"{found[1]}Infinity", text)
    return _BACKSLASH.sub(lambda found: found[0] if found[1] else r"\\", numbers)
