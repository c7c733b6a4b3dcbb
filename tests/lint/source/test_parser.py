"""What reading costs in imports, and what it says of files that are not Python."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from dl_lint.source import parser
from dl_lint.source.file import Source
from dl_lint.source.parser import parse
from dl_lint.source.text import SourceError
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    import ast


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a\nb = (1,\n", 2, "'(' was never closed"),
        ("a\n\nprint 'a'\nb\n", 3, "Missing parentheses in call to 'print'"),
        ("if a:\nb\n", 2, "expected an indented block after 'if' statement on line 1"),
        ("a\nb = 'c\nd\n", 2, "unterminated string literal"),
        ("a\n'''\n\n", 2, "unterminated triple-quoted string literal"),
        ("x = 08\n", 1, "leading zeros in decimal integer literals are not permitted"),
        ("if a:\n\tb\n        c\n", 3, "inconsistent use of tabs and spaces in indentation"),
    ],
)
def test_a_syntax_error_is_told_in_one_line_with_its_place(text: str, line: int | None, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        parse(Source.of("a.py", text.encode()))
    assert (caught.value.line, caught.value.path) == (line, "a.py")
    assert caught.value.message.startswith(f"syntax error for Python {parser.VERSION}: {message}")
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < 160


def modules_after(code: str) -> set[str]:
    command = f"{code}\nimport sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


READ = "from dl_lint.source.parser import parse\nfrom dl_lint.source.file import Source\nparse(Source.of('a.py', {!r}))"


def test_what_this_python_can_parse_needs_no_libcst() -> None:
    loaded = modules_after(READ.format(b'match a:\n  case B(c=[1, *d]): e = f"{g}"'))
    assert "dl_lint.source.parser" in loaded
    assert not {name for name in loaded if name.partition(".")[0] == "libcst"}


@pytest.mark.parametrize("text", ["x = '\\d'\n", "x = b'\\d'\n", "x = '\\777'\n", "x = [0if y else 1]\n"])
def test_warnings_about_the_code_that_is_read_are_not_ours_to_say(text: str, recwarn: pytest.WarningsRecorder) -> None:
    parse(Source.of("a.py", text.encode()))
    assert not recwarn.list


@pytest.mark.parametrize("error", [RecursionError, MemoryError])
def test_what_the_parser_has_no_room_for_is_refused(monkeypatch: pytest.MonkeyPatch, error: type[Exception]) -> None:
    def overflow(_code: str) -> ast.Module:
        raise error

    monkeypatch.setattr(parser, "_parsed", overflow)
    with pytest.raises(SourceError, match="nested too deeply"):
        parse(Source.of("a.py", b"x = 1\n"))


@given(st.text(st.sampled_from("ab1 \n()[]{}:=,.#'\"\\f*+@;\t\r\x0cé"), max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(SourceError):
        parse(Source.of("a.py", text.encode()))
