"""What the checks of descriptors and of shared memory have in common: a loader that was run through short epochs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_dataloader.probe.resources.usage import TELLING_ROUNDS
from pytest_dataloader.verdict import Advice, Outcome, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_dataloader.probe.resources.forecast import Shape
    from pytest_dataloader.probe.resources.leaks import Leak
    from pytest_dataloader.probe.resources.referrers import Referrer


@dataclass(frozen=True, slots=True)
class Exercised:
    """How far a loader came, and what stayed open from batch to batch.

    ``shortage`` says why the loader was not run at all, ``exhausted`` what ran out, in torch's own words.
    """

    leaks: tuple[Leak, ...]
    kept_by: tuple[Referrer, ...]
    unclear: tuple[str, ...]
    shortage: str
    exhausted: str
    hung: bool
    shape: Shape
    batches_in_round: int
    batches_in_epoch: int
    epochs: int

    @property
    def extent(self) -> str:
        """How much of the loader was seen, in words."""
        if not self.epochs:
            return (
                "the time was up before a short epoch had ended: --dataloader-bench and --dataloader-seconds give more"
            )
        total, seen = self.batches_in_epoch, self.batches_in_round
        part = f" of the first {seen} of {total:,} batches" if total > seen else ""
        if not total:
            part = f" of up to {seen} batches and their multiples"
        return f"seen in {self.epochs} epoch{'s' * (self.epochs != 1)}{part}"


def without_fault(
    seen: Exercised, *, peak: str, nothing: str, doubts: Sequence[str], advice: tuple[Advice, ...]
) -> Verdict:
    """The verdict where no fault was seen: passed, or inconclusive where something kept one from being seen."""
    if seen.exhausted or seen.hung:
        why = seen.exhausted or "no batch came for a minute"
        return Verdict("inconclusive", f"the loader did not get through: {why}; {peak} until then", advice)
    if doubts:
        return Verdict("inconclusive", f"{'; '.join(doubts)}; {peak}", advice)
    outcome: Outcome = "passed" if seen.epochs >= TELLING_ROUNDS else "inconclusive"
    return Verdict(outcome, f"{peak}, {nothing}; {seen.extent}", advice)
