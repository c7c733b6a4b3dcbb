"""What a check concludes: passed, failed, inconclusive or not measured, with its reason and advice."""

from __future__ import annotations

import itertools
import textwrap
from dataclasses import dataclass
from typing import Literal

Outcome = Literal["passed", "failed", "inconclusive", "not_measured"]

UNSUPPORTED = "unsupported torch "
"""How the reason of a check begins that cannot be relied on under the torch that is there."""


@dataclass(frozen=True, slots=True)
class Advice:
    """One thing to change. ``code`` is the dl-lint rule that finds it in the code, or empty where none does."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement over one check's evidence.

    ``reason`` begins with its headline, what was seen and allowed; one fact a line may follow.
    ``inconclusive`` means that the machine was too busy to say; ``not_measured`` that
    nothing was measured, with the reason; ``vacuous`` where the check applies and its run saw nothing of the loader.
    """

    outcome: Outcome
    reason: str
    advice: tuple[Advice, ...] = ()
    vacuous: bool = False


HEADLINE_CHARACTERS = 100
_CODE = " " * 4


def paragraphs(text: str) -> list[tuple[str, bool]]:
    """The parts of an advice, and whether each is code: lines that are indented by four spaces, given without them.

    >>> paragraphs("keep it in an array:\\n    a = 1\\n    b = 2\\ntried")
    [('keep it in an array:', False), ('a = 1\\nb = 2', True), ('tried', False)]
    """
    runs = itertools.groupby(text.splitlines(), lambda line: line.startswith(_CODE))
    return [("\n".join(line.removeprefix(_CODE) for line in lines), is_code) for is_code, lines in runs]


def headline(reason: str) -> str:
    """The first line of a reason, in at most 100 characters: a text of the user's in it may be long.

    >>> headline("+24.7 MB per worker: copy-on-write\\n463 samples read"), len(headline("word " * 50)) <= 100
    ('+24.7 MB per worker: copy-on-write', True)
    """
    first = reason.strip().partition("\n")[0]
    return (
        first if len(first) <= HEADLINE_CHARACTERS else textwrap.shorten(first, HEADLINE_CHARACTERS, placeholder=" ...")
    )
