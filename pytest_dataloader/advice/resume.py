"""What to say of a loader that was stopped and resumed, and what to change; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_dataloader.advice.coverage import coverage
from pytest_dataloader.quantities import counted
from pytest_dataloader.verdict import Advice

if TYPE_CHECKING:
    from pytest_dataloader.probe.samples.continuation import Resumption
    from pytest_dataloader.probe.samples.evidence import Resume

KEEP_STATE = Advice(
    "",
    "keep the position, and a generator's state, in state_dict of the dataset or sampler; restore it before iter()",
)
FEWER_SNAPSHOTS = Advice("", "take snapshots less often: raise snapshot_every_n_steps")


def wrong(evidence: Resume) -> str:
    """The first stop after which other batches came, and in lines of their own the others."""
    found = [stop for stop in evidence.stops if stop.outcome != "exact"]
    first, *more = found
    told = f"resumed {first.place}: {_told(first)}"
    if more:
        told += f"; wrong at {len(found)} of {counted(len(evidence.stops), 'stop')} in all"
    others = [f"  {stop.place}: {_told(stop)}" for stop in more]
    return "\n".join([f"{told}{coverage(evidence.partly)}", *others])


def exact(evidence: Resume) -> str:
    """What was seen of stops that all went on exactly, and what snapshots cost."""
    told = f"exact after {counted(len(evidence.stops), 'stop')} of a run of {counted(evidence.batches, 'batch')}"
    others = sum(stop.next_epoch is False for stop in evidence.stops)
    told += f"; the next epoch's order is another one after {others} of them" if others else ""
    if (cost := evidence.overhead) is not None:
        told += f"; a snapshot every {cost.every_n_steps} steps costs {100 * max(0.0, cost.share):.0f} % of CPU time"
    return told


def _told(stop: Resumption) -> str:
    says = {
        "repeats": f"it gives {counted(stop.off_by, 'batch')} again",
        "skips": f"it leaves out {counted(stop.off_by, 'batch')}",
        "short": f"the epoch ends too soon ({stop.detail})",
        "differs": stop.detail,
        "raises": f"it raises {stop.detail}",
    }
    return says[stop.outcome]
