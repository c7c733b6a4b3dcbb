"""Finds syntax that is nested too deeply to be parsed, before the parser sees it.

libcst's parser recurses on the native stack, where an overflow ends the process (LibCST#980, #1000), and its time
grows with the square of the depth. Both are told from the tokens.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from dl_lint.facts.lex import DEEPEST_FSTRINGS, STEPS, fields, lex

if TYPE_CHECKING:
    from dl_lint.facts.lex import Tokens

# libcst 1.9 overflows a stack of 8 MB at 1,170 brackets, so 100 take 0.7 MB; Python itself stops at 200.
DEEPEST_BRACKETS = 100

# Tokens of one expression on one level of brackets, without a comma: about 500 operators or 250 chained calls. At four
# times as many libcst takes up to 10 s, at 16 times it overflows. Real code stays below 700.
LONGEST_RUN = 1_000

# libcst's time for a pattern triples with each bracket: 1 s at 10 of a mapping's.
DEEPEST_PATTERN = 7

# Each ``elif`` is nested in the one before; 50,000 overflow a stack of 8 MB, and no chain of more than 200 is lowered.
MOST_ELIFS = 2_000


def nested_too_deeply(text: str, tokens: Tokens, level: int = 0) -> int | None:
    """The line of the first place where a file is nested too deeply, or None; ``level`` counts f-strings around."""
    if not tokens.texts:
        return None
    depths = tokens.depths
    if max(depths) > DEEPEST_BRACKETS:
        return tokens.spans[next(index for index, depth in enumerate(depths) if depth > DEEPEST_BRACKETS)][0]
    if tokens.texts.count("elif") > MOST_ELIFS:
        return tokens.spans[tokens.texts.index("elif")][0]
    return _deep_pattern(tokens) or _long_line(text, tokens) or _deep_fstring(tokens, level)


def _deep_fstring(tokens: Tokens, level: int) -> int | None:
    """The line of an f-string with too much in one of its fields."""
    for index, token in enumerate(tokens.texts):
        if len(token) > DEEPEST_BRACKETS:
            for field in fields(token):
                if level > DEEPEST_FSTRINGS or nested_too_deeply(field, lex(field), level + 1) is not None:
                    return tokens.spans[index][0]
    return None


def _deep_pattern(tokens: Tokens) -> int | None:
    """The line of a ``case`` with too many brackets in each other; calls of a function of that name look the same."""
    if "case" not in tokens.texts or "match" not in tokens.texts:
        return None
    texts = tokens.texts
    for case in (index for index, text in enumerate(texts) if text == "case"):
        depth = 0
        for token in range(case + 1, len(texts)):
            depth += STEPS.get(texts[token], 0)
            if depth > DEEPEST_PATTERN:
                return tokens.spans[case][0]
            if depth < 0 or (depth == 0 and texts[token] in (":", "if", "=", ",", ";")):
                break
    return None


def _long_line(text: str, tokens: Tokens) -> int | None:
    """Looks closer at logical lines that have enough tokens for a run that is too long."""
    starts, stops, depths = tokens.starts, tokens.stops, tokens.depths
    begin = 0
    for offset in (*tokens.lines, len(text)):
        token = bisect_left(starts, offset)
        if token == begin or depths[token - 1] or stops[token - 1] > offset or text[offset - 2 : offset - 1] == "\\":
            continue  # blank, or inside of brackets, a string, or a line that goes on
        if token - begin > LONGEST_RUN:
            line = _long_run(tokens, begin, token)
            if line is not None:
                return line
        begin = token
    return None


def _long_run(tokens: Tokens, begin: int, end: int) -> int | None:
    runs = [0]
    for token in range(begin, end):
        text = tokens.texts[token]
        step = STEPS.get(text, 0)
        if step > 0:
            runs.append(0)
        elif text in (",", ";"):
            runs[-1] = 0
        elif step < 0 and len(runs) > 1:
            runs.pop()
        runs[-1] += 1
        if runs[-1] > LONGEST_RUN:
            return tokens.spans[token][0]
    return None
