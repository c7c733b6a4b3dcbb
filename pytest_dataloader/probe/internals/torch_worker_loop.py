"""Torch's own loop of a worker, run in a process of ours."""

from __future__ import annotations

import inspect
import itertools
import time
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.internals.torch_private import (
    exception_in,
    index_sampler,
    is_exhausted,
    reads_batches,
    reads_by_iteration,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


def work(loader: Any, index_queue: Any, data_queue: Any, *, seed: int, workers: int, worker: int = 0) -> None:
    """Be one worker of so many of a loader in this very process, with stand-ins for its queues.

    It is torch's own worker loop, so worker info, seeds, ``worker_init_fn``, fetching and collating are as in
    a real worker. It returns only if the index queue says so. For forked children alone: it sets signal
    handlers, random states and the thread count.
    """
    import multiprocessing
    import threading

    from torch.utils.data import _DatasetKind
    from torch.utils.data._utils.worker import _worker_loop

    # Workers are daemonic, which forbids them children of their own; a dataset that has some is read without workers.
    multiprocessing.current_process()._config["daemon"] = loader.num_workers > 0  # type: ignore[attr-defined]  # no public setter once started
    given = {
        "dataset_kind": _DatasetKind.Iterable if reads_by_iteration(loader) else _DatasetKind.Map,
        "dataset": loader.dataset,
        "dataset_holder": [loader.dataset],  # in its place since torch 2.14; the loop empties it
        "index_queue": index_queue,
        "data_queue": data_queue,
        "done_event": threading.Event(),
        "auto_collation": reads_batches(loader),
        "collate_fn": loader.collate_fn,
        "drop_last": loader.drop_last,
        "base_seed": seed,
        "init_fn": loader.worker_init_fn,
        "worker_id": worker,
        "num_workers": workers,
        "persistent_workers": loader.persistent_workers,
        "shared_seed": seed,
    }
    _worker_loop(**{name: given[name] for name in inspect.signature(_worker_loop).parameters})


def next_epoch(seed: int) -> Any:
    """What a persistent worker finds in its index queue when the next epoch begins."""
    from torch.utils.data._utils.worker import _ResumeIteration

    return _ResumeIteration(seed)


def is_next_epoch(message: Any) -> bool:
    """Whether a worker's message acknowledges the next epoch."""
    from torch.utils.data._utils.worker import _ResumeIteration

    return isinstance(message, _ResumeIteration)


def first_tasks(loader: Any, most: int, *, worker: int = 0, workers: int = 1) -> Iterator[tuple[int, Any]]:
    """What a worker of so many finds in its index queue for its first batches."""
    if not reads_by_iteration(loader):
        turns = itertools.islice(index_sampler(loader), worker, None, workers)
        yield from enumerate(itertools.islice(turns, most))
        return
    # An iterable dataset is asked for so many samples; what stands in the list is not looked at.
    asked = [None] * (loader.batch_size or 1) if reads_batches(loader) else None
    yield from ((number, asked) for number in range(most))


class WorkerQueues:
    """Stands in for both queues of a worker that makes its first batches: each is given to ``take``.

    After ``seconds`` no further one is begun. ``done`` is told the error that ended them, and does not return.
    """

    def __init__(
        self,
        tasks: Iterable[tuple[int, Any]],
        *,
        seconds: float,
        take: Callable[[Any], None],
        done: Callable[[str], None],
    ) -> None:
        self._tasks = iter(tasks)
        self._take, self._done = take, done
        self._deadline = time.monotonic() + seconds
        self._taken = 0
        self._error = ""
        self._ended = False

    def get(self, timeout: float | None = None) -> Any:  # noqa: ARG002  # the queue's signature
        late = self._ended or self._error or (self._taken and time.monotonic() > self._deadline)
        task = None if late else next(self._tasks, None)
        if task is None:
            self._done(self._error)
        return task

    def put(self, message: Any) -> None:
        data = message[1]
        self._ended = is_exhausted(data)
        self._error = exception_in(data)
        if self._ended or self._error or is_next_epoch(message[0]):
            return
        try:
            self._take(data)
        except Exception as error:
            self._error = f"{type(error).__name__}: {error}"
            return
        self._taken += 1
