"""One file as it is read: its bytes, its encoding, its text."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from itertools import accumulate

BOM = codecs.BOM_UTF8
NEWLINE = re.compile(r"\r\n|\r|\n")

# PEP 263: a comment on the first line, or on the second below a line that is blank or a comment.
_COOKIE = re.compile(rb"(?:[ \t\f]*(?:#[^\r\n]*)?(?:\r\n|\r|\n))?[ \t\f]*#[^\r\n]*?coding[:=][ \t]*([-\w.]+)", re.ASCII)


class SourceError(Exception):
    """A file that cannot be checked, and why, in one line."""

    def __init__(self, path: str, message: str, line: int | None = None) -> None:
        super().__init__(path, message, line)
        self.path = path
        self.message = message
        self.line = line

    def __str__(self) -> str:
        where = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{where}: {self.message}"


@dataclass(frozen=True, slots=True)
class Source:
    """A file's bytes and what they say; ``text`` has no byte order mark and keeps its line ends."""

    path: str
    data: bytes
    encoding: str
    text: str
    newline: str

    @classmethod
    def read(cls, path: str) -> Source:
        """The file at ``path``; raises SourceError if it cannot be read or is not text."""
        return cls.of(path, read_bytes(path))

    @classmethod
    def of(cls, path: str, data: bytes) -> Source:
        """The file ``path`` if it held ``data``; raises SourceError if that is not text."""
        encoding = _encoding(path, data)
        text = _decoded(path, data, encoding)
        newline = NEWLINE.search(text)
        return cls(path, data, encoding, text, newline.group() if newline else "\n")

    def encode(self, text: str) -> bytes:
        """``text`` as bytes of this file: its encoding, and its byte order mark if it had one.

        Raises UnicodeEncodeError for a character that the file's encoding lacks.
        """
        return (BOM if self.data.startswith(BOM) else b"") + text.encode(self.encoding)


def read_bytes(path: str) -> bytes:
    """What the file holds; raises SourceError if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise SourceError(path, f"cannot be read: {reason[:1].lower()}{reason[1:]}") from None


def _encoding(path: str, data: bytes) -> str:
    cookie = _COOKIE.match(data, len(BOM) if data.startswith(BOM) else 0)
    if cookie is None:
        return "utf-8"
    named = cookie.group(1).decode("ascii")
    line = 1 + len(NEWLINE.findall(data[: cookie.start(1)].decode("latin-1")))
    try:
        found = codecs.lookup(named)
    except LookupError:
        raise SourceError(path, f"declares the unknown encoding {named!r}", line) from None
    if not getattr(found, "_is_text_encoding", True):
        raise SourceError(path, f"declares {named!r}, which is not a text encoding", line)
    if data.startswith(BOM) and found.name != "utf-8":
        raise SourceError(path, f"declares the encoding {named!r} but starts with a UTF-8 byte order mark", line)
    return found.name


def _decoded(path: str, data: bytes, encoding: str) -> str:
    start = len(BOM) if data.startswith(BOM) else 0
    try:
        text = data[start:].decode(encoding)
    except UnicodeDecodeError as error:
        before = data[: start + error.start]
        line = 1 + len(NEWLINE.findall(before.decode("latin-1")))
        message = f"is not {encoding}: byte 0x{data[start + error.start]:02x} cannot be decoded"
        raise SourceError(path, message, line) from None
    except (UnicodeError, ValueError) as error:
        raise SourceError(path, f"is not {encoding}: {error}") from None
    if "\0" in text:
        line = 1 + len(NEWLINE.findall(text[: text.index("\0")]))
        raise SourceError(path, "holds a NUL byte, so it is not Python", line)
    return text


def line_starts(text: str) -> list[int]:
    """Offset of the first character of each line; lines end as Python ends them, not at form feeds."""
    if "\r" in text:
        return [0, *(end.end() for end in NEWLINE.finditer(text))]
    return list(accumulate(map((1).__add__, map(len, text.split("\n")[:-1])), initial=0))
