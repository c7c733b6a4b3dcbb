"""The evidence of the checks of samples: their order, their randomness, the shares of ranks, and resuming."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pytest_dataloader.probe.samples.continuation import Resumption
    from pytest_dataloader.probe.samples.draws import DrawFault
    from pytest_dataloader.probe.samples.fields import Field
    from pytest_dataloader.probe.samples.overlap import Overlap
    from pytest_dataloader.probe.samples.partition import World
    from pytest_dataloader.probe.samples.resumption import Overhead
    from pytest_dataloader.probe.samples.sequence import OrderFault
    from pytest_dataloader.probe.samples.worker_counts import WorkerCount

How = Literal["arguments", "environment", "sampler"]
"""Who is told the rank: the user's callable by its arguments; RANK and WORLD_SIZE, with a process group that is only
pretended; the distributed sampler, made anew.
"""


@dataclass(frozen=True, slots=True)
class Order:
    """What came in two epochs. ``repeated`` and ``left_out`` are of the sampler's whole epoch, in samples.

    ``reshuffled`` is None where nothing shuffles, or too little was seen; ``compared`` counts the samples that were
    held against those of one process. ``passes``: how often an epoch goes through all that the sampler gives.
    ``unseen_batches``: by how many an epoch that ends of itself is shorter than the loader's len(). ``batches`` came in
    the first epoch, and ``batches_told`` are what len() of the loader says, 0 where it has none.
    ``fields`` of its batches; ``last_batch`` has so many samples, 0 where it was not seen. ``fewer_workers``: what a
    stream gives with each smaller number of workers.
    """

    faults: tuple[OrderFault, ...]
    iterable: bool
    sampler: str
    size: int
    samples: tuple[int, ...]
    repeated: int
    left_out: int
    dropped_last: int
    reshuffled: bool | None
    compared: int
    samples_per_worker: tuple[int, ...]
    workers: int
    persistent_workers: bool
    partly: tuple[str, ...]
    seconds: float
    passes: int = 1
    unseen_batches: int = 0
    batches: int = 0
    batches_told: int = 0
    recurring: float = 0.0
    """Of a stream, the share of the samples of a batch that came in one batch in the epoch before; 0 for few."""
    fields: tuple[Field, ...] = ()
    last_batch: int = 0
    batch_size: int = 1
    shuffles: bool = False
    fewer_workers: tuple[WorkerCount, ...] = ()
    endless: bool = False
    """Whether the sampler has no length and goes on after as many indices as there are samples."""
    never_read: int = 0
    """Samples at the end of the dataset, fewer than a batch, that a sampler of the user's gives in neither epoch though
    it shuffles the others."""


@dataclass(frozen=True, slots=True)
class Randomness:
    """Which random draws two workers, epochs or ranks have in common.

    ``drawn`` are the generators that made samples draw from, ``alike`` when each that may be meant to gives the same
    numbers again, by generator; ``varies`` says whether a sample read again in the same
    worker was another one (None where samples cannot be asked for again).
    """

    faults: tuple[DrawFault, ...]
    drawn: tuple[str, ...]
    alike: dict[str, str]
    varies: bool | None
    workers: int
    epochs: int
    samples_read: int
    ranks: int
    start_method: str
    persistent_workers: bool
    partly: tuple[str, ...]
    seconds: float
    changed_by_reading: str = ""
    seeds_process: tuple[str, ...] = ()
    """Global generators that reading seeds in the process that trains: without workers."""
    """What of the dataset reading changes, where that alone makes samples change: the check of order tells it."""


_UNEVEN = 2
"""Times as much as in one rank alone: it depends on what is left of the groups of a shuffled order, 10 of 400 in one
rank and 39 in five of torchvision's grouping by aspect ratio."""


@dataclass(frozen=True, slots=True)
class Shards:
    """What ranks would read in worlds of several sizes. ``how`` they were told their rank; in a job also what its
    ranks do read, and ``unsimulated`` why no others were looked at. ``replaces``: an epoch of one rank alone holds
    samples several times, as sampling with replacement does, and what ranks have in common may come by chance.
    ``uneven_alone``: samples that one rank alone repeats, or leaves out for them, as samplers that fill batches up do.

    ``same_seeds_needed``: the shares are right only where all ranks have the same random state; ``own_states``: what
    they are otherwise.
    """

    worlds: tuple[World, ...]
    how: How
    size: int
    iterable: bool
    shuffles: bool
    takes_epochs: bool
    same_seeds_needed: bool = False
    own_states: World | None = None
    workers: int = 0
    partly: tuple[str, ...] = ()
    seconds: float = 0.0
    real: Overlap | None = None
    unsimulated: str = ""
    replaces: bool = False
    uneven_alone: int = 0
    of_library: bool = False
    """Whether the class of the dataset is a library's."""

    def ends_by_worker(self, world: World) -> bool:
        """Whether what is lost is no more than a sample of each worker, where a library's stream ends in each."""
        rest = world.world_size * max(1, self.workers)
        return self.iterable and self.of_library and not world.repeated and 0 < world.lost <= rest

    def uneven(self, world: World) -> bool:
        """Whether what is repeated or lost is no more than what each rank repeats or loses alone, within a factor."""
        return max(world.repeated, world.lost) <= _UNEVEN * world.world_size * self.uneven_alone


@dataclass(frozen=True, slots=True)
class Resume:
    """How each stop went on, and the cost of snapshots where it was asked for or ``--dataloader-bench`` gives time.

    ``follows_random_state``: the order is another one with other random states, and samples are counted; ``orders`` is
    what gives it, and ``keeper`` the class of the user's whose ``state_dict`` says how far it is, if any. ``reloaded``:
    stops whose state was loaded with ``reloading_workers`` workers.
    """

    stops: tuple[Resumption, ...]
    batches: int
    overhead: Overhead | None
    workers: int
    persistent_workers: bool
    partly: tuple[str, ...]
    seconds: float
    follows_random_state: bool = False
    orders: str = ""
    keeper: str = ""
    reloading_workers: int = 0
    reloaded: tuple[Resumption, ...] = ()
