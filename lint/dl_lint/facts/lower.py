"""Parses a file and lowers its syntax to the tree."""

from __future__ import annotations

import re

import libcst as cst

# Importing these fills the tables of the kinds.
from dl_lint.facts import compounds, constants, displays, operators, statements  # noqa: F401
from dl_lint.facts.blocks import Body, block
from dl_lint.facts.cursor import Cursor, Misaligned, TooDeep, UnknownSyntax
from dl_lint.facts.lex import Tokens, lex
from dl_lint.facts.nesting import nested_too_deeply
from dl_lint.source import Source, SourceError

NESTED = "not analysed: nested too deeply"

# A list of all tokens that could follow helps nobody.
MOST_EXPECTED = 4

_PARSER_ERROR = re.compile(r"parser error: error at (\d+):(\d+): expected (?:one of )?(.*)")
_NO_TOKENS = frozenset("'\"$?!`")

Ranges = tuple[tuple[int, int], ...]


def lower(source: Source) -> tuple[Body, Ranges, Tokens]:
    """The tree, the logical lines longer than one line, and the tokens; raises SourceError."""
    try:
        tokens = lex(source.code)
        line = nested_too_deeply(source.code, tokens)
        if line is not None:
            raise SourceError(source.path, NESTED, line)
        body, ranges = walk(_parse(source, tokens), tokens)
    except TooDeep as error:
        raise SourceError(source.path, NESTED, error.line) from None
    except RecursionError:
        raise SourceError(source.path, NESTED) from None
    except Misaligned as error:
        raise SourceError(source.path, "not analysed: its syntax and its tokens do not agree", error.line) from None
    except UnknownSyntax as error:
        raise SourceError(source.path, f"not analysed: unknown syntax ({error})") from None
    return body, ranges, tokens


def walk(module: cst.Module, tokens: Tokens) -> tuple[Body, Ranges]:
    """Lower a parsed module along its tokens, all of which must be passed; raises Misaligned or TooDeep."""
    cursor = Cursor(tokens.texts, tokens.spans)
    try:
        body = block(cursor, module.body)
        if cursor.at != len(tokens.texts):
            raise Misaligned
    except (Misaligned, IndexError):
        raise Misaligned(tokens.spans[min(cursor.at, len(tokens.spans)) - 1][0] if tokens.spans else None) from None
    return body, tuple(cursor.ranges)


def _parse(source: Source, tokens: Tokens) -> cst.Module:
    try:
        return cst.parse_module(source.code)
    except cst.ParserSyntaxError as error:
        raise SourceError(source.path, *_syntax_error(error.message, tokens)) from None


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
