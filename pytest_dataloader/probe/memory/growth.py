"""What the direct test's figures mean: which attributes are copied, what leaks or is cached, what it will cost."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from pytest_dataloader.probe.host.allocator import BLOCK
from pytest_dataloader.probe.memory.copy_on_access import (
    MIB,
    NOTHING,
    WORTH_LOOKING,
    CopiedShare,
    DirectTest,
    Scattered,
)
from pytest_dataloader.probe.memory.footprint import PAGE
from pytest_dataloader.probe.memory.reference_cycles import ReferenceCycles, cycles_of
from pytest_dataloader.probe.memory.sample_reader import AGAIN, FIRST, GROWTH_BLOCKS, NOISE_BLOCKS, SECOND, WARM

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_dataloader.probe.memory.exposure import Exposure

GrowthKind = Literal[
    "clean",
    "warm_up",
    "copy_on_access",
    "cache",
    "leak",
    "duplicated",
    "retained",
    "reference_cycles",
    "sampler_memory",
]

MATTERS = MIB
"""Bytes per worker below which copies are reported and not judged: 10,000 paths. The smallest fault of the
calibration is 2 MB; what is found reliably begins at 0.1 MiB."""
CERTAIN = 0.10
"""Lower bound of the copied share from which an attribute is guilty: clean attributes stay at 0.03 at most, and
guilty ones were at 0.15 (a permuted list of 20 MiB) and above."""
CERTAIN_SMALL = 0.30
"""The same below 1 MiB, where a lazy import on a shared page counts for more: up to 0.10 in clean loaders."""
WRITTEN_HITS = 20
"""Pages of arrays' elements that were written to from which arrays are changed in place, however few positions are
known: 9 clean kinds of ``benchmarks/memory_writing.py``, buffers among them, have none at all."""
SCATTERED_HITS = 20
SCATTERED_SHARE = 0.2
"""Where reading jumps about in a large container, hits must reach this share of what its reads could touch: guilty
lists reach 0.9 to 1.0, unread ones 0.00."""
LEAK_BYTES = 256.0
"""Per sample, from which allocation counts as growth; clean loaders stay below 20 bytes."""
LEAK_LEAST_BYTES = 64 * 1024
SLOW_LEAK_BYTES, SLOW_LEAK_LEAST_BYTES = 48.0, 96 * 1024
"""A lower rate counts once it has added up to more than glibc's per-thread caches could hide (230 kB at the very
most, filled in the first window): a batch of 64 small samples that is kept is 90 bytes a sample."""
LEAST_LATER = 200
"""Samples from which later windows outweigh the first ones: on a busy machine slow datasets read few, and the noise of
142 blocks in a window would hide what a small record of each leaves."""
CHUNKS, CHUNKS_BYTES = 32, 4 * MIB
"""Elements that a container must gain as samples are read, and bytes with them, before it counts as a cache although it
is full after the first thousand samples: decoded row groups, volumes, the images of a small dataset."""
WARM_UP = 16 * MIB
"""Private memory beyond the idle control's once a worker has begun: 6 to 7 MiB in every clean loader, 60 and more
with imports in the worker."""
UNATTRIBUTED = 3 * MIB // 2
"""Shared memory lost over two windows of new samples that counts where totals are all there is: 0.4 MiB in most clean
loaders. Buffers that reuse memory freed before the fork lost 1.6 MiB once in 138, so it never counts by itself."""


def with_kind(kinds: tuple[GrowthKind, ...], found: GrowthKind) -> tuple[GrowthKind, ...]:
    """Kinds with one more that was found: clean and warm_up stand alone."""
    return (*(kind for kind in kinds if kind not in ("clean", "warm_up", found)), found)


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute (``path``) and what reading does to it. ``finest`` is the deepest path that most of it lies under.

    ``exposed_bytes`` is what a worker copies if it reads all of it, ``growth_bytes`` what it will have copied after
    an epoch; ``written``: these are elements of arrays, which samples change in place, and no reference counts.
    ``object_bytes`` is the size of a pickled copy, ``share_copied`` what was seen of the sampled objects.
    """

    path: str
    finest: str
    type: str
    count: int
    exposed_bytes: int
    object_bytes: int
    share_copied: float
    share_at_least: float
    sampled: int
    written: bool
    copied: bool
    copied_bytes: int
    growth_bytes: int
    growth_if_copied_bytes: int


@dataclass(frozen=True, slots=True)
class EpochShape:
    """What shapes an epoch: samples, workers, samples per batch, whether the order is random, and whether workers go on
    to the next one, where each comes to read what others have read."""

    samples: int
    workers: int
    batch: int
    shuffled: bool
    persistent: bool = False


@dataclass(frozen=True, slots=True)
class Accumulation:
    """Allocation that outlives a sample: per sample, where it shows, and the most elements where that is bounded.

    ``by_element``: bytes are of each element of a container that is full, which many samples have in common.
    """

    kind: Literal["none", "leak", "cache"]
    bytes_per_sample: float = 0.0
    attribute: str = ""
    most: int | None = None
    by_element: bool = False


def epoch_share(bytes_per_sample: float, epoch: EpochShape) -> float:
    """Share of an attribute's pages that one worker has written to after an epoch.

    A page holds ``PAGE / bytes_per_sample`` samples. In random order each goes to one of N workers by chance:
    1 - (1 - 1/N)^samples. In order, a page belongs to the few batches that it overlaps.
    """
    on_page = max(1.0, PAGE / max(bytes_per_sample, 1e-9))
    if epoch.workers <= 1 or (epoch.persistent and epoch.shuffled):
        return 1.0
    if epoch.shuffled:
        return float(1 - (1 - 1 / epoch.workers) ** on_page)
    return min(1.0, (1 + (on_page - 1) / max(1, epoch.batch)) / epoch.workers)


def is_copied(exposure: Exposure, share: CopiedShare, scattered: Scattered | None) -> bool:
    """Whether reading copies these objects, beyond doubt."""
    if exposure.exposed < WORTH_LOOKING:
        return False
    if share.low >= (CERTAIN if exposure.exposed >= MIB else CERTAIN_SMALL):
        return True
    if exposure.content:
        return share.low > 0 and share.hits >= WRITTEN_HITS
    if scattered is None or not exposure.path.endswith("[*]"):
        return False
    return scattered.reader >= max(SCATTERED_HITS, 10 * scattered.control, SCATTERED_SHARE * scattered.expected)


def attributes_of(found: DirectTest, epoch: EpochShape) -> tuple[Attribute, ...]:
    """Every attribute worth a line, largest copies first."""
    grouped: dict[str, list[Exposure]] = {}
    for exposure in found.walk.exposures:
        grouped.setdefault(exposure.attribute, []).append(exposure)
    lines = [_attribute(path, exposures, found, epoch) for path, exposures in grouped.items()]
    worth = [line for line in lines if line.exposed_bytes >= WORTH_LOOKING or line.object_bytes >= WORTH_LOOKING]
    return tuple(sorted(worth, key=lambda line: (-line.copied_bytes, -line.exposed_bytes, -line.object_bytes)))


def _attribute(path: str, exposures: Sequence[Exposure], found: DirectTest, epoch: EpochShape) -> Attribute:
    scattered = found.scattered.get(path)
    copied: list[Exposure] = []
    elsewhere: list[Exposure] = []
    for exposure in exposures:
        guilty = is_copied(exposure, found.shares.get(id(exposure), NOTHING), scattered)
        if guilty or not exposure.content:  # what is not written to of an array's elements costs nothing
            (copied if guilty else elsewhere).append(exposure)
    paying = copied or elsewhere
    most = max(paying, key=lambda exposure: exposure.exposed)
    share = found.shares.get(id(most), NOTHING)
    # A direct look at the positions read says what a whole pass does; a scattered one says only that it happens.
    whole = {id(slot): slot.exposed * _seen_share(slot, found.shares.get(id(slot), NOTHING)) for slot in copied}
    order = replace(epoch, shuffled=epoch.shuffled or path in found.walk.scattered)
    # Objects of a type lie together, so each type has its own number of samples to a page.
    part = {id(slot): epoch_share(slot.exposed / max(1, epoch.samples), order) for slot in paying}
    if found.plan.iterable:  # a worker that takes every Nth row has every page; only contiguous shards are less
        part = dict.fromkeys(part, 1.0)
    return Attribute(
        path=path,
        finest=finest_path(path, paying),
        type=most.type,
        count=round(most.count),
        exposed_bytes=round(sum(exposure.exposed for exposure in copied + elsewhere)),
        object_bytes=round(sum(exposure.held for exposure in exposures)),
        share_copied=round(share.reader, 4),
        share_at_least=round(max(0.0, share.low), 4),
        sampled=share.count,
        written=most.content,
        copied=bool(copied),
        copied_bytes=round(sum(whole.values())),
        growth_bytes=round(sum(size * part[slot] for slot, size in whole.items())),
        growth_if_copied_bytes=round(sum(slot.exposed * part[id(slot)] for slot in paying)),
    )


def _seen_share(exposure: Exposure, share: CopiedShare) -> float:
    return share.reader if exposure.content or share.reader >= 0.5 else 1.0


def finest_path(path: str, exposures: Iterable[Exposure], most: float = 0.5) -> str:
    """The deepest path that ends in a name and that holds ``most`` of the bytes: ``dataset.samples[*]['path']``.

    A place in a tuple or a list names nothing, so ``dataset.samples[*][0]`` is ``dataset.samples``.
    """
    sizes = [(exposure.path, exposure.exposed) for exposure in exposures]
    total = sum(size for _, size in sizes)
    best = path
    for candidate, _ in sizes:
        trimmed = candidate
        while trimmed.endswith("]") and not trimmed.endswith("']"):
            trimmed = trimmed[: trimmed.rindex("[")]
        trimmed = trimmed.removesuffix(".keys()")
        below = sum(size for other, size in sizes if other.startswith(trimmed))
        if len(trimmed) > len(best) and trimmed.startswith(path) and below >= most * total:
            best = trimmed
    return best


def accumulation_of(found: DirectTest) -> Accumulation:
    """Tell a leak from a cache: samples read before make a leak grow again, and a cache not."""
    windows = found.windows
    if AGAIN not in windows:
        return Accumulation("none")
    blocks = _per_sample(found, "blocks")
    sizes = _per_sample(found, "malloc_bytes")
    grown = [_gained(found, SECOND, AGAIN, name) for name in ("blocks", "malloc_bytes")]
    least_bytes = SLOW_LEAK_BYTES if grown[1] >= SLOW_LEAK_LEAST_BYTES else LEAK_BYTES
    first, second, again = (max(blocks[at] / GROWTH_BLOCKS, sizes[at] / least_bytes) for at in range(3))
    lasting = grown[0] >= NOISE_BLOCKS or grown[1] >= LEAK_LEAST_BYTES
    if second >= 1 and again >= 1 and again >= second / 2 and lasting:
        if _at_last(found, least_bytes) < again / 2:
            return Accumulation("none")
        return Accumulation("leak", _cost(blocks[2], sizes[2]), _grown(found, SECOND, AGAIN))
    lasting = (
        _gained(found, FIRST, SECOND, "blocks") >= NOISE_BLOCKS
        or _gained(found, WARM, SECOND, "malloc_bytes") >= LEAK_LEAST_BYTES
    )
    if first >= 1 and second >= 1 and second >= first / 2 and again < second / 4 and lasting and not _is_buffer(found):
        path = _grown(found, FIRST, SECOND)
        return Accumulation("cache", _cost(blocks[1], sizes[1]), path, found.walk.bounds.get(path))
    return _full_cache(found)


def _full_cache(found: DirectTest) -> Accumulation:
    """A container that the first samples have filled with something large, and that later ones leave as it is."""
    before, after = (dict(found.windows[name].growth) for name in (WARM, SECOND))
    gains = {path: size - before.get(path, 0) for path, size in after.items()}
    path = max(gains, key=lambda path: gains[path], default="")
    added = _gained(found, WARM, SECOND, "malloc_bytes")
    full = _gained(found, SECOND, AGAIN, "malloc_bytes") < added / 8
    if found.plan.iterable or not full or gains.get(path, 0) < CHUNKS or added < CHUNKS_BYTES:
        return Accumulation("none")
    return Accumulation("cache", added / gains[path], path, after[path], by_element=True)


def _at_last(found: DirectTest, least_bytes: float) -> float:
    """What a sample adds in the later half of the windows that look whether growth goes on; 1 and more is growth."""
    half = len(found.later) // 2
    samples = sum(window.samples for window in found.later[half:])
    if not half or samples < LEAST_LATER:
        return math.inf
    before, after = found.later[half - 1].allocated, found.later[-1].allocated
    blocks = (after.blocks - before.blocks) / samples if after.blocks >= 0 else 0.0
    sizes = (after.malloc_bytes - before.malloc_bytes) / samples if after.malloc_bytes >= 0 else 0.0
    return max(blocks / GROWTH_BLOCKS, sizes / least_bytes)


def leaks(found: DirectTest) -> bool:
    """Whether something is kept of samples that were read before, as far as was seen."""
    return accumulation_of(found).kind == "leak"


def keeps_unnamed(found: DirectTest) -> bool:
    """Whether something is kept and no container that was walked has grown."""
    heap = accumulation_of(found)
    return heap.kind != "none" and not heap.attribute


def reference_cycles(found: DirectTest, samples_of_epoch: float = 0.0) -> ReferenceCycles:
    """Memory that cycles alone hold, in a worker that reads so many samples in an epoch; 0 where that is unknown."""
    windows = [found.windows[name].collected for name in (FIRST, SECOND, AGAIN) if name in found.windows]
    return replace(cycles_of(windows, samples_of_epoch), types=found.cycle_types)


def is_cyclic(found: DirectTest) -> bool:
    """Whether cycles hold so much that it matters what is in them."""
    return reference_cycles(found).peak_bytes >= MATTERS


def _cost(blocks: float, malloc_bytes: float) -> float:
    return max(0.0, blocks) * BLOCK + max(0.0, malloc_bytes)


def _level(found: DirectTest, window: str, name: str) -> int:
    return int(getattr(found.windows[window].allocated, name))


def _gained(found: DirectTest, since: str, until: str, name: str) -> int:
    if _level(found, until, name) < 0:
        return 0
    if until == AGAIN and found.windows[AGAIN].restarted is not None and found.plan.iterable:
        return _level(found, until, name) - max(_level(found, since, name), 0)
    return _level(found, until, name) - _level(found, since, name)


def _per_sample(found: DirectTest, name: str) -> tuple[float, float, float]:
    spans = ((WARM, FIRST), (FIRST, SECOND), (SECOND, AGAIN))
    first, second, again = (
        _gained(found, since, until, name) / max(1, found.windows[until].samples) for since, until in spans
    )
    return first, second, again


def _is_buffer(found: DirectTest) -> bool:
    """Whether what an iterable dataset had gathered went away with its iterator: a shuffle buffer, say."""
    restarted = found.windows[AGAIN].restarted
    if restarted is None:
        return False
    gained = _gained(found, WARM, SECOND, "blocks")
    gained_bytes = _gained(found, WARM, SECOND, "malloc_bytes")
    dropped = _level(found, SECOND, "blocks") - restarted.blocks
    dropped_bytes = _level(found, SECOND, "malloc_bytes") - restarted.malloc_bytes
    return dropped >= gained / 2 > 0 or dropped_bytes >= gained_bytes / 2 > 0


def _grown(found: DirectTest, since: str, until: str) -> str:
    """The container that gained most elements between two windows, else what holds most of what is new."""
    before = dict(found.windows[since].growth)
    gains = {path: size - before.get(path, 0) for path, size in found.windows[until].growth}
    best = max(gains, key=lambda path: gains[path], default="")
    return best if gains.get(best, 0) > 0 else found.holder


def shared_lost(found: DirectTest) -> int | None:
    """Shared memory that the reader lost over its two windows of new samples, beyond the control; None if not told."""
    try:
        warm, second = found.reader[WARM], found.reader[SECOND]
        idle_warm, idle = found.control[WARM], found.control[SECOND]
    except KeyError:
        return None
    return (warm.shared_bytes - second.shared_bytes) - (idle_warm.shared_bytes - idle.shared_bytes)


def warm_up_bytes(found: DirectTest) -> int:
    """Private memory that a worker takes once, beyond an idle fork's; 0 where it was not told."""
    try:
        return max(0, found.reader[WARM].private_bytes - found.control[WARM].private_bytes)
    except KeyError:
        return 0
