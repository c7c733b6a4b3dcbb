"""How many samples of a stream come with other numbers of workers, each worker simulated in a forked child."""

from __future__ import annotations

import functools
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.host import child_process
from pytest_dataloader.probe.internals import torch_pretence
from pytest_dataloader.probe.samples.generators import seed_child

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SEED = 1
_ANSWER_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class WorkerCount:
    """The samples of a whole epoch with so many workers."""

    workers: int
    samples: int


def counts_by_workers(loader: Any, numbers: Iterable[int], *, seconds: float) -> tuple[WorkerCount, ...]:
    """Count an epoch of a stream with each number of workers, as far as the time allows."""
    return tuple(_counts(loader, numbers, time.monotonic() + seconds))


def _counts(loader: Any, numbers: Iterable[int], deadline: float) -> Iterator[WorkerCount]:
    for workers in numbers:
        total = 0
        for worker in range(workers):
            left = deadline - time.monotonic()
            count = functools.partial(_count, loader, worker, workers, left)
            samples = child_process.ask(count, left + _ANSWER_SECONDS) if left > 0 else None
            if samples is None:
                return
            total += samples
        yield WorkerCount(workers, total)


def _count(loader: Any, worker: int, workers: int, seconds: float) -> int | None:
    """The samples that one worker gives; None where the time was over before the last."""
    deadline = time.monotonic() + seconds
    seed_child(_SEED)
    torch_pretence.pretend_worker(worker, workers, _SEED + worker, loader.dataset)
    if loader.worker_init_fn is not None:
        loader.worker_init_fn(worker)
    count = 0
    for count, _sample in enumerate(loader.dataset, 1):  # noqa: B007  # the last one counts
        if time.monotonic() > deadline:
            return None
    return count
