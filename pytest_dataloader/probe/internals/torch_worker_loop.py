"""Torch's own loop of a worker, run in a process of ours."""

from __future__ import annotations

import inspect
from typing import Any

from pytest_dataloader.probe.internals.torch_private import reads_batches, reads_by_iteration


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
