"""The private names of torch and torchdata that measuring touches, here and nowhere else; read in torch 2.13.0.

Each function falls back to "unknown" (None, an empty list, no effect) where a name is gone, so a
torch release that renames one costs a figure and not the check.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.process import BaseProcess

_FORGOTTEN = {"_iterator": None, "_initial_iter_for_state_dict": False, "next_iter_state": None}
"""What a loader remembers of iterations: the live iterator of persistent workers (DataLoader), and the
iterator and position made by state_dict and load_state_dict (StatefulDataLoader, torchdata 0.11)."""


def is_iterator(value: object) -> bool:
    """Whether a value is an iterator of torch's: loaders that keep one for ever hold it in an attribute."""
    from torch.utils.data.dataloader import _BaseDataLoaderIter

    return isinstance(value, _BaseDataLoaderIter)


def forget_iterations(copy: Any) -> None:
    """Make a copied loader start afresh, without the original's live iterator and position."""
    for name, value in _FORGOTTEN.items():
        if name in vars(copy):
            vars(copy)[name] = value


def watch_iterators(copy: Any, made: Callable[[Any], None]) -> None:
    """Have ``made`` called with each iterator that a copied loader makes.

    ``_get_iterator`` is what every ``DataLoader.__iter__`` calls for a new iterator, subclasses and
    StatefulDataLoader included; an attribute of the instance shadows it for this copy only.
    """
    make = getattr(type(copy), "_get_iterator", None)
    if make is None:
        return

    def watched() -> Any:
        iterator = make(copy)
        made(iterator)
        return iterator

    vars(copy)["_get_iterator"] = watched


def unwatch_iterators(copy: Any) -> None:
    """Undo ``watch_iterators``; the hook refers back to the copy, and only the collector would free them."""
    vars(copy).pop("_get_iterator", None)


def new_iterator(copy: Any) -> Any:
    """A new iterator of a copied loader, past its own ``__iter__``."""
    return copy._get_iterator()


def worker_processes(iterator: Any) -> list[BaseProcess]:
    """The worker processes of an iterator: none with num_workers=0."""
    return list(getattr(iterator, "_workers", ()))


def prefetch_depth(iterator: Any) -> int:
    """Batches that an iterator keeps in flight: num_workers x prefetch_factor, 0 without workers."""
    if not worker_processes(iterator):
        return 0
    return int(getattr(iterator, "_num_workers", 0)) * int(getattr(iterator, "_prefetch_factor", 2))


def outstanding_batches(iterator: Any) -> int:
    """Batches asked of the workers and not yet handed out; below the prefetch depth, the epoch is running dry."""
    return len(getattr(iterator, "_task_info", ()))


def ready_batches(iterator: Any) -> int | None:
    """Batches made and not yet handed out: in the queues, or held back because an earlier one is missing.

    None where the queue cannot be counted (macOS has no sem_getvalue).
    """
    if not worker_processes(iterator):
        return 0
    try:
        queues = {id(queue): queue for queue in (iterator._worker_result_queue, iterator._data_queue)}
        waiting = sum(int(queue.qsize()) for queue in queues.values())
        return waiting + sum(len(task) > 1 for task in iterator._task_info.values())
    except (AttributeError, NotImplementedError, OSError):
        return None


def shut_down(iterator: Any, *, kill: bool = False) -> None:
    """Stop the workers of an iterator, though a traceback or an attribute still holds it.

    ``kill`` does not ask them first: torch waits five seconds for each worker, and one that hangs never answers.
    Torch is told beforehand that they are no longer its own, or their death would be raised here as an error.
    """
    if kill and getattr(iterator, "_worker_pids_set", False):
        from torch.utils.data._utils import signal_handling

        untyped: Any = signal_handling
        untyped._remove_worker_pids(id(iterator))
        iterator._worker_pids_set = False
        for worker in worker_processes(iterator):
            worker.kill()
    stop = getattr(iterator, "_shutdown_workers", None)
    if stop is not None:
        stop()


def reads_by_iteration(loader: Any) -> bool:
    """Whether workers iterate the dataset (IterableDataset) instead of indexing it."""
    from torch.utils.data import IterableDataset

    return isinstance(loader.dataset, IterableDataset)


def reads_batches(loader: Any) -> bool:
    """Whether a worker is sent lists of indices (the default) or single ones (``batch_size=None``)."""
    return getattr(loader, "batch_sampler", None) is not None


def index_sampler(loader: Any) -> Any:
    """What yields the indices that are sent to workers: the batch sampler, else the sampler."""
    return loader.batch_sampler if reads_batches(loader) else loader.sampler


def work(loader: Any, index_queue: Any, data_queue: Any, *, seed: int) -> None:
    """Be worker 0 of a loader in this very process, reading from and writing to stand-ins for its queues.

    It is torch's own worker loop, so worker info, seeds, ``worker_init_fn``, fetching and collating are as in
    a real worker. It returns only if the index queue says so. For forked children alone: it sets signal
    handlers, random states and the thread count.
    """
    import multiprocessing
    import threading

    from torch.utils.data import _DatasetKind
    from torch.utils.data._utils.worker import _worker_loop

    # Workers are daemonic, which forbids them children of their own.
    multiprocessing.current_process()._config["daemon"] = True  # type: ignore[attr-defined]  # no public setter once started
    kind = _DatasetKind.Iterable if reads_by_iteration(loader) else _DatasetKind.Map
    workers = max(1, loader.num_workers)
    _worker_loop(
        kind, loader.dataset, index_queue, data_queue, threading.Event(), reads_batches(loader), loader.collate_fn,
        loader.drop_last, seed, loader.worker_init_fn, 0, workers, loader.persistent_workers, seed,
    )  # fmt: skip


def next_epoch(seed: int) -> Any:
    """What a persistent worker finds in its index queue when the next epoch begins."""
    from torch.utils.data._utils.worker import _ResumeIteration

    return _ResumeIteration(seed)


def is_next_epoch(message: Any) -> bool:
    """Whether a worker's message acknowledges the next epoch."""
    from torch.utils.data._utils.worker import _ResumeIteration

    return isinstance(message, _ResumeIteration)


def is_exhausted(data: Any) -> bool:
    """Whether a worker's message says that its iteration has ended."""
    from torch.utils.data._utils.worker import _IterableDatasetStopIteration

    return isinstance(data, _IterableDatasetStopIteration)


def exception_in(data: Any) -> str:
    """The exception that a worker sent in place of a batch, as ``Type: message``; empty for a batch."""
    from torch._utils import ExceptionWrapper

    if not isinstance(data, ExceptionWrapper):
        return ""
    lines = [line for line in str(data.exc_msg).splitlines() if line.strip()]
    return lines[-1].strip() if lines else data.exc_type.__name__
