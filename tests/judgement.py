"""Rows of tables that hold a judge to its evidence."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tests import wording

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pytest_dataloader.verdict import Outcome, Verdict


@dataclass(frozen=True, slots=True)
class Judgement:
    """Evidence under limits, and the verdict that is due: its outcome, the first words of its reason, and the code of
    each piece of advice, empty where no rule finds it. ``in_full``: these words are the whole reason.
    """

    evidence: Any
    outcome: Outcome
    begins: str
    codes: tuple[str, ...] = ()
    limits: Mapping[str, Any] = field(default_factory=dict)
    vacuous: bool = False
    in_full: bool = False

    def of(self, judge: Callable[..., Verdict]) -> Judgement:
        """The same row with what a judge says of its evidence, in plain words; of the reason, as many "
        "letters as are due."""
        verdict = judge(self.evidence, **self.limits)
        assert [*wording.faults(verdict)] == []
        return replace(
            self,
            outcome=verdict.outcome,
            begins=verdict.reason if self.in_full else verdict.reason[: len(self.begins)],
            codes=tuple(advice.code for advice in verdict.advice),
            vacuous=verdict.vacuous,
        )
