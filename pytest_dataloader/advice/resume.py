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
    "keep the position, and a generator's state, in state_dict of the dataset or sampler; restore it before iter()",
)
KEEP_ORDER = Advice(
    "",
    "give the sampler a generator that is seeded by the epoch, and keep the epoch in state_dict beside the position",
)
SAME_WORKERS = "resume with num_workers={}, and have load_state_dict raise where it is another number"
FEWER_SNAPSHOTS = Advice("", "take snapshots less often: raise snapshot_every_n_steps")


def wrong(evidence: Resume) -> str:
    """The first stop after which other batches came, and in lines of their own the others."""
    found = [stop for stop in evidence.stops if stop.outcome not in RIGHT]
    first, *more = found
    told = f"resumed {first.place}: {_told(first)}"
    if evidence.follows_random_state:
        told += f"; the order of {evidence.orders} follows the random state, which its state does not hold"
    elif any(stop.epoch == 0 for stop in evidence.stops) and all(stop.epoch for stop in found):
        told += "; the first epoch is resumed exactly"
    elif all(stop.again for stop in found):
        told += "; resumed once, it goes on exactly"
    if more:
        told += f"; wrong at {len(found)} of {counted(len(evidence.stops), 'stop')} in all"
    others = [f"  {stop.place}: {_told(stop)}" for stop in more]
    return "\n".join([f"{told}{coverage(evidence.partly)}", *others])


def exact(evidence: Resume) -> str:
    """What was seen of stops that all went on exactly, and what snapshots cost."""
    told = f"exact after {counted(len(evidence.stops), 'stop')} of a run of {counted(evidence.batches, 'batch')}"
    if other := sum(stop.outcome == "reordered" for stop in evidence.stops):
        told = f"no sample twice or never{told.removeprefix('exact')}"
        told += f"; what was left came in another order after {other} of them"
    others = sum(stop.next_epoch is False for stop in evidence.stops)
    told += f"; the next epoch's order is another one after {others} of them" if others else ""
    if (cost := evidence.overhead) is not None:
        told += f"; a snapshot every {cost.every_n_steps} steps costs {100 * max(0.0, cost.share):.0f} % of CPU time"
    return told


def reloaded(evidence: Resume) -> str:
    """What another number of workers made of the state with which it went on worst."""
    wrong = [stop for stop in evidence.reloaded if stop.outcome not in RIGHT]
    worst = max(wrong, key=lambda stop: stop.twice + stop.never)
    with_workers = f"{counted(evidence.reloading_workers, 'worker')} instead of {evidence.workers:,}"
    if worst.outcome == "raises":
        return f"the state is refused with {with_workers}: {worst.detail}"
    return f"resumed {worst.place} with {with_workers}: {_told(worst)}"


def reloaded_line(evidence: Resume) -> str:
    """The same as a further line of a reason; nothing where all states were gone on with."""
    wrong = any(stop.outcome not in RIGHT for stop in evidence.reloaded)
    return f"\n  {reloaded(evidence)}" if wrong else ""


def not_reloaded(evidence: Resume, workers: int) -> str:
    """Why nothing is said of the number of workers that was asked for."""
    return f"no state was loaded with {counted(workers, 'worker')}{coverage(evidence.partly)}"


def reload_advice(evidence: Resume) -> tuple[Advice, ...]:
    """What to change where another number of workers repeats samples or leaves some out; a refusal tells itself."""
    silent = any(stop.outcome not in RIGHT | {"raises"} for stop in evidence.reloaded)
    return (Advice("", SAME_WORKERS.format(evidence.workers)),) if silent else ()


def advice(evidence: Resume) -> tuple[Advice, ...]:
    """What to change."""
    found = [stop for stop in evidence.stops if stop.outcome not in RIGHT]
    by_epoch = any(stop.epoch == 0 for stop in evidence.stops) and all(stop.epoch for stop in found)
    return (KEEP_ORDER if evidence.follows_random_state or by_epoch else KEEP_STATE,)


def _told(stop: Resumption) -> str:
    says = {
        "repeats": f"it gives {counted(stop.off_by, 'batch')} again",
        "skips": f"it leaves out {counted(stop.off_by, 'batch')}",
        "short": f"the epoch ends too soon ({stop.detail})",
        "differs": f"{stop.detail}{f': {_counts(stop)}' if stop.twice or stop.never else ''}",
        "twice": _counts(stop),
        "random_states": f"{_counts(stop)}, but not where the random states of the stop are restored as well",
        "raises": f"it raises {stop.detail}",
    }
    return says[stop.outcome]


def _counts(stop: Resumption) -> str:
    never = f" and {stop.never:,} never" if stop.never else ""
    if not stop.twice:
        return f"{counted(stop.never, 'sample')} of the epoch never {'comes' if stop.never == 1 else 'come'}"
    return f"{counted(stop.twice, 'sample')} of the epoch {'comes' if stop.twice == 1 else 'come'} twice{never}"
