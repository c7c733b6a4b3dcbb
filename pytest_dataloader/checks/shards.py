"""Shards: are the ranks' shares disjoint, complete and of equal length?"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pytest_dataloader.errors import NotMeasured
from pytest_dataloader.probe import sampling, torch_private
from pytest_dataloader.probe.partition import World, partition
from pytest_dataloader.probe.ranks import VIEW_SECONDS, How, Simulation, View, simulate
from pytest_dataloader.verdict import Advice, Verdict

if TYPE_CHECKING:
    from pytest_dataloader.checks import Setting
    from pytest_dataloader.limits import Count

NEEDS_BENCH = False

_WORLDS = (2, 4, 8, 3, 5, 6, 7, 1)
"""In this order, until the budget is spent."""
_SECONDS = 4.0


@dataclass(frozen=True, slots=True)
class Shards:
    """What ranks would read in worlds of several sizes. ``how`` they were told their rank.

    ``same_seeds_needed``: the shares are right only where all ranks have the same random state.
    """

    worlds: tuple[World, ...]
    how: How
    size: int
    iterable: bool
    shuffles: bool
    takes_epochs: bool
    same_seeds_needed: bool
    workers: int
    partly: tuple[str, ...]
    seconds: float


def measure(loader: Any, *, setting: Setting, world_size: int | None = None) -> Shards:
    """Simulate the ranks of worlds of several sizes, each in forked children; no process group is made here.

    Raises NotMeasured where nothing shards the loader by rank, unless ``world_size`` asks for it.
    """
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
    return partition(views, whole.epochs[0], slack=size * each - 1, drops=drops)


def judge(evidence: Shards, *, world_size: Count | None = None) -> Verdict:
    """Fail for shares that overlap, miss samples, differ in length or keep their order though told the epoch."""
    part = "".join(f"; {each}" for each in evidence.partly)
    for world in evidence.worlds:
        if world.unsharded:
            code = "DL405" if evidence.iterable else "DL406"
            return Verdict("failed", f"{_of(world)} read the same samples", (Advice(code, _SHARD),))
        if world.error:
            return Verdict("failed" if world_size else "inconclusive", f"{_of(world)} raise {world.error}{part}")
        if world.repeated or world.lost:
            seen = f"{world.repeated:,} samples come on several ranks, {world.lost:,} on none"
            return Verdict("failed", f"{_of(world)}: {seen} of {evidence.size:,}{part}", (Advice("DL406", _SHARD),))
        if world.unequal and (world_size or not evidence.iterable):
            seen = f"{min(world.batches)} to {max(world.batches)} batches"
            return Verdict("failed", f"{_of(world)} have {seen}: some wait for ever", (Advice("", _EQUAL),))
    if evidence.shuffles and evidence.takes_epochs and all(world.same_order for world in evidence.worlds):
        return Verdict("failed", "set_epoch changes nothing: ranks keep their order", (Advice("DL401", _EPOCH),))
    padded = [f"{world.padding} at {world.world_size}" for world in evidence.worlds if world.padding]
    told = f"{', '.join(str(world.world_size) for world in evidence.worlds)} ranks: disjoint and complete"
    told += f"; padding repeats {', '.join(padded)}" if padded else ""
    if cut := [f"{world.dropped} at {world.world_size}" for world in evidence.worlds if world.dropped]:
        told += f"; the rest that does not go round is left out, {', '.join(cut)}"
    if uneven := [str(world.world_size) for world in evidence.worlds if world.unequal]:
        told += f"; shares of different lengths with {', '.join(uneven)}"
    advice = (Advice("DL409", _PADDED),) if padded and not evidence.shuffles else ()
    if evidence.same_seeds_needed:
        return Verdict("inconclusive", f"{told}, only where all ranks have the same random state{part}", advice)
    return Verdict("passed", told + part, advice)


def _of(world: World) -> str:
    return f"{world.world_size} ranks"


_SHARD = "give each rank its share: a DistributedSampler, or samples[rank::world_size]"
_EQUAL = "pad or cut the shares to one length, as DistributedSampler does"
_EPOCH = "derive the order from the epoch that set_epoch is told"
_PADDED = "padding counts some samples twice in a metric: give evaluation its own sampler, without padding"
