"""Reads a file as Python, with the parser of the Python that runs dl-lint."""

from __future__ import annotations

import ast
import re
import sys
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from dl_lint.source import nesting, positions, suppressions
from dl_lint.source.text import NEWLINE, SourceError

if TYPE_CHECKING:
    from dl_lint.source.file import Source

NESTED = "not analysed: nested too deeply"

VERSION = "{}.{}".format(*sys.version_info)
"""What cannot be read may be of a newer Python than this."""

_TOO_DEEP = re.compile(r"too many (?:nested parenthes|nested f-strings|levels of indentation)|nested too deeply")


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
    """The syntax of a file; raises SourceError for what the Python that runs dl-lint cannot read."""
    try:
        module = _parsed(source.code)
        nesting.bound_depth(module)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        if _TOO_DEEP.search(str(error)):
            raise SourceError(source.path, NESTED, line) from None
        said = error.msg if isinstance(error, SyntaxError) else str(error)
        raise SourceError(source.path, f"syntax error for Python {VERSION}: {said}", line) from None
    except (RecursionError, MemoryError):
        raise SourceError(source.path, NESTED) from None
    except nesting.TooDeep as error:
        raise SourceError(source.path, NESTED, error.line) from None
    found = Syntax(module, source.code)
    if not source.code.isascii():
        positions.count_characters(module, found.lines)
    return found


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
