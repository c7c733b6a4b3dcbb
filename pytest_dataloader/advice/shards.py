"""What to say of the shares of ranks, real and simulated, and what to change; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_dataloader.quantities import counted
from pytest_dataloader.verdict import Advice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_dataloader.probe.samples.evidence import Shards
    from pytest_dataloader.probe.samples.overlap import Overlap
    from pytest_dataloader.probe.samples.partition import World

EQUALISE = Advice("", "pad or cut the shards to one length, as DistributedSampler does")
COVER = Advice("", "DistributedSampler(dataset, num_replicas=world_size, rank=rank)")
COVER_ALL = Advice("DL406", "divide the samples by samples[rank::world_size], which leaves none out")
OWN_SEED = Advice("DL406", "seed the sampler's generator with the rank: torch.Generator().manual_seed(seed + rank)")
TELL_EPOCH = Advice("DL401", "derive the order from the epoch: generator.manual_seed(seed + epoch) in set_epoch(epoch)")
SAME_ORDER = Advice("", "draw the order from generator.manual_seed(seed + epoch), the same on every rank")
DO_NOT_PAD = Advice("DL409", "evaluate with a sampler that does not pad: padding counts some samples twice in a metric")
ENDS_BY_WORKER = "each worker of a rank ends its own part"
_SHARD = "sampler=DistributedSampler(dataset) for a map-style dataset, samples[rank::world_size] in an iterable one"


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
        return f"{seen.lost:,} of {size:,} samples are read by no rank"
    several = f"{seen.repeated:,} of {size:,} samples are read by several"
    return f"{several}, {seen.lost:,} by none" if seen.lost else several


def otherwise(seen: World, size: int) -> list[str]:
    """What the shares are where each rank has a random state of its own."""
    parts = [uncovered(seen, size)] if seen.repeated or seen.lost else []
    parts += [f"{_batches(seen)} batches a rank"] if seen.unequal else []
    return [f"otherwise {', and '.join(parts)}"] if parts else []


def unequal(subject: str, ranks: Sequence[int], batches: Sequence[int]) -> str:
    """How many batches each of two ranks has; of more ranks, the least and the most."""
    if len(ranks) == len(batches) == 2:
        (one, other), (few, more) = ranks, batches
        return f"rank {one} has {counted(few, 'batch')}, rank {other} has {more:,}"
    return f"{subject} have {min(batches):,} to {max(batches):,} batches"


def _batches(seen: World) -> str:
    return f"{min(seen.batches):,} to {max(seen.batches):,}"


def uneven_alone(evidence: Shards) -> str:
    """What one rank alone repeats or leaves out."""
    return f"one rank alone repeats or leaves out {counted(evidence.uneven_alone, 'sample')} as well: it may be meant"


def incomparable(seen: World, size: int) -> str:
    """Why the samples of ranks cannot be found again in those of one rank alone."""
    return (
        f"{seen.foreign:,} samples are not among the {size:,} that one rank reads alone\n"
        f"{seen.lost:,} of these come on no rank\n"
        "content depends on the rank or on the batch, so shards cannot be compared by it"
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
        return f"{job(seen)}: each reads all {max(seen.samples):,} samples, in another order"
    return f"{job(seen)}: {estimate(seen, seen.repeated)} samples are read by several{who_share(seen)}"


def unsure(seen: Overlap) -> str:
    """Why samples that seem to come on several ranks may be others."""
    if seen.by == "contents":
        return "\nsamples of equal content may be different samples"
    return "\nsamples are random: an index may be another sample on each rank"


def healthy_job(seen: Overlap) -> str:
    """What was seen of the ranks of a job whose shares show no fault."""
    if seen.replaces:
        headline, facts = f"{job(seen)} sample with replacement", ["shards cannot be compared"]
    elif seen.sure:
        headline, facts = f"{job(seen)} are disjoint", []
    else:
        headline, facts = f"{job(seen)}: no sample is seen on two", ["contents change, or cannot be compared"]
    headline += "" if seen.complete else f", in the first {min(seen.samples, default=0):,} samples of each"
    facts += [f"padding repeats {counted(seen.padding, 'sample')}"] if seen.padding else []
    facts += [f"drop_last drops {counted(seen.dropped, 'sample')}"] if seen.dropped else []
    facts += [f"rank {seen.silent[0]}: what it reads could not be seen"] if seen.silent else []
    return "\n".join([headline, *facts])


def healthy_worlds(evidence: Shards, seen: Sequence[World]) -> str:
    """What was seen of simulated ranks whose shares show no fault."""
    sizes = sorted(each.world_size for each in seen)
    unbroken = len(sizes) > 2 and sizes == [*range(sizes[0], sizes[-1] + 1)]
    ranks = f"{f'{sizes[0]} to {sizes[-1]}' if unbroken else ', '.join(map(str, sizes))} ranks"
    provided = " only if all ranks have the same random state" if evidence.same_seeds_needed else ""
    facts = [f"{ranks}: disjoint and complete{provided}"]
    if evidence.same_seeds_needed and evidence.own_states is not None:
        facts += otherwise(evidence.own_states, evidence.size)
    if evidence.replaces:
        facts = [f"{ranks} sample with replacement, each on its own", "shards cannot be compared"]
    facts += [f"{world(each)} raise {each.error.splitlines()[0]}" for each in evidence.worlds if each.error]
    if padded := [f"{each.padding} with {world(each)}" for each in seen if each.padding]:
        facts.append(f"samples repeated by padding: {', '.join(padded)}")
    if cut := [f"{each.dropped} with {world(each)}" for each in seen if each.dropped]:
        facts.append(f"samples dropped at the end: {', '.join(cut)}")
    if uneven := [f"{_batches(each)} with {world(each)}" for each in seen if each.unequal]:
        facts.append(f"different numbers of batches: {', '.join(uneven)}")
    return "\n".join(facts)
