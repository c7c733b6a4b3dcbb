"""Shards: are the ranks' shares disjoint, complete and of equal length?"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pytest_dataloader.errors import NotMeasured
from pytest_dataloader.probe.internals import torch_private
from pytest_dataloader.probe.loader import sampling
from pytest_dataloader.probe.samples.overlap import Overlap, overlap, verdict_of
from pytest_dataloader.probe.samples.partition import World, partition
from pytest_dataloader.probe.samples.rank_simulation import VIEW_SECONDS, How, Simulation, View, simulate
from pytest_dataloader.probe.samples.share import Share, share_of
from pytest_dataloader.probe.samples.worlds import verdict_of_worlds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_dataloader.checks import Setting
    from pytest_dataloader.limits import Count
    from pytest_dataloader.verdict import Verdict

NEEDS_BENCH = False

_WORLDS = (2, 4, 8, 3, 5, 6, 7, 1)
"""In this order, until the budget is spent."""
_SECONDS = 4.0
_SHARE_SECONDS = 1.0
"""For an epoch of what a real rank reads."""


@dataclass(frozen=True, slots=True)
class Shards:
    """What ranks would read in worlds of several sizes. ``how`` they were told their rank; in a job also what its
    ranks do read, and ``unsimulated`` why no others were looked at.

    ``same_seeds_needed``: the shares are right only where all ranks have the same random state.
    """

    worlds: tuple[World, ...]
    how: How
    size: int
    iterable: bool
    shuffles: bool
    takes_epochs: bool
    same_seeds_needed: bool = False
    workers: int = 0
    partly: tuple[str, ...] = ()
    seconds: float = 0.0
    real: Overlap | None = None
    unsimulated: str = ""


def measure(loader: Any, *, setting: Setting, world_size: int | None = None) -> Shards:
    """Simulate the ranks of worlds of several sizes, each in forked children; no process group is made here.

    In a job of several ranks, tell the others what this one reads. Alone, raises NotMeasured where nothing shards the
    loader by rank, unless ``world_size`` asks for it.
    """
    if setting.ranks == 1:
        return _simulated(loader, setting, world_size)
    setting.tell(share_of(loader, seconds=max(_SHARE_SECONDS, setting.seconds / 3)).encode())
    try:
        return _simulated(loader, setting, world_size)
    except NotMeasured as error:
        iterable, epochs = torch_private.reads_by_iteration(loader), bool(sampling.what_takes_epochs(loader))
        return Shards((), "environment", 0, iterable, sampling.shuffles(loader), epochs, unsimulated=str(error))


def beside(evidence: Shards, told: Mapping[int, str], world_size: int) -> Shards:
    """The evidence with what the ranks of a job really have in common."""
    shares = {rank: Share.decode(text) for rank, text in told.items()}
    return replace(evidence, real=overlap(shares, world_size))


def _simulated(loader: Any, setting: Setting, world_size: int | None) -> Shards:
    started = time.monotonic()
    found = simulate(loader, setting.build, insist=world_size is not None)
    budget = max(_SECONDS, setting.seconds) if setting.bench else _SECONDS
    whole = found.view(0, 1, seconds=VIEW_SECONDS)
    if whole.error:
        raise NotMeasured(f"a world of one rank cannot be simulated: {whole.error}")
    iterable = torch_private.reads_by_iteration(loader)
    if not iterable and found.how != "sampler" and not _world(found, world_size or 2, whole, same_seeds=True).clean:
        found = replace(found, by_content=True)
        whole = found.view(0, 1, seconds=VIEW_SECONDS)
    again = found.view(0, 1, seconds=VIEW_SECONDS, same_seeds=True)
    if (iterable or found.by_content) and whole.complete and set(again.epochs[0]) != set(whole.epochs[0]):
        raise NotMeasured("the dataset gives random samples: the shares of ranks cannot be told apart by content")
    worlds: list[World] = []
    same_seeds = False
    for size in _WORLDS if world_size is None else (world_size,):
        if worlds and time.monotonic() - started > budget:
            break
        setting.progress(f"simulating {size} ranks", min(1.0, (time.monotonic() - started) / budget))
        world = _world(found, size, whole, same_seeds=same_seeds)
        if not world.clean and not same_seeds and (alike := _world(found, size, whole, same_seeds=True)).clean:
            world, same_seeds = alike, True
        worlds.append(world)
    seen = ", ".join(str(world.world_size) for world in worlds)
    partly = [] if world_size is not None or len(worlds) == len(_WORLDS) else [f"worlds of {seen} ranks were seen"]
    if not all(world.complete for world in worlds):
        partly.append("the shares were read in part: what is complete cannot be said")
    return Shards(
        worlds=tuple(worlds),
        how=found.how,
        size=len(whole.epochs[0]),
        iterable=iterable,
        shuffles=sampling.shuffles(loader),
        takes_epochs=bool(sampling.what_takes_epochs(loader)),
        same_seeds_needed=same_seeds,
        workers=loader.num_workers,
        partly=tuple(partly),
        seconds=round(time.monotonic() - started, 3),
    )


def _world(found: Simulation, size: int, whole: View, *, same_seeds: bool) -> World:
    views = [found.view(rank, size, seconds=VIEW_SECONDS, same_seeds=same_seeds) for rank in range(size)]
    loader = found.loader
    batches = getattr(loader, "batch_sampler", None)
    by_batches = batches is not None and sampling.named_sampler(loader) is batches
    each = (getattr(loader, "batch_size", None) or 1) if by_batches or loader.drop_last else 1
    drops = bool(loader.drop_last or getattr(sampling.inner_sampler(loader), "drop_last", False))
    # Streams are padded to whole batches of all ranks, by each worker, as accelerate's IterableDatasetShard does.
    pads = size * (loader.batch_size or 1) * max(1, loader.num_workers) - 1
    streams = torch_private.reads_by_iteration(loader)
    return partition(views, whole.epochs[0], slack=size * each - 1, drops=drops, pads=pads if streams else 0)


def judge(evidence: Shards, *, world_size: Count | None = None) -> Verdict:
    """Fail for shares that overlap, miss samples, differ in length or keep their order though told the epoch."""
    if evidence.real is None:
        return verdict_of_worlds(evidence, world_size)
    real = verdict_of(evidence.real, insist=world_size is not None)
    if real.outcome == "failed" or not evidence.worlds:
        return real
    simulated = verdict_of_worlds(evidence, world_size)
    worse = min(real, simulated, key=lambda verdict: ("failed", "inconclusive", "passed").index(verdict.outcome))
    reasons = [each.reason for each in (real, simulated) if each.outcome == worse.outcome]
    return replace(worse, reason="; simulated: ".join(reasons))
