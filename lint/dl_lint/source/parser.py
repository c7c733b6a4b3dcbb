"""Reads a file as Python: Python's own parser first, libcst for the syntax of newer versions."""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from dl_lint.source import nesting, positions, suppressions
from dl_lint.source.text import NEWLINE, SourceError

if TYPE_CHECKING:
    from dl_lint.source.file import Source

NESTED = "not analysed: nested too deeply"

_TOO_DEEP = re.compile(r"too many (?:nested parentheses|nested f-strings|levels of indentation)")

# libcst lists all tokens that could follow, which helps nobody.
MOST_EXPECTED = 4

_PARSER_ERROR = re.compile(r"parser error: error at (\d+):(\d+): expected (?:one of )?(.*)")


@dataclass(frozen=True, eq=False)
class Syntax:
    """What a file says as Python: its nodes, whose columns count characters, and its comments."""

    module: ast.Module
    code: str

    @cached_property
    def lines(self) -> list[str]:
        return NEWLINE.split(self.code)

    @cached_property
    def comments(self) -> suppressions.Comments:
        return suppressions.read(self.code)

    def place(self, node: ast.AST) -> positions.Span:
        """What a finding about a node points at."""
        return positions.place(node, self.lines)


def parse(source: Source) -> Syntax:
    """The syntax of a file; raises SourceError for what is no Python."""
    return parse_natively(source) or parse_with_libcst(source)


def parse_natively(source: Source) -> Syntax | None:
    """None where this Python cannot read it: that may be of a newer version. Raises SourceError."""
    try:
        module = _parsed(source.code)
    except (SyntaxError, ValueError) as error:
        if _TOO_DEEP.search(str(error)):
            raise SourceError(source.path, NESTED, getattr(error, "lineno", None)) from None
        return None
    except (RecursionError, MemoryError):
        raise SourceError(source.path, NESTED) from None
    return _syntax(source, module)


def parse_with_libcst(source: Source) -> Syntax:
    """What this Python cannot read. Raises SourceError; on monstrous expressions it may take the process with it."""
    import libcst  # takes 0.2 s, and a hundred times as long as Python's own parser to read a file

    try:
        tree = libcst.parse_module(source.code)
    except libcst.ParserSyntaxError as error:
        raise SourceError(source.path, *_syntax_error(error.message, source.code)) from None
    except libcst.CSTLogicError as error:  # as of libcst 1.9, t-strings side by side
        raise SourceError(source.path, f"not analysed: libcst broke down on it ({error})") from None
    from dl_lint.source import from_libcst

    try:
        return _syntax(source, from_libcst.module(source.code, tree))
    except SyntaxError as error:
        raise SourceError(source.path, f"syntax error: {error.msg}", error.lineno) from None
    except RecursionError:
        raise SourceError(source.path, NESTED) from None


def is_python(data: bytes) -> bool:
    """Whether this Python can read a file."""
    try:
        _parsed(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _parsed(code: str | bytes) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what Python would warn of in the code is not ours to say
        return ast.parse(code)


def _syntax(source: Source, module: ast.Module) -> Syntax:
    try:
        nesting.bound_depth(module)
    except nesting.TooDeep as error:
        raise SourceError(source.path, NESTED, error.line) from None
    found = Syntax(module, source.code)
    if not source.code.isascii():
        positions.count_characters(module, found.lines)
    return found


def _syntax_error(said: str, code: str) -> tuple[str, int | None]:
    """libcst's message in short, and the line; its tokenizer names none, but Python's stumbles there as well."""
    parser_error = _PARSER_ERROR.match(said)
    if parser_error is None:
        reason = said.splitlines()[0].removeprefix("tokenizer error: ") if said else "unknown"
        return f"syntax error: {reason}", _stumbled(code)
    line, column, expected = parser_error.groups()
    last = len(NEWLINE.split(code.rstrip()))
    if int(line) > last:  # the parser reached the end of the file
        return "syntax error: something is left open", last
    if expected.count(",") < MOST_EXPECTED:
        return f"syntax error at column {column}: expected {expected}", int(line)
    return f"syntax error at column {column}", int(line)


def _stumbled(code: str) -> int | None:
    try:
        _parsed(code)
    except SyntaxError as error:
        return error.lineno
    except (ValueError, RecursionError, MemoryError):
        pass
    return None
