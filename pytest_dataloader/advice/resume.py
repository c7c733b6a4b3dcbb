"""What to say of a loader that was stopped and resumed, and what to change; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_dataloader.advice.coverage import coverage
from pytest_dataloader.probe.samples.continuation import RIGHT
from pytest_dataloader.quantities import counted
from pytest_dataloader.verdict import Advice

if TYPE_CHECKING:
    from pytest_dataloader.probe.samples.continuation import Resumption
    from pytest_dataloader.probe.samples.evidence import Resume

KEEP_STATE = Advice(
    "",
    "return the position and the generator's state from state_dict() of the dataset or sampler, and load it before "
    "iter()",
)
KEEP_ORDER = Advice(
    "",
    "seed the sampler's generator with the epoch, and keep epoch and position in state_dict()",
)
FEWER_SNAPSHOTS = Advice("", "raise snapshot_every_n_steps: fewer snapshots")


def wrong(evidence: Resume) -> str:
    """The first stop after which other batches came, and in lines of their own the others."""
    found = [stop for stop in evidence.stops if stop.outcome not in RIGHT]
    first, *more = found
    facts = [f"resumed {first.place}: {_seen(first)}"]
    if evidence.follows_random_state:
        facts.append(f"the order of {evidence.orders} depends on the random state, which its state lacks")
    elif any(stop.epoch == 0 for stop in evidence.stops) and all(stop.epoch for stop in found):
        facts.append("the first epoch is resumed exactly")
    elif all(stop.again for stop in found):
        facts.append("a run that is resumed once goes on exactly")
    if more:
        facts.append(f"wrong at {len(found)} of {counted(len(evidence.stops), 'stop')}")
    others = [f"  {stop.place}: {_seen(stop)}" for stop in more]
    return "\n".join(["\n".join(facts) + coverage(evidence.partly), *others])


def exact(evidence: Resume) -> str:
    """What was seen of stops that all went on exactly, and what snapshots cost."""
    after = f"after {counted(len(evidence.stops), 'stop')} in {counted(evidence.batches, 'batch')}"
    facts = [f"resumes exactly {after}"]
    if other := sum(stop.outcome == "reordered" for stop in evidence.stops):
        facts = [f"no duplicates, none missing {after}", f"the rest of the epoch came in another order after {other}"]
    if others := sum(stop.next_epoch is False for stop in evidence.stops):
        facts.append(f"the next epoch has another order after {others}")
    if (cost := evidence.overhead) is not None:
        share = f"{100 * max(0.0, cost.share):.0f} % of CPU time"
        facts.append(f"snapshots cost {share}, one every {cost.every_n_steps} steps")
    return "\n".join(facts)


def advice(evidence: Resume) -> tuple[Advice, ...]:
    """What to change."""
    found = [stop for stop in evidence.stops if stop.outcome not in RIGHT]
    by_epoch = any(stop.epoch == 0 for stop in evidence.stops) and all(stop.epoch for stop in found)
    return (KEEP_ORDER if evidence.follows_random_state or by_epoch else KEEP_STATE,)


def _seen(stop: Resumption) -> str:
    says = {
        "repeats": f"repeats {counted(stop.off_by, 'batch')}",
        "skips": f"skips {counted(stop.off_by, 'batch')}",
        "short": f"the epoch ends early ({stop.detail})",
        "differs": f"{stop.detail}{f': {_counts(stop)}' if stop.twice or stop.never else ''}",
        "twice": _counts(stop),
        "random_states": f"{_counts(stop)}, unless the random states are restored, too",
        "raises": f"raises {stop.detail}",
    }
    return says[stop.outcome]


def _counts(stop: Resumption) -> str:
    found = [(stop.twice, "duplicated"), (stop.never, "missing")]
    return " and ".join(f"{counted(number, 'sample')} {word}" for number, word in found if number)
