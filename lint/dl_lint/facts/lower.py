"""Parses a file and lowers its syntax to the tree."""

from __future__ import annotations

import libcst as cst

# Importing these fills the tables of the kinds.
from dl_lint.facts import compounds, constants, displays, operators, statements  # noqa: F401
from dl_lint.facts.blocks import Body, block
from dl_lint.facts.cursor import Cursor, Misaligned, TooDeep
from dl_lint.facts.lex import Tokens, lex
from dl_lint.source import Source, SourceError

Ranges = tuple[tuple[int, int], ...]


def lower(source: Source) -> tuple[Body, Ranges, Tokens]:
    """The tree, the logical lines longer than one line, and the tokens; raises SourceError."""
    tokens = lex(source.text)
    module = _parse(source)
    try:
        try:
            return _walk(source, module, tokens, careful=False)
        except (Misaligned, IndexError):
            return _walk(source, module, lex(source.text), careful=True)
    except (Misaligned, IndexError):
        raise SourceError(source.path, "not analysed: its syntax and its tokens do not fit together") from None
    except TooDeep as error:
        raise SourceError(source.path, "not analysed: nested too deeply", error.line) from None
    except KeyError as error:
        kind = error.args[0].__name__ if error.args and isinstance(error.args[0], type) else error
        raise SourceError(source.path, f"not analysed: holds syntax that is not known here ({kind})") from None
    except RecursionError:
        raise SourceError(source.path, "not analysed: nested too deeply") from None


def _parse(source: Source) -> cst.Module:
    try:
        return cst.parse_module(source.text)
    except cst.ParserSyntaxError as error:
        message = error.message.splitlines()[0] if error.message else "invalid syntax"
        raise SourceError(source.path, f"syntax error: {message}", error.raw_line) from None


def _walk(source: Source, module: cst.Module, tokens: Tokens, careful: bool) -> tuple[Body, Ranges, Tokens]:
    cursor = Cursor(source.text, module, tokens, careful)
    body = block(cursor, module.body)
    if cursor.at != len(tokens.texts):
        raise Misaligned
    return body, tuple(cursor.ranges), tokens
