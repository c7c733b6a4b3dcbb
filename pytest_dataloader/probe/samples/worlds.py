"""What simulated ranks say of the shares of a loader; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_dataloader.verdict import Advice, Verdict

if TYPE_CHECKING:
    from pytest_dataloader.checks.shards import Shards
    from pytest_dataloader.probe.samples.partition import World


def verdict_of_worlds(evidence: Shards, world_size: int | None) -> Verdict:
    """Fail for shares that overlap, miss samples, differ in length or keep their order though told the epoch.

    A size that nobody asked for and at which the loader raises, as with more ranks than archives, is told and no doubt
    of the others: it would be loud, and how many sizes are reached depends on the machine's speed.
    """
    part = "".join(f"; {each}" for each in evidence.partly)
    worlds = [world for world in evidence.worlds if not world.error]
    proven = world_size is None and any(world.world_size > 1 for world in worlds)
    for world in worlds if proven else evidence.worlds:
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
    if evidence.shuffles and evidence.takes_epochs and all(world.same_order for world in worlds):
        return Verdict("failed", "set_epoch changes nothing: ranks keep their order", (Advice("DL401", _EPOCH),))
    padded = [f"{world.padding} at {world.world_size}" for world in worlds if world.padding]
    told = f"{', '.join(str(world.world_size) for world in worlds)} ranks: disjoint and complete"
    ends = [(_of(world), world.error.splitlines()[0]) for world in evidence.worlds if world.error]
    told += "".join(f"; {ranks} end with {error}" for ranks, error in ends)
    told += f"; padding repeats {', '.join(padded)}" if padded else ""
    if cut := [f"{world.dropped} at {world.world_size}" for world in worlds if world.dropped]:
        told += f"; the rest that does not go round is left out, {', '.join(cut)}"
    if uneven := [str(world.world_size) for world in worlds if world.unequal]:
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
