"""How messages and pages are written: what a test can hold of it."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from pytest_dataloader.verdict import HEADLINE_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_dataloader.verdict import Verdict

_PRIVATE = re.compile(
    r"\b(un-?shar(?:es?|ed|ing)|told|held|dear(?:er|est)?|mend(?:s|ed|ing)?|pays?|paid|neighbours?|floors?|"
    r"crying wolf|for ever|sets? the pace)\b",
    re.IGNORECASE,
)
"""Words of this project for what the field calls by another name: duplicated, dropped, threshold, fix, contention."""
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def private_words(text: str) -> list[str]:
    """The words in a text, code in backticks left out, that a reader of the field would not search for."""
    return [found.group(0) for found in _PRIVATE.finditer(_CODE.sub("", text))]


def texts(tree: ast.Module) -> Iterator[ast.Constant]:
    """The texts in the code of a module, without its documentation."""
    bodies = [body for node in ast.walk(tree) if isinstance(body := getattr(node, "body", None), list)]
    documentation = {id(each.value) for body in bodies for each in body if isinstance(each, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield node


def faults(verdict: Verdict) -> Iterator[str]:
    """What is wrong with the words of a verdict: a long headline, a chain of clauses, a private word."""
    first = verdict.reason.partition("\n")[0]
    if len(first) > HEADLINE_CHARACTERS:
        yield f"a headline of {len(first)} characters: {first}"
    for text in (verdict.reason, *(advice.text for advice in verdict.advice)):
        if "; " in text:
            yield f"a chain of clauses: {text}"
        if words := private_words(text):
            yield f"{', '.join(words)}: {text}"
