"""Source of a call, an expression or the opening of a loop, changed with libcst: text in, text out.

Texts have ``\\n`` at line ends and start at their first token, so the first line lacks its indentation. What is no such
source gives None. libcst takes 0.2 s to import: this is imported where an edit is made, and nowhere else.
"""

from __future__ import annotations

import re
from functools import wraps
from itertools import takewhile
from operator import eq
from typing import TYPE_CHECKING, Any, ParamSpec

import libcst as cst

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_P = ParamSpec("_P")

_Gap = cst.BaseParenthesizableWhitespace

_PIECE = re.compile(r"\w+|\W")
_STRONG = (cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.Await, cst.BaseNumber)
"""What binds closer than any operator."""


def _or_none(change: Callable[_P, str]) -> Callable[_P, str | None]:
    """None for source of another kind, and for what is nested too deeply for libcst."""

    @wraps(change)
    def changed(*args: _P.args, **kwargs: _P.kwargs) -> str | None:
        try:
            return change(*args, **kwargs)
        except (cst.ParserSyntaxError, RecursionError, ValueError):
            return None

    return changed


@_or_none
def with_argument(code: str, argument: str) -> str:
    """A call with one more argument behind its last: on a line of its own where each argument begins one."""
    call = _call(code)
    new = cst.ensure_type(cst.parse_expression(f"f({argument})"), cst.Call).args[0]
    if not call.args:
        return _code(call.with_changes(args=[new]))
    *others, last = call.args
    gaps = [_gap(one) for one in others] or [call.whitespace_before_args]
    tail: _Gap = _gap(last)
    between: _Gap = cst.SimpleWhitespace(" ")
    if all(isinstance(one, cst.ParenthesizedWhitespace) for one in gaps):
        rest = cst.TrailingWhitespace()
        if isinstance(tail, cst.ParenthesizedWhitespace):  # there may be a comment on the last argument
            rest, tail = tail.first_line, tail.with_changes(first_line=rest)
        between = gaps[-1].with_changes(first_line=rest, empty_lines=[])
    if isinstance(last.value, cst.GeneratorExp) and not last.value.lpar:
        last = last.with_changes(value=last.value.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()]))
    comma = cst.Comma() if isinstance(last.comma, cst.MaybeSentinel) else last.comma
    added = _followed(new.with_changes(comma=last.comma), tail)
    return _code(call.with_changes(args=[*others, _followed(last.with_changes(comma=comma), between), added]))


@_or_none
def without_argument(code: str, name: str) -> str:
    """A call without its argument ``name=…``, and without the comment behind that; comments above it stay."""
    call = _call(code)
    args = [*call.args]
    at = [one.keyword and one.keyword.value for one in args].index(name)
    gone = args.pop(at)
    before = _gap(args[at - 1]) if at else call.whitespace_before_args
    gap = _joined(before, _gap(gone), opens=at == 0, closes=at == len(args))
    if at == 0:
        return _code(call.with_changes(args=args, whitespace_before_args=gap))
    comma = gone.comma if at == len(args) else args[at - 1].comma
    args[at - 1] = _followed(args[at - 1].with_changes(comma=comma), gap)
    return _code(call.with_changes(args=args))


@_or_none
def with_operator(code: str, text: str) -> str:
    """An expression with an operator and its right side (``% 2**32``) behind it."""
    found = _parsed(code)
    return f"{code} {text}" if isinstance(found, _STRONG) or len(found.lpar) > 1 else f"({code}) {text}"


@_or_none
def with_first_statement(opening: str, indentation: str, statement: str) -> str:
    """A loop up to its first statement, which it lacks, with another one before that and before the comments on it.

    ``indentation`` is that of the loop; the block of ``statement`` is indented by four spaces.
    """
    loop, new = cst.parse_statement(f"{opening}pass"), cst.parse_statement(statement)
    if not isinstance(loop, cst.For | cst.While):
        raise ValueError("no loop")
    body, within = loop.body, opening.rpartition("\n")[2]
    if isinstance(body, cst.SimpleStatementSuite):
        body = cst.IndentedBlock([cst.SimpleStatementLine(body.body)])
        within = indentation + ("\t" if "\t" in indentation else "    ")
    step = within.removeprefix(indentation)
    changed = loop.with_changes(body=body.with_changes(body=[new, *body.body], indent=within))
    return cst.Module([], default_indent=step).code_for_node(changed).removesuffix("pass\n")


def difference(before: str, after: str) -> tuple[int, int, str]:
    """The smallest stretch of ``before`` that has to be replaced, in whole words, and by what."""
    old, new = _PIECE.findall(before), _PIECE.findall(after)
    same = _alike(old, new)
    ended = _alike(old[same:][::-1], new[same:][::-1])
    start, stop = ("".join(old[:end]) for end in (same, len(old) - ended))
    return len(start), len(stop), "".join(new[same : len(new) - ended])


def _alike(one: Iterable[str], other: Iterable[str]) -> int:
    """How many words at the start are the same."""
    return sum(takewhile(bool, map(eq, one, other)))


def _parsed(code: str) -> Any:
    """The expression, with a pair of parentheses around it in which it may go over several lines."""
    return cst.parse_expression(f"({code})")


def _call(code: str) -> cst.Call:
    found = _parsed(code)
    if not isinstance(found, cst.Call):
        raise ValueError("no call")
    return found


def _code(node: cst.CSTNode) -> str:
    """Without the parentheses that were put around it."""
    return cst.Module([]).code_for_node(node)[1:-1]


def _gap(arg: cst.Arg) -> _Gap:
    """What stands between an argument, or the comma behind it, and what follows."""
    return arg.comma.whitespace_after if isinstance(arg.comma, cst.Comma) else arg.whitespace_after_arg


def _followed(arg: cst.Arg, gap: _Gap) -> cst.Arg:
    if isinstance(arg.comma, cst.Comma):
        empty = cst.SimpleWhitespace("")
        return arg.with_changes(comma=arg.comma.with_changes(whitespace_after=gap), whitespace_after_arg=empty)
    return arg.with_changes(whitespace_after_arg=gap)


def _joined(before: _Gap, after: _Gap, *, opens: bool, closes: bool) -> _Gap:
    """What is left of the gaps around an argument that is taken out, which is the first or the last of its call."""
    found = after if closes else before
    match before, after:
        case cst.ParenthesizedWhitespace(), cst.ParenthesizedWhitespace():
            found = after.with_changes(
                first_line=before.first_line, empty_lines=[*before.empty_lines, *after.empty_lines]
            )
        case _, cst.ParenthesizedWhitespace() if not opens or _has_comment(after):
            found = after
        case cst.ParenthesizedWhitespace(), _ if not closes or _has_comment(before):
            found = before
    return cst.SimpleWhitespace("") if opens and closes and not _has_comment(found) else found


def _has_comment(gap: _Gap) -> bool:
    return "#" in cst.Module([]).code_for_node(gap)
