"""What a loader's sampler is and gives; and which samples a plan of a few asks for."""

from __future__ import annotations

import contextlib
import itertools
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.internals import torch_private
from pytest_dataloader.probe.loader.positions import indices_in, length_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

RANK_NAMES = ("rank", "global_rank", "process_index", "node_rank")
WORLD_NAMES = ("world_size", "num_replicas", "num_processes", "world")
"""Names of arguments and attributes by which callables and samplers are told their rank and the number of ranks."""


def inner_sampler(loader: Any) -> Any:
    """What yields single indices: the sampler behind the batches, however many samplers wrap it."""
    sampler = loader.batch_sampler if torch_private.reads_batches(loader) else loader.sampler
    for _ in range(8):
        inner = vars(sampler).get("sampler") if hasattr(sampler, "__dict__") else None
        if inner is None:
            break
        sampler = inner
    return sampler


def shuffles(loader: Any) -> bool:
    """Whether a loader is known to shuffle: torch's own samplers, and those that say so."""
    from torch.utils.data import RandomSampler, SubsetRandomSampler, WeightedRandomSampler

    sampler = inner_sampler(loader)
    if isinstance(sampler, RandomSampler | SubsetRandomSampler | WeightedRandomSampler):
        return True
    return getattr(sampler, "shuffle", False) is True or type(sampler).__name__ == "RandomSampler"


def is_of_torch(loader: Any) -> bool:
    """Whether a loader's sampler is one of torch's own."""
    return type(inner_sampler(loader)).__module__.startswith("torch.")


def total_size_of(loader: Any) -> int:
    """How many samples all ranks together read in an epoch by their sampler's own ``total_size``; 0 without one."""
    for sampler in (getattr(loader, "batch_sampler", None), inner_sampler(loader)):
        if isinstance(size := getattr(sampler, "total_size", None), int):
            return size
    return 0


def is_distributed(loader: Any) -> bool:
    """Whether a loader's sampler gives one rank's share."""
    sampler = inner_sampler(loader)
    return any(hasattr(sampler, name) for name in WORLD_NAMES) and any(hasattr(sampler, name) for name in RANK_NAMES)


def first_indices(loader: Any, most: int) -> list[Any]:
    """Up to ``most`` different indices, the first that the sampler gives. Draws from it."""
    found: dict[Any, Any] = {}
    many = torch_private.reads_batches(loader)
    for each in itertools.islice(torch_private.index_sampler(loader), 4 * most):
        for index in indices_in(each, many=True) if many else (each,):
            found.setdefault(_key(index), index)
        if len(found) >= most:
            break
    return list(found.values())[:most]


def _key(index: Any) -> Any:
    """What tells an index from others: one that cannot be a key (a set of cuts, an array) is taken as it is."""
    try:
        hash(index)
    except TypeError:
        return type(index), id(index)
    return index


def fetches_batches(loader: Any) -> bool:
    """Whether workers ask the dataset for whole batches, by ``__getitems__``."""
    whole = torch_private.reads_batches(loader) and not torch_private.reads_by_iteration(loader)
    return whole and callable(getattr(loader.dataset, "__getitems__", None))


def what_takes_epochs(loader: Any) -> dict[str, Any]:
    """What a training loop tells the epoch, by name: samplers and the dataset, where they have ``set_epoch``."""
    parts = {
        "sampler": inner_sampler(loader),
        "batch_sampler": getattr(loader, "batch_sampler", None),
        "dataset": loader.dataset,
    }
    return {name: part for name, part in parts.items() if callable(getattr(part, "set_epoch", None))}


@contextlib.contextmanager
def epochs_told(loader: Any) -> Iterator[Callable[[int], None]]:
    """A function that tells a loader's parts the epoch, as a training loop does; afterwards they are told their own."""
    parts = list(what_takes_epochs(loader).values())
    own = [getattr(part, "epoch", 0) for part in parts]

    def tell(epoch: int) -> None:
        for part in parts:
            part.set_epoch(epoch)

    try:
        yield tell
    finally:
        for part, epoch in zip(parts, own, strict=True):
            with contextlib.suppress(Exception):  # an epoch that is not told by a number is put back by its attributes
                part.set_epoch(int(epoch))


def expected_indices(loader: Any) -> Sequence[int] | None:
    """What an epoch must give once each, by torch's own samplers; None where repeating or leaving out may be meant."""
    from torch.utils.data import RandomSampler, SequentialSampler, SubsetRandomSampler

    sampler, size = inner_sampler(loader), length_of(loader.dataset)
    outer = getattr(loader, "batch_sampler", None)
    if outer is not None and not cuts_batches(outer):
        return None
    if isinstance(sampler, SubsetRandomSampler):
        return [int(index) for index in sampler.indices]
    if type(sampler).__name__ not in (RandomSampler.__name__, SequentialSampler.__name__) or not size:
        return None
    if getattr(sampler, "replacement", False) or getattr(sampler, "num_samples", size) != size:
        return None
    return range(size) if length_of(getattr(sampler, "data_source", loader.dataset)) == size else None


def cuts_batches(batch_sampler: Any) -> bool:
    """Whether a batch sampler is torch's own (or torchdata's), which cuts what a sampler gives into batches."""
    from torch.utils.data import BatchSampler

    kind = type(batch_sampler)
    return kind.__module__.partition(".")[0] in ("torch", "torchdata") and kind.__name__ == BatchSampler.__name__


def batching(loader: Any) -> Any:
    """What makes batches of single indices: the batch sampler, or the one that a repeating batch sampler wraps."""
    batches = getattr(loader, "batch_sampler", None)
    for _ in range(8):
        if batches is None or hasattr(batches, "drop_last") or not hasattr(batches, "__dict__"):
            break
        batches = vars(batches).get("sampler")
    return batches


def dropped_last(loader: Any) -> int:
    """Samples of each epoch that ``drop_last`` leaves out, where torch makes the batches; 0 without it."""
    batches = batching(loader)
    if not getattr(batches, "drop_last", False) or torch_private.reads_by_iteration(loader):
        return 0
    size = getattr(batches, "batch_size", None)
    return length_of(inner_sampler(loader)) % size if isinstance(size, int) and size > 0 else 0


def last_batch(loader: Any, given: int) -> int:
    """Samples of an epoch's last batch, where torch cuts ``given`` indices into batches; 0 elsewhere."""
    batches = getattr(loader, "batch_sampler", None)
    size = getattr(batches, "batch_size", None)
    if batches is None or not cuts_batches(batches) or not isinstance(size, int) or size < 1:
        return 0
    return size if getattr(batches, "drop_last", False) else given % size or size


def drops_all(loader: Any) -> bool:
    """Whether ``drop_last`` leaves no batch."""
    left_out = dropped_last(loader)
    return left_out > 0 and left_out == length_of(inner_sampler(loader))


def why_empty(loader: Any) -> str:
    """Why an epoch of a loader has no batch, as far as its lengths tell."""
    if torch_private.reads_by_iteration(loader):
        return f"{type(loader.dataset).__name__} gives no sample"
    if not length_of(loader.dataset):
        return f"{type(loader.dataset).__name__} has no sample"
    if drops_all(loader):
        few = f"all {dropped_last(loader):,} samples, fewer than batch_size={loader.batch_sampler.batch_size}"
        return f"drop_last leaves out {few}"
    return f"{type(named_sampler(loader)).__name__} gives no index"


def giver(loader: Any) -> Any:
    """What decides how much an epoch gives: a loop of the loader's own, the iterable dataset, or the sampler."""
    if torch_private.iterates_its_own_way(loader):
        return loader
    return loader.dataset if torch_private.reads_by_iteration(loader) else named_sampler(loader)


def named_sampler(loader: Any) -> Any:
    """The sampler that decides what comes: the batch sampler where it is not torch's own, else the one inside."""
    batches = getattr(loader, "batch_sampler", None)
    own = batches is not None and type(batches).__module__.partition(".")[0] not in ("torch", "torchdata")
    return batches if own else inner_sampler(loader)


def loaders_inside(loader: Any) -> list[Any]:
    """Loaders that a loader keeps as attributes: accelerate's wrap the user's.

    One that collates its batches itself holds itself, and has none inside for that.
    """
    from torch.utils.data import DataLoader

    return [value for value in vars(loader).values() if isinstance(value, DataLoader) and value is not loader]
