"""Shards: are the ranks' shares disjoint, complete and of equal length?"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_dataloader.advice import shards as sentences
from pytest_dataloader.advice.coverage import coverage
from pytest_dataloader.errors import EmptyEpoch, NothingSeen, NotMeasured
from pytest_dataloader.probe.internals import torch_private
from pytest_dataloader.probe.loader import sampling
from pytest_dataloader.probe.loader.positions import length_of
from pytest_dataloader.probe.loader.recognition import is_of_library
from pytest_dataloader.probe.samples.evidence import Shards
from pytest_dataloader.probe.samples.overlap import NATURAL, overlap
from pytest_dataloader.probe.samples.partition import World, partition
from pytest_dataloader.probe.samples.rank_simulation import VIEW_SECONDS, Simulation, simulate_ranks
from pytest_dataloader.probe.samples.share import RankShare, rank_share
from pytest_dataloader.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_dataloader.checks import Setting
    from pytest_dataloader.probe.samples.overlap import Overlap
    from pytest_dataloader.probe.samples.partition import View
    from pytest_dataloader.settings.limits import Count

NEEDS_BENCH = False

_WORLDS = (2, 4, 8, 3, 5, 6, 7, 1)
"""In this order, until the budget is spent."""
_SECONDS = 4.0
_SHARE_SECONDS = 1.0
"""For an epoch of what a real rank reads."""
_DEADLOCK = "ranks with more batches hang in their next collective operation"
_MOST_OF = 0.5
"""Ranks that have this share of their contents in common were not given parts; less may come by chance."""


def applies(loader: Any, build: Any) -> bool:
    """Whether anything shards the loader by rank; True where only measuring can tell."""
    try:
        simulate_ranks(loader, build, insist=False)
    except NothingSeen:
        return True
    except NotMeasured:
        return False
    return True


def measure(loader: Any, *, setting: Setting, world_size: int | None = None) -> Shards:
    """Simulate the ranks of worlds of several sizes, each in forked children; no process group is made here.

    In a job of several ranks, tell the others what this one reads. Alone, raises NotMeasured where nothing shards the
    loader by rank, unless ``world_size`` asks for it.
    """
    if setting.ranks == 1:
        return _simulated(loader, setting, world_size)
    setting.tell(rank_share(loader, seconds=max(_SHARE_SECONDS, setting.seconds / 3)).encode())
    try:
        return _simulated(loader, setting, world_size)
    except NotMeasured as error:
        iterable, epochs = torch_private.reads_by_iteration(loader), bool(sampling.what_takes_epochs(loader))
        return Shards((), "environment", 0, iterable, sampling.shuffles(loader), epochs, unsimulated=str(error))


def merge_ranks(evidence: Shards, told: Mapping[int, str], world_size: int) -> Shards:
    """The evidence with what the ranks of a job really have in common."""
    shares = {rank: RankShare.decode(text) for rank, text in told.items()}
    return replace(evidence, real=overlap(shares, world_size))


def _simulated(loader: Any, setting: Setting, world_size: int | None) -> Shards:
    started = time.monotonic()
    found = simulate_ranks(loader, setting.build, insist=world_size is not None)
    budget = setting.budget(_SECONDS)
    whole = _alone(found)
    iterable = torch_private.reads_by_iteration(loader)
    replaces = not iterable and len(set(whole.epochs[0])) < (1 - NATURAL) * len(whole.epochs[0])
    two = _world(found, world_size or 2, whole, same_seeds=True)
    if not iterable and found.how != "sampler" and not (two.clean or two.error):
        found = replace(found, by_content=True)
        whole = _alone(found)
    again = _alone(found, same_seeds=True)
    if (iterable or found.by_content) and whole.complete and set(again.epochs[0]) != set(whole.epochs[0]):
        raise NotMeasured("samples are random: the shards of ranks cannot be compared by content")
    worlds: list[World] = []
    same_seeds, own_states = False, None
    for size in _WORLDS if world_size is None else (world_size,):
        if worlds and (setting.quick or time.monotonic() - started > budget):
            break
        setting.progress(f"simulating {size} ranks", min(1.0, (time.monotonic() - started) / budget))
        world = _world(found, size, whole, same_seeds=same_seeds)
        if not world.clean and not same_seeds and (alike := _world(found, size, whole, same_seeds=True)).clean:
            world, same_seeds, own_states = alike, True, world
        worlds.append(world)
    *most, last = (str(size) for size in sorted(world.world_size for world in worlds))
    seen = f"{', '.join(most)} and {last}" if most else last
    partly = [] if world_size is not None or len(worlds) == len(_WORLDS) else [f"{seen} ranks were simulated"]
    if not all(world.complete for world in worlds):
        partly.append("shards were read in part: completeness is not known")
    return Shards(
        worlds=tuple(worlds),
        how=found.how,
        size=len(whole.epochs[0]),
        iterable=iterable,
        shuffles=sampling.shuffles(loader),
        takes_epochs=bool(sampling.what_takes_epochs(loader)),
        same_seeds_needed=same_seeds,
        own_states=own_states,
        workers=loader.num_workers,
        partly=tuple(partly),
        seconds=round(time.monotonic() - started, 3),
        replaces=replaces,
        of_library=is_of_library(loader.dataset),
        uneven_alone=0 if iterable or replaces else _uneven(whole, length_of(loader.dataset)),
    )


def _uneven(whole: View, size: int) -> int:
    """How many samples an epoch of one rank repeats, or leaves out where it repeats some."""
    given = whole.epochs[0]
    repeated = len(given) - len(set(given))
    return max(repeated, size - len(set(given))) if repeated and whole.complete else 0


def _alone(found: Simulation, *, same_seeds: bool = False) -> View:
    """What the only rank of a world reads. Raises NotMeasured where it raises or gives nothing."""
    view = found.view(0, 1, seconds=VIEW_SECONDS, same_seeds=same_seeds)
    if view.error:
        raise NotMeasured(f"a world of one rank cannot be simulated: {view.error}")
    if not view.epochs[0]:
        raise EmptyEpoch("a world of one rank gives no sample: the epoch is empty")
    return view


def _world(found: Simulation, size: int, whole: View, *, same_seeds: bool) -> World:
    views = [found.view(rank, size, seconds=VIEW_SECONDS, same_seeds=same_seeds) for rank in range(size)]
    loader = found.loader
    batches = getattr(loader, "batch_sampler", None)
    by_batches = batches is not None and sampling.named_sampler(loader) is batches
    each = (getattr(loader, "batch_size", None) or 1) if by_batches or loader.drop_last else 1
    drops = bool(loader.drop_last or getattr(sampling.inner_sampler(loader), "drop_last", False))
    rest = whole.batches - sum(view.batches for view in views)
    if by_batches and len({view.batches for view in views}) == 1 and 0 < abs(rest) < size:
        # The last round of batches is left out, or filled up.
        each, drops = max(view.largest_batch for view in views), drops or rest > 0
    # To whole batches of all ranks, as accelerate does; its IterableDatasetShard has each worker do so.
    batch = loader.batch_size or getattr(batches, "batch_size", None) or 1
    streams = torch_private.reads_by_iteration(loader)
    pads = size * batch * max(1, loader.num_workers) - 1 if streams else -len(whole.epochs[0]) % (size * batch)
    whole_batches = (loader.batch_size or 0) if streams else 0
    return partition(views, whole.epochs[0], slack=size * each - 1, drops=drops, pads=pads, whole_batches=whole_batches)


def judge(evidence: Shards, *, world_size: Count | None = None) -> Verdict:
    """Fail for shares that overlap, miss samples, differ in length or keep their order though told the epoch."""
    if evidence.real is None:
        return _of_worlds(evidence, world_size)
    real = _of_job(evidence.real, insist=world_size is not None)
    if real.outcome == "failed" or not evidence.worlds:
        return real
    simulated = _of_worlds(evidence, world_size)
    worse = min(real, simulated, key=lambda verdict: ("failed", "inconclusive", "passed").index(verdict.outcome))
    reasons = [each.reason for each in (real, simulated) if each.outcome == worse.outcome]
    return replace(worse, reason="\nsimulated: ".join(reasons))


def _of_job(seen: Overlap, *, insist: bool) -> Verdict:
    """Fail for ranks that read the same, or miss samples; what may be meant is inconclusive, unless asked to insist."""
    ranks, shard = sentences.job(seen), (sentences.shard(iterable=seen.iterable),)
    if seen.unequal:
        lengths = sentences.unequal(ranks, seen.ranks, seen.batches)
        return Verdict("failed", f"{lengths}\n{_DEADLOCK}", (sentences.EQUALISE,))
    if seen.alike:
        same = f"{ranks} read the same samples in the same order{sentences.who_share(seen)}"
        if seen.by == "indices" and not seen.shuffles and not insist:
            return Verdict("inconclusive", f"{same}\nright in evaluation on every rank, wrong in training", shard)
        return Verdict("failed", same, shard)
    shared = seen.repeated if seen.by == "indices" or not seen.repeated else seen.most_shared
    if shared and not seen.replaces:
        if seen.sure if seen.by == "indices" else shared >= _MOST_OF:
            return Verdict("failed", sentences.describe_overlap(seen), shard)
        return Verdict("inconclusive", sentences.describe_overlap(seen) + sentences.unsure(seen), shard)
    if seen.lost:
        lost = sentences.estimate(seen, seen.lost)
        return Verdict("failed", f"{ranks}: {lost} samples are read by none", (sentences.COVER,))
    return Verdict("passed", sentences.healthy_job(seen))


def _of_worlds(evidence: Shards, world_size: int | None) -> Verdict:
    """Fail for shares that overlap, miss samples, differ in length or keep their order though told the epoch.

    A size that nobody asked for and at which the loader raises, as with more ranks than archives, is told and no doubt
    of the others: it would be loud, and how many sizes are reached depends on the machine's speed.
    """
    part = coverage(evidence.partly)
    worlds = [world for world in evidence.worlds if not world.error]
    proven = world_size is None and any(world.world_size > 1 for world in worlds)
    for world in worlds if proven else evidence.worlds:
        ranks = sentences.world(world)
        if world.unsharded:
            change = sentences.OWN_SEED if evidence.replaces else sentences.shard(iterable=evidence.iterable)
            return Verdict("failed", f"{ranks} read the same samples", (change,))
        if world.error:
            return Verdict("failed" if world_size else "inconclusive", f"{ranks} raise {world.error}{part}")
        unsure = world.incomparable or evidence.replaces or evidence.uneven(world) or evidence.ends_by_worker(world)
        if (world.repeated or world.lost) and not unsure:
            seen = sentences.uncovered(world, evidence.size)
            change = sentences.shard() if world.repeated else sentences.COVER_ALL
            return Verdict("failed", f"{ranks}: {seen}{part}", (change,))
        if world.unequal and (world_size or not evidence.iterable):
            lengths = sentences.unequal(ranks, range(world.world_size), world.batches)
            return Verdict("failed", f"{lengths}\n{_DEADLOCK}", (sentences.EQUALISE,))
    if evidence.shuffles and evidence.takes_epochs and all(world.same_order for world in worlds):
        return Verdict(
            "failed", "set_epoch changes nothing: the order is the same in every epoch", (sentences.TELL_EPOCH,)
        )
    if doubtful := next((world for world in worlds if world.incomparable), None):
        doubts = sentences.incomparable(doubtful, evidence.size)
        return Verdict("inconclusive", f"{sentences.world(doubtful)}: {doubts}{part}")
    if not evidence.replaces and (uneven := next((world for world in worlds if world.repeated or world.lost), None)):
        found = sentences.uncovered(uneven, evidence.size)
        why = sentences.uneven_alone(evidence) if evidence.uneven_alone else sentences.ENDS_BY_WORKER
        return Verdict("inconclusive", f"{sentences.world(uneven)}: {found}\n{why}{part}")
    seen = sentences.healthy_worlds(evidence, worlds)
    padded = any(world.padding for world in worlds)
    in_order = not evidence.shuffles and all(world.same_order for world in worlds)
    advice = (sentences.DO_NOT_PAD,) if padded and in_order else ()
    if evidence.same_seeds_needed:
        return Verdict("inconclusive", seen + part, (sentences.SAME_ORDER, *advice))
    return Verdict("passed", seen + part, advice)
