"""Reading files: encodings, line ends, and what is said of a file that cannot be read."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from dl_lint.source.file import Source
from dl_lint.source.text import SourceError, line_starts

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("data", "encoding", "text"),
    [
        (b"", "utf-8", ""),
        ("é = 1\n".encode(), "utf-8", "é = 1\n"),
        (b"\xef\xbb\xbfx = 1\n", "utf-8", "x = 1\n"),
        (b"\xef\xbb\xbf# -*- coding: utf-8 -*-\nx = 1\n", "utf-8", "# -*- coding: utf-8 -*-\nx = 1\n"),
        (b"# -*- coding: latin-1 -*-\nx = '\xe9'\n", "iso8859-1", "# -*- coding: latin-1 -*-\nx = 'é'\n"),
        (b"# -*- coding: future_fstrings -*-\nf'{a}'\n", "utf-8", None),
        (b"#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\n'\x80'\n", "cp1252", None),
        (b"\x0c\n# coding: koi8-r\n'\xd6'\n", "koi8-r", "\x0c\n# coding: koi8-r\n'ж'\n"),
        (b"#!x\r\n# coding=latin-1\r\n'\xe9'\r\n", "iso8859-1", "#!x\r\n# coding=latin-1\r\n'é'\r\n"),
        (b"#!x\r# coding=latin-1\r'\xe9'\r", "iso8859-1", "#!x\r# coding=latin-1\r'é'\r"),
        (b"x = 1\n# coding: latin-1\n", "utf-8", "x = 1\n# coding: latin-1\n"),
        (b"\n\n# coding: latin-1\n", "utf-8", "\n\n# coding: latin-1\n"),
        (b"x = 'coding: latin-1'\n", "utf-8", "x = 'coding: latin-1'\n"),
    ],
)
def test_a_file_is_decoded_as_python_would(data: bytes, encoding: str, text: str | None) -> None:
    source = Source.of("a.py", data)
    assert source.encoding == encoding
    assert source.text == text or text is None
    assert source.data == data
    assert source.encode(source.text) == data


@pytest.mark.parametrize(
    ("data", "line", "message"),
    [
        (b"x = 1\ny = '\xff'\n", 2, "is not utf-8: byte 0xff cannot be decoded"),
        (b"\xef\xbb\xbfa\r\nb\rc\xe9\n", 3, "is not utf-8: byte 0xe9 cannot be decoded"),
        (b"x = 1\n\0", 2, "holds a NUL byte, so it is not Python"),
        (b"#!x\n# coding: klingon\n", 2, "declares the unknown encoding 'klingon'"),
        (b"# coding: rot13\n", 1, "declares 'rot13', which is not a text encoding"),
        (b"# coding: hex\n", 1, "declares 'hex', which is not a text encoding"),
        (
            b"\xef\xbb\xbf# coding: latin-1\n",
            1,
            "declares the encoding 'latin-1' but starts with a UTF-8 byte order mark",
        ),
        ("x = 1\n".encode("utf-16"), 1, "is not utf-8: byte 0xff cannot be decoded"),
        (b"# coding: ascii\n'\xe9'\n", 2, "is not ascii: byte 0xe9 cannot be decoded"),
        (b"# coding: undefined\n", None, "is not undefined: "),
    ],
)
def test_a_file_that_is_not_text_says_why_and_where(data: bytes, line: int | None, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        Source.of("pkg/a.py", data)
    error = caught.value
    assert (error.path, error.line) == ("pkg/a.py", line)
    assert error.message.startswith(message)
    assert str(error) == (f"pkg/a.py:{line}: {error.message}" if line else f"pkg/a.py: {error.message}")
    assert "\n" not in str(error)


def test_a_file_that_cannot_be_opened_says_why(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be read: no such file or directory"):
        Source.read(str(tmp_path / "absent.py"))
    with pytest.raises(SourceError, match="cannot be read: is a directory"):
        Source.read(str(tmp_path))
    with pytest.raises(SourceError, match="cannot be read: embedded null byte"):
        Source.read("a\0.py")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_without_permission_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("x = 1\n")
    path.chmod(0)
    with pytest.raises(SourceError, match="cannot be read: permission denied"):
        Source.read(str(path))


@pytest.mark.parametrize(
    ("data", "newline"), [(b"", "\n"), (b"x", "\n"), (b"x\ny\r\n", "\n"), (b"x\r\ny\n", "\r\n"), (b"x\ry\r", "\r")]
)
def test_the_newline_is_the_first_one_of_the_file(data: bytes, newline: str) -> None:
    assert Source.of("a.py", data).newline == newline


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        ("", [0]),
        ("a", [0]),
        ("a\nbc\n", [0, 2, 5]),
        ("a\r\nb\rc\n", [0, 3, 5, 7]),
        ("a\x0cb\x0b\u2028c\nd", [0, 7]),
    ],
)
def test_lines_end_where_python_ends_them(text: str, starts: list[int]) -> None:
    assert line_starts(text) == starts


def test_text_that_the_encoding_lacks_cannot_be_written_back() -> None:
    source = Source.of("a.py", b"# coding: latin-1\n")
    with pytest.raises(UnicodeEncodeError):
        source.encode("ж")
