"""One file as it is read: its bytes, its encoding, its text."""

from __future__ import annotations

import codecs
import re
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from dl_lint.source import disk
from dl_lint.source.text import NEWLINE, SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.source.notebook import Notebook, Replacement

BOM = codecs.BOM_UTF8

# PEP 263: a comment on the first line, or on the second below a line that is blank or a comment.
_COOKIE = re.compile(rb"(?:[ \t\f]*(?:#[^\r\n]*)?(?:\r\n|\r|\n))?[ \t\f]*#[^\r\n]*?coding[:=][ \t]*([-\w.]+)", re.ASCII)

_REWRITING = {"future_fstrings": "utf-8", "future_annotations": "utf-8"}
"""Encodings of packages that rewrite new syntax for old Pythons, and what the bytes of their files are."""


class Source(NamedTuple):
    """A file's bytes and what they say; ``text`` has no byte order mark and keeps its line ends.

    The text of a notebook is that of its code cells, one below the other; ``code`` is the same as Python knows it.
    """

    path: str
    data: bytes
    encoding: str
    text: str
    newline: str
    code: str
    notebook: Notebook | None = None

    @classmethod
    def read(cls, path: str) -> Source:
        """The file at ``path``; raises SourceError if it cannot be read or is not text."""
        return cls.of(path, read_bytes(path))

    @classmethod
    def of(cls, path: str, data: bytes) -> Source:
        """The file ``path`` if it held ``data``; raises SourceError if that is not text."""
        if is_notebook(path):
            from dl_lint.source import notebook

            found = notebook.read(path, _decoded(path, data, "utf-8"))
            return cls(path, data, "utf-8", found.text, "\n", found.code, found)
        encoding = _encoding(path, data)
        text = _decoded(path, data, encoding)
        newline = NEWLINE.search(text)
        return cls(path, data, encoding, text, newline.group() if newline else "\n", text)

    def replaced(self, replacements: list[Replacement]) -> bytes:
        """The file with stretches of its text replaced, which must be in order and apart.

        Raises UnicodeEncodeError for a character that the file's encoding lacks, ValueError for an edit that goes
        through the border of a cell or a line that only IPython knows.
        """
        if self.notebook is not None:
            return self.encode(self.notebook.replaced(replacements))
        pieces, done = [], 0
        for start, stop, text in replacements:
            pieces += [self.text[done:start], text]
            done = stop
        return self.encode("".join(pieces) + self.text[done:])

    def parts(self) -> Iterator[tuple[str, str]]:
        """What people take for one text, under its name: the file, or each cell."""
        if self.notebook is None:
            yield self.path, self.text
        else:
            for number, text in self.notebook.parts():
                yield f"{self.path}:cell {number}", text

    def encode(self, text: str) -> bytes:
        """``text`` as bytes of this file: its encoding, and its byte order mark if it had one.

        Raises UnicodeEncodeError for a character that the file's encoding lacks.
        """
        return (BOM if self.data.startswith(BOM) else b"") + text.encode(self.encoding)


def encoded(text: str) -> bytes:
    """The text of a Python file as its bytes, in the encoding that it declares, if that is a sound one."""
    plain = text.encode("utf-8", "surrogatepass")
    cookie = _COOKIE.match(plain)
    if cookie is not None:
        with suppress(LookupError, UnicodeError):
            return text.encode(cookie.group(1).decode("ascii"))
    return plain


LARGEST_BYTES = 200_000_000
"""Of any file that is read: most of a notebook is pictures, which are read over at 100 MB/s."""


def is_notebook(path: str) -> bool:
    return path.endswith(".ipynb")


def read_bytes(path: str) -> bytes:
    """What the file holds; raises SourceError if it cannot be read."""
    try:
        return disk.read(path, LARGEST_BYTES)
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
        found = codecs.lookup(_REWRITING.get(named.replace("-", "_").lower(), named))
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
