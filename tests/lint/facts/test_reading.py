"""What reading costs in imports, and what it says of files that are not Python."""

from __future__ import annotations

import subprocess
import sys

import pytest
from dl_lint.facts import read
from dl_lint.source import Source, SourceError


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a\nb = (1,\n", 2, "syntax error: something is left open"),
        ("a\n\nprint 'a'\nb\n", 3, "syntax error at column 9"),
        ("if a:\nb\n", 2, "syntax error at column 1: expected INDENT"),
        ("def f(:\n pass\n", 2, "syntax error at column 1: expected ), *, **, NAME"),
        ("a\nb = 'c\nd\n", 2, "syntax error: unterminated string literal"),
        ("a\n\nb = $\n", 3, "syntax error: '$' is not a valid character in this position"),
        ("a\n'''\n\n", 2, "syntax error: unterminated triple-quoted string literal"),
        ("x = 08\n", None, "syntax error: leading zeros in decimal integer literals are not permitted"),
        ("if a:\n\tb\n        c\n", None, "syntax error: inconsistent mixing of tabs and spaces"),
        ("exec 'a' in b\n", 1, "syntax error at column 9"),
    ],
)
def test_a_syntax_error_is_told_in_one_line_with_its_place(text: str, line: int | None, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        read(Source.of("a.py", text.encode()))
    assert (caught.value.line, caught.value.path) == (line, "a.py")
    assert caught.value.message.startswith(message)
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < 160


def modules_after(code: str) -> set[str]:
    command = f"{code}\nimport sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_a_run_whose_facts_are_all_cached_imports_no_parser() -> None:
    loaded = modules_after(
        "from dl_lint.facts import FileFacts, read, store, tokens, tree\n"
        "from dl_lint.source import Source\n"
        "tokens.might_matter(Source.of('a.py', b'x').data)\n"
        "store.decode(store.encode(FileFacts((), (), ())))"
    )
    assert "dl_lint.facts.store" in loaded
    assert not {name for name in loaded if name.partition(".")[0] == "libcst"}


READ = "from dl_lint.facts import read\nfrom dl_lint.source import Source\nread(Source.of('a.py', {!r}))"


def test_what_this_python_can_parse_needs_no_libcst() -> None:
    loaded = modules_after(READ.format(b'match a:\n  case B(c=[1, *d]): e = f"{g}"'))
    assert "dl_lint.facts.lower" in loaded
    assert not {name for name in loaded if name.partition(".")[0] == "libcst"}


# As a Python that does not know the syntax, whichever runs the tests.
UNREAD = "from dl_lint.facts import lower\nlower.parse = lambda code: None\n"


def test_parsing_needs_none_of_the_slow_parts_of_libcst() -> None:
    loaded = modules_after(UNREAD + READ.format(b"lazy = 1\ntype a[*b] = c\ntry: d\nexcept* e: f'{g['h']}'\n"))
    assert "libcst" in loaded
    assert not {name for name in loaded if name.startswith(("libcst.matchers", "libcst.codemod"))}


def test_lowering_uses_no_visitors_and_no_metadata() -> None:
    """They would cost ten times what parsing does; libcst imports its metadata package itself."""
    code = (
        "import libcst.metadata, libcst\n"
        "def forbidden(*args, **kwargs): raise AssertionError\n"
        "libcst.metadata.MetadataWrapper.__init__ = forbidden\n"
        "libcst.CSTNode.visit = forbidden\n"
        "libcst.Module.visit = forbidden\n"
        "from dl_lint.facts import read\n"
        "from dl_lint.source import Source\n"
        "import dl_lint.facts.lower as module\n"
        "assert read(Source.read(module.__file__)).body"
    )
    assert "dl_lint.facts.lower" in modules_after(code)
