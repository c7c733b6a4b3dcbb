"""libcst's parser, which reads the syntax of all versions of Python and says what is wrong with a file.

A node of libcst is seen as the node of ``ast`` that Python's parser would make of it, and lowered as that; its children
stay libcst's until they are lowered in turn. What ``ast`` has no field for, such as brackets, is noted on the node.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import libcst as cst

# Importing these adds libcst's kinds to the tables.
from dl_lint.facts import concrete_expressions, concrete_statements  # noqa: F401
from dl_lint.facts.concrete_statements import statements
from dl_lint.facts.cursor import Cursor
from dl_lint.source import Source, SourceError

if TYPE_CHECKING:
    import ast

    from dl_lint.facts.lex import Tokens

__all__ = ["ConcreteCursor", "parse", "statements"]

# A list of all tokens that could follow helps nobody.
MOST_EXPECTED = 4

_PARSER_ERROR = re.compile(r"parser error: error at (\d+):(\d+): expected (?:one of )?(.*)")
_NO_TOKENS = frozenset("'\"$?!`")
_DISPLAYS = (cst.Tuple, cst.GeneratorExp)


class ConcreteCursor(Cursor):
    """Reads what was noted on the nodes."""

    __slots__ = ()

    def opened(self, node: Any) -> int:
        brackets = len(getattr(node, "lpar", ()))
        return max(0, brackets - 1) if isinstance(node, _DISPLAYS) else brackets

    def encloses(self, node: Any) -> bool:
        return bool(node.enclosed)

    def is_bare(self, inner: ast.expr, outer: ast.expr) -> bool:  # noqa: ARG002
        return True  # a view is seen through as far as there are no brackets

    def has_brackets(self, node: Any) -> bool:
        return bool(node.bracketed)

    def pass_strings(self, node: Any) -> None:
        self.at += node.strings


def parse(source: Source, tokens: Tokens) -> cst.Module:
    """Raises SourceError where the file is not Python of any version."""
    try:
        return cst.parse_module(source.code)
    except cst.ParserSyntaxError as error:
        raise SourceError(source.path, *_syntax_error(error.message, tokens)) from None
    except cst.CSTLogicError as error:  # as of libcst 1.9, t-strings side by side
        raise SourceError(source.path, f"not analysed: libcst broke down on it ({error})") from None


def _syntax_error(said: str, tokens: Tokens) -> tuple[str, int | None]:
    """libcst's message in short, and the line; errors of its tokenizer have none, but ours stumbles there as well."""
    parser_error = _PARSER_ERROR.match(said)
    if parser_error is None:
        stumbled = (span[0] for text, span in zip(tokens.texts, tokens.spans, strict=True) if text in _NO_TOKENS)
        reason = said.splitlines()[0].removeprefix("tokenizer error: ") if said else "unknown"
        return f"syntax error: {reason}", next(stumbled, None)
    line, column, expected = parser_error.groups()
    last = tokens.spans[-1][0] if tokens.spans else 1
    if int(line) > last:  # the parser reached the end of the file
        return "syntax error: something is left open", last
    if expected.count(",") < MOST_EXPECTED:
        return f"syntax error at column {column}: expected {expected}", int(line)
    return f"syntax error at column {column}", int(line)
