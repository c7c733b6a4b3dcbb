"""What to say of the shares of ranks, real and simulated, and what to change; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_dataloader.verdict import Advice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_dataloader.probe.samples.evidence import Shards
    from pytest_dataloader.probe.samples.overlap import Overlap
    from pytest_dataloader.probe.samples.partition import World

EQUALISE = Advice("", "pad or cut the shares to one length, as DistributedSampler does")
COVER = Advice("", "tell the sampler the number of ranks that there are")
COVER_ALL = Advice("DL406", "hand out the rest too: samples[rank::world_size] leaves none out")
TELL_EPOCH = Advice("DL401", "derive the order from the epoch that set_epoch is told")
SAME_ORDER = Advice(
    "", "draw the order from a generator that is seeded alike on every rank: by a constant and the epoch"
)
DO_NOT_PAD = Advice(
    "DL409", "padding counts some samples twice in a metric: give evaluation its own sampler, without padding"
)
_SHARD = "give each rank its share: a DistributedSampler, or samples[rank::world_size]"


def shard(*, iterable: bool = False) -> Advice:
    """What to change where ranks read the same samples."""
    return Advice("DL405" if iterable else "DL406", _SHARD)


def job(seen: Overlap) -> str:
    """The ranks of a real job as the subject of a sentence."""
    return f"the {len(seen.ranks)} ranks of this job"


def world(seen: World) -> str:
    """Simulated ranks as the subject of a sentence."""
    return f"{seen.world_size} ranks"


def uncovered(seen: World, size: int) -> str:
    """How many of an epoch's samples come on more or fewer than one of the simulated ranks."""
    if not seen.repeated:
        return f"{seen.lost:,} of {size:,} samples come on no rank"
    told = f"{seen.repeated:,} of {size:,} samples come on several ranks"
    return f"{told}, {seen.lost:,} on none" if seen.lost else told


def otherwise(seen: World, size: int) -> str:
    """What the shares are where each rank has a random state of its own."""
    parts = [uncovered(seen, size)] if seen.repeated or seen.lost else []
    parts += [f"{_batches(seen)} batches a rank"] if seen.unequal else []
    return f"; otherwise {', and '.join(parts)}" if parts else ""


def _batches(seen: World) -> str:
    return f"{min(seen.batches):,} to {max(seen.batches):,}"


def incomparable(seen: World, size: int) -> str:
    """Why the samples of ranks cannot be found again in those of one rank alone."""
    return (
        f"{seen.foreign:,} of their samples are not among the {size:,} of one rank alone, of which {seen.lost:,} come "
        "on none: what they hold changes with the rank or with their batch, and shares cannot be told apart by it"
    )


def who_share(seen: Overlap) -> str:
    """The two ranks that share most samples, in brackets; empty where none do."""
    if not seen.pairs:
        return ""
    one, other, count = seen.pairs[0]
    return f" (ranks {one} and {other}: {estimate(seen, count)})"


def estimate(seen: Overlap, count: int) -> str:
    """A number of samples, which is an estimate where not all of them were compared."""
    return f"{count:,}" if seen.one_in == 1 else f"about {count:,}"


def describe_overlap(seen: Overlap) -> str:
    """How far the shares of a job's ranks overlap."""
    if seen.whole:
        return f"{job(seen)}: each reads all {max(seen.samples):,} samples, in orders of their own"
    return f"{job(seen)}: {estimate(seen, seen.repeated)} samples come on more than one{who_share(seen)}"


def unsure(seen: Overlap) -> str:
    """Why samples that seem to come on several ranks may be others."""
    if seen.by == "contents":
        return "; alike samples may be others"
    return "; samples are random, so that an index may mean another sample on each rank"


def healthy_job(seen: Overlap) -> str:
    """What was seen of the ranks of a job whose shares show no fault."""
    if seen.replaces:
        told = f"{job(seen)} draw the same samples again and again: shares of their own cannot be told"
    elif seen.sure:
        told = f"{job(seen)} are disjoint"
    else:
        told = f"{job(seen)}: no sample is seen on two, but their contents change or cannot be compared"
    told += "" if seen.complete else f", in the first {min(seen.samples, default=0):,} samples of each"
    told += f"; padding repeats {seen.padding:,}" if seen.padding else ""
    told += f"; {seen.dropped:,} are left out by drop_last" if seen.dropped else ""
    return told + (f"; rank {seen.silent[0]} could not tell what it reads" if seen.silent else "")


def healthy_worlds(evidence: Shards, seen: Sequence[World]) -> str:
    """What was seen of simulated ranks whose shares show no fault."""
    ranks = f"{', '.join(str(each.world_size) for each in seen)} ranks"
    told = f"{ranks}: disjoint and complete"
    if evidence.replaces:
        told = f"{ranks} draw samples with replacement, each its own: shares cannot be told"
    ends = [(world(each), each.error.splitlines()[0]) for each in evidence.worlds if each.error]
    told += "".join(f"; {ranks} end with {error}" for ranks, error in ends)
    padded = [f"{each.padding} at {each.world_size}" for each in seen if each.padding]
    told += f"; padding repeats {', '.join(padded)}" if padded else ""
    if cut := [f"{each.dropped} at {each.world_size}" for each in seen if each.dropped]:
        told += f"; the rest that does not go round is left out, {', '.join(cut)}"
    if uneven := [f"{_batches(each)} at {each.world_size}" for each in seen if each.unequal]:
        told += f"; different numbers of batches, {', '.join(uneven)}"
    return told
