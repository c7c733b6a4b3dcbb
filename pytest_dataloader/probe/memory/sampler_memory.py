"""What the sampler of a loader holds in the main process, and how long the first batch of an epoch waits for it."""

from __future__ import annotations

import gc
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.host import child_process
from pytest_dataloader.probe.host.allocator import allocated, give_back_freed
from pytest_dataloader.probe.internals import torch_private
from pytest_dataloader.probe.loader.positions import length_of
from pytest_dataloader.probe.loader.sampling import named_sampler, shuffles
from pytest_dataloader.probe.memory.objects import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

LARGE_SAMPLER = 300_000_000
"""Bytes from which what a sampler holds is a fault, where it is large for each sample too. torch's own are below that
for 5,000,000 samples: RandomSampler holds 200 MB, DistributedSampler 157, WeightedRandomSampler 280; for 10,000,000 it
is 400, 320 and 560 (``benchmarks/memory_samplers.py``, torch 2.13)."""
LARGE_PER_SAMPLE = 16.0
"""Bytes a sample: an array of 64-bit indices is 8, a list of Python's integers 31 to 40."""
WORTH_TELLING = 32 << 20
_TIMEOUT_SECONDS = 20.0
"""WeightedRandomSampler takes 4 s of CPU time for 10,000,000 samples, RandomSampler 0.7."""
_INTEGER = 32
"""Bytes of one of Python's integers, where nothing but the number of blocks is known."""
_BLOCK = 65_536
_FILLED_AT_ONCE = 50_000
_NO_SMALL_INTEGER = 1 << 20
"""Python keeps small integers and makes none of them anew."""
_FILLING_SECONDS = 1.0
"""In 0.1 s the integers of 60 MB are made."""
_DEPTH = 8
_WALK_SECONDS = 0.3


@dataclass(frozen=True, slots=True)
class SamplerMemory:
    """What is held by a ``sampler``, by its attributes and by its epoch, once it has given the indices of a batch, and
    the CPU time until then.

    ``blockwise_bytes``: the same of a shuffle of blocks, tried where the sampler holds much; -1 where not tried.
    """

    sampler: str = ""
    object_bytes: int = 0
    samples: int = 0
    cpu_seconds_to_first_batch: float = 0.0
    blockwise_bytes: int = -1
    blockwise_cpu_seconds: float = 0.0

    @property
    def bytes_per_sample(self) -> float:
        """Of each sample that it chooses from."""
        return self.object_bytes / max(1, self.samples)

    @property
    def is_worth_telling(self) -> bool:
        """Whether somebody who looks for memory would want to know."""
        return self.object_bytes >= WORTH_TELLING and self.bytes_per_sample >= LARGE_PER_SAMPLE

    @property
    def is_large(self) -> bool:
        """Whether it is large in all and for each sample."""
        return self.object_bytes >= LARGE_SAMPLER and self.bytes_per_sample >= LARGE_PER_SAMPLE


NO_SAMPLER = SamplerMemory()


def sampler_memory(loader: Any) -> SamplerMemory | None:
    """Have a forked child begin an epoch of the sampler; None where that gave nothing in time."""
    if torch_private.reads_by_iteration(loader) or not hasattr(os, "fork"):
        return NO_SAMPLER
    sampler = torch_private.index_sampler(loader)
    samples = max(length_of(loader.dataset), length_of(getattr(loader, "sampler", None)))
    seen = child_process.ask(lambda: _seen(sampler, loader.dataset, samples, shuffles(loader)), _TIMEOUT_SECONDS)
    if seen is None:
        return None
    held, seconds, blockwise, blockwise_seconds = seen
    name = type(named_sampler(loader)).__name__
    return SamplerMemory(name, held, samples, round(seconds, 4), blockwise, round(blockwise_seconds, 4))


def _seen(sampler: Any, dataset: Any, samples: int, shuffled: bool) -> tuple[int, float, int, float]:
    import torch

    torch.set_num_threads(1)  # those of the parent's pool are not here, and would be waited for
    gc.freeze()
    kept = _bytes_of(_attributes(sampler, dataset))
    epoch, seconds = _begun(sampler)
    held = kept + epoch
    if held < LARGE_SAMPLER or not shuffled:
        return held, seconds, -1, 0.0
    return held, seconds, *_begun(blockwise(samples))


def _attributes(sampler: Any, dataset: Any) -> Iterator[tuple[str, Any]]:
    """What a sampler, and those inside, hold as attributes, without the data that is sampled."""
    from torch.utils.data import Dataset, Sampler

    below = list(vars(dataset).values()) if hasattr(dataset, "__dict__") else []
    shared = {id(thing) for thing in (dataset, *below)}
    layer = [sampler]
    for _ in range(_DEPTH):
        following = []
        for name, value in (item for each in layer if hasattr(each, "__dict__") for item in vars(each).items()):
            if isinstance(value, Sampler):
                following.append(value)
            elif not isinstance(value, Dataset) and id(value) not in shared:
                yield name, value
        layer = following


def _bytes_of(attributes: Iterator[tuple[str, Any]]) -> int:
    seen = walk(list(attributes), positions=(), universe=0, seconds=_WALK_SECONDS).exposures
    # A tensor's elements are content; those of an array are counted with it.
    tensors = sum(slot.exposed for slot in seen if slot.content and slot.type == "Tensor")
    return round(sum(slot.held for slot in seen if not slot.content) + tensors)


def _begun(sampler: Any) -> tuple[int, float]:
    """Bytes that an epoch holds once its first indices are there, and the CPU time until then."""
    filling = _fill_freed_memory()
    give_back_freed()
    before, resident, started = allocated(), _anonymous_bytes(), time.process_time()
    epoch = iter(sampler)
    next(epoch, None)
    seconds = time.process_time() - started
    after = allocated()
    give_back_freed()
    objects = max(0, after.blocks - before.blocks) * _INTEGER + max(0, after.malloc_bytes - before.malloc_bytes)
    held = max(objects, _anonymous_bytes() - resident)
    del filling
    return held, seconds


def _fill_freed_memory() -> list[list[int]]:
    """Integers in all the memory that Python freed before and has not given back: pages tell what an epoch holds only
    where it goes into new ones. A training has a fresh heap, a run of many tests has not.
    """
    filling: list[list[int]] = []
    started = time.process_time()
    while time.process_time() - started < _FILLING_SECONDS:
        resident = _anonymous_bytes()
        filling.append([_NO_SMALL_INTEGER + at for at in range(_FILLED_AT_ONCE)])
        if _anonymous_bytes() - resident >= _FILLED_AT_ONCE * _INTEGER:
            break
    return filling


def _anonymous_bytes() -> int:
    """Resident memory but that of files: what a forked child copies of its parent's is there already."""
    try:
        status = Path(f"/proc/{os.getpid()}/status").read_text(encoding="ascii")
        return int(status.partition("RssAnon:")[2].split()[0]) * 1024
    except (OSError, IndexError, ValueError):
        return 0


def blockwise(samples: int) -> Iterator[int]:
    """Indices in blocks of random order, shuffled within: one block of them is held at a time."""
    import torch

    for block in torch.randperm(-(-samples // _BLOCK)).tolist():
        first = block * _BLOCK
        yield from (torch.randperm(min(_BLOCK, samples - first)) + first).tolist()
