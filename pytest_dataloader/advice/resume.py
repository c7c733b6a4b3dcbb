"""What to say of a loader that was stopped and resumed, and what to change; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_dataloader.advice.coverage import coverage
from pytest_dataloader.probe.samples.continuation import RIGHT
from pytest_dataloader.quantities import counted
from pytest_dataloader.verdict import Advice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_dataloader.probe.samples.continuation import Resumption
    from pytest_dataloader.probe.samples.evidence import Resume

ADD_STATE = (
    "{orders} has no state_dict(): add it and load_state_dict(), with the number of samples yielded and its "
    "generator's state"
)
NEW_EPOCH = (
    "set the position of {keeper} back to 0 when an epoch ends: in the second epoch its state_dict() returns a "
    "position that is too high"
)
KEEP_STATE = (
    "{keeper}.state_dict() has to return how many samples were yielded, and the state of the generator. After "
    "load_state_dict() the next sample has to be the first one that was not yielded"
)
COUNT_ON = (
    "after load_state_dict(), {keeper} has to count on from the position that was loaded, not from 0: its next "
    "state_dict() is {off_by} too low"
)
SHIFTED = "the position in {keeper}.state_dict(), or what load_state_dict() makes of it, is {off_by} too {way}: {count}"
COUNT_FIRST = "count a batch before it is yielded, not after"
COUNT_YIELDED = "count what was yielded, not what was read ahead"
TAKE_STATE = "{keeper}.load_state_dict(), and iterating after it, has to work with each state that state_dict() returns"
KEEP_ORDER = (
    "{orders} shuffles in another order once it is resumed: seed its generator with the epoch, and keep the epoch and "
    "the position in {keeper}state_dict()"
)
SAME_WORKERS = "resume with num_workers={}, and raise in load_state_dict where it is another number"
FEWER_SNAPSHOTS = Advice("", "raise snapshot_every_n_steps: fewer snapshots")


def wrong(evidence: Resume) -> str:
    """The first stop after which other batches came, and in lines of their own the others."""
    found = [stop for stop in evidence.stops if stop.outcome not in RIGHT]
    first, *more = found
    facts = [f"resumed {first.place}: {_seen(first)}"]
    if _is_left_to_torchdata(evidence, found):
        facts.append(f"{evidence.orders} has no state_dict(): it is read anew up to the position")
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


def reloaded(evidence: Resume) -> str:
    """What another number of workers made of the state with which it went on worst."""
    wrong = [stop for stop in evidence.reloaded if stop.outcome not in RIGHT]
    worst = max(wrong, key=lambda stop: stop.twice + stop.never)
    with_workers = f"{counted(evidence.reloading_workers, 'worker')} instead of {evidence.workers:,}"
    if worst.outcome == "raises":
        return f"the state is refused with {with_workers}: {worst.detail}"
    return f"resumed {worst.place} with {with_workers}: {_seen(worst)}"


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
    first = found[0]
    orders, keeper = evidence.orders or "the dataset or sampler", evidence.keeper or "the loader"
    by_epoch = any(stop.epoch == 0 for stop in evidence.stops) and all(stop.epoch for stop in found)
    if by_epoch and evidence.keeper and first.never and not first.twice:
        return (Advice("", NEW_EPOCH.format(keeper=keeper)),)
    if evidence.follows_random_state or by_epoch:
        of_keeper = f"{evidence.keeper}." if evidence.keeper else ""
        return (Advice("", KEEP_ORDER.format(orders=orders, keeper=of_keeper)),)
    if _is_left_to_torchdata(evidence, found):
        return (Advice("", ADD_STATE.format(orders=orders)),)
    if first.outcome == "raises":
        return (Advice("", TAKE_STATE.format(keeper=keeper)),)
    if first.outcome == "repeats" and all(stop.again for stop in found):
        return (Advice("", COUNT_ON.format(keeper=keeper, off_by=counted(first.off_by, "batch"))),)
    if first.outcome in ("repeats", "skips"):
        way, count = ("low", COUNT_FIRST) if first.outcome == "repeats" else ("high", COUNT_YIELDED)
        off_by = counted(first.off_by, "batch")
        return (Advice("", SHIFTED.format(keeper=keeper, off_by=off_by, way=way, count=count)),)
    return (Advice("", KEEP_STATE.format(keeper=keeper)),)


def _is_left_to_torchdata(evidence: Resume, wrong: Sequence[Resumption]) -> bool:
    """Whether no class of the user's keeps the position, and that is what goes wrong: not the order, not the epoch."""
    return not evidence.keeper and bool(evidence.orders) and all(stop.again for stop in wrong)


def _seen(stop: Resumption) -> str:
    says = {
        "repeats": f"repeats {counted(stop.off_by, 'batch')}{f': {stop.detail}' if stop.detail else ''}",
        "skips": f"skips {counted(stop.off_by, 'batch')}{f': {stop.detail}' if stop.detail else ''}",
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
