"""What a check concludes: passed, failed, inconclusive or not measured, with its reason and advice."""

from __future__ import annotations

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

    ``reason`` is one sentence: what was seen, what was allowed, how sure that is.
    ``inconclusive`` means that the machine was too busy to say; ``not_measured`` that
    nothing was measured, with the reason; ``vacuous`` where the check applies and its run saw nothing of the loader.
    """

    outcome: Outcome
    reason: str
    advice: tuple[Advice, ...] = ()
    vacuous: bool = False
