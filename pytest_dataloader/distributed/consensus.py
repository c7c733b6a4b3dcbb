"""What the ranks of a job say of one check, as one verdict for all of them."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_dataloader.record import Record, record_of
from pytest_dataloader.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_dataloader.distributed.job import Job
    from pytest_dataloader.verdict import Advice, Outcome

_WORST_FIRST: tuple[Outcome, ...] = ("failed", "inconclusive", "not_measured", "passed")

_PRINCIPAL = {
    "throughput": ("samples_per_second", -1, "the slowest"),
    "training": ("input_wait", 1, "which waits most"),
    "memory": ("growth_bytes_per_worker", 1, "whose workers grow most"),
    "fds": ("peak", 1, "with the most descriptors"),
    "shm": ("peak_bytes", 1, "with the largest peak"),
}
"""The figure of a check by which ranks are compared, and whether more of it is worse (1) or better (-1)."""

_MOST_LINES = 64


@dataclass(frozen=True, slots=True)
class Told:
    """What one rank says."""

    record: Record

    def encode(self) -> str:
        return json.dumps(dataclasses.asdict(self.record), allow_nan=False)

    @classmethod
    def decode(cls, text: str) -> Told:
        return cls(dataclasses.replace(record_of(json.loads(text)), ranks=()))

    @property
    def outcome(self) -> Outcome:
        return self.record.verdict


def together(job: Job, nodeid: str, told: Told) -> Record:
    """This rank's record with the verdict of all, once all have told theirs."""
    heard, missing = job.gather(told.record.check, nodeid, told.encode())
    everybody = {rank: Told.decode(text) for rank, text in heard.items()}
    verdict = agree(everybody, missing, job.place.world_size)
    return dataclasses.replace(
        told.record,
        verdict=verdict.outcome,
        reason=verdict.reason,
        advice=verdict.advice,
        ranks=by_rank(everybody),
        vacuous=verdict.vacuous,
        missed=tuple(dict.fromkeys(limit for each in everybody.values() for limit in each.record.missed)),
    )


def agree(told: Mapping[int, Told], missing: Mapping[int, str], world_size: int) -> Verdict:
    """The worst of all verdicts, in the words of the rank that gave it, and a line for each rank.

    A rank that gave none, for the reason in ``missing``, fails the check for all.
    """
    ranked = sorted(told.items())
    outcome: Outcome = "failed" if missing else min((each.outcome for _, each in ranked), key=_WORST_FIRST.index)
    lines = [f"  rank {rank}: {each.outcome.replace('_', ' ')}: {_first(each.record.reason)}" for rank, each in ranked]
    lines += [f"  rank {rank}: nothing: {reason}" for rank, reason in sorted(missing.items())]
    cut = [f"  and {len(lines) - _MOST_LINES} more"] if len(lines) > _MOST_LINES else []
    alike = [(rank, each) for rank, each in ranked if each.outcome == outcome]
    if missing:
        rank, reason = min(missing.items())
        head = f"rank {rank} of {world_size} gave no verdict: {reason}"
        advice: tuple[Advice, ...] = ()
    else:
        rank, each = max(alike, key=lambda ranked: (_badness(ranked[1]), -ranked[0]))
        apart = len({other.record.reason for _, other in ranked}) > 1
        head = f"rank {rank} of {world_size}{_why(each, alike)}: " * apart + each.record.reason
        advice = each.record.advice
    vacuous = outcome == "not_measured" and any(each.record.vacuous for _, each in alike)
    return Verdict(outcome, "\n".join([head, *lines[:_MOST_LINES], *cut]), advice, vacuous)


def by_rank(told: Mapping[int, Told]) -> tuple[dict[str, Any], ...]:
    """Verdict, reason and evidence of each rank, for JSON."""
    return tuple(
        {"rank": rank, "verdict": each.outcome, "reason": each.record.reason, "evidence": dict(each.record.evidence)}
        for rank, each in sorted(told.items())
    )


def _badness(each: Told) -> float:
    """How bad a rank's principal figure is."""
    name, sign, _ = _PRINCIPAL.get(each.record.check, ("", 0, ""))
    value = each.record.evidence.get(name)
    return sign * value if isinstance(value, int | float) else 0.0


def _why(worst: Told, alike: list[tuple[int, Told]]) -> str:
    """What sets a rank apart from the others that fared alike; empty where nothing does."""
    _, _, words = _PRINCIPAL.get(worst.record.check, ("", 0, ""))
    apart = any(_badness(each) != _badness(worst) for _, each in alike)
    return f", {words}" if words and apart else ""


def _first(reason: str) -> str:
    return reason.partition("\n")[0]
