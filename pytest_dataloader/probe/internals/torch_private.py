"""The private names of torch's iterators, and of torchdata's, that measuring touches.

Here, in the other modules ``torch_*`` of this room, and nowhere else. ``requirements`` says what is asked of each name,
and whether the torch that is there has it: a check is measured only where all that it rests on fits.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import sys
import threading
import weakref
from typing import TYPE_CHECKING, Any, Protocol

from pytest_dataloader.probe.host import child_process
from pytest_dataloader.probe.host.clocks import wall_ns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.process import BaseProcess

_FORGOTTEN = {"_iterator": None, "_initial_iter_for_state_dict": False, "next_iter_state": None}
"""What a loader remembers of iterations: the live iterator of persistent workers (DataLoader), and the
iterator and position made by state_dict and load_state_dict (StatefulDataLoader, torchdata 0.11)."""


def is_iterator(value: object) -> bool:
    """Whether a value is an iterator of torch's."""
    from torch.utils.data.dataloader import _BaseDataLoaderIter

    # By type: isinstance asks for __class__, which objects of torch's answer with warnings.
    return issubclass(type(value), _BaseDataLoaderIter)


def iterators_in(error: BaseException) -> list[Any]:
    """Iterators with workers that were at work, or being made, where an exception came through."""
    from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter

    found, trace = [], error.__traceback__
    while trace is not None:
        found.append(trace.tb_frame.f_locals.get("self"))
        trace = trace.tb_next
    return [each for each in found if isinstance(each, _MultiProcessingDataLoaderIter)]


def discard_half_made(error: BaseException) -> None:
    """Let iterators go in silence that an exception left half made: torch's ``__del__`` asks for what is not there."""
    for made in iterators_in(error):
        if "_workers" not in vars(made):
            made._shutdown = True


def kept_iterators(loader: Any) -> list[str]:
    """The attributes in which a loader of the user's keeps an iterator of torch's for all epochs."""
    return [name for name, value in vars(loader).items() if name not in _FORGOTTEN and is_iterator(value)]


class _Asked(BaseException):
    """A loader went on with an iterator that it holds. No Exception: a loader's own code may catch those."""


class _MadeAnew(BaseException):
    """A loader made a new iterator."""


class _Held:
    """Stands in for an iterator that a loader holds."""

    def __iter__(self) -> _Held:
        return self

    def __next__(self) -> Any:
        raise _Asked


def goes_on_with_kept_iterator(copy: Any) -> bool:
    """Whether a copied loader's next epoch goes on with the iterator that it holds; some only remember the last one."""
    names, held = kept_iterators(copy), dict(vars(copy))
    if not names:
        return False

    def refuse() -> Any:
        raise _MadeAnew

    vars(copy).update({**dict.fromkeys(names, _Held()), "_get_iterator": refuse})
    try:
        next(iter(copy))
    except _Asked:
        return True
    except (Exception, _MadeAnew):
        return False
    finally:
        vars(copy).clear()
        vars(copy).update(held)
    return False


def forget_iterations(copy: Any) -> None:
    """Make a copied loader start afresh, without the original's live iterator and position."""
    for name, value in _FORGOTTEN.items():
        if name in vars(copy):
            vars(copy)[name] = value


def shallow_copy(loader: Any, **changes: Any) -> Any:
    """A loader with the attributes of another, some of them changed, past the guard that torch has on them."""
    copy = object.__new__(type(loader))
    vars(copy).update(vars(loader), **changes)
    return copy


def without_iterations(loader: Any) -> Any:
    """A shallow copy of a loader that holds none of its iterators."""
    copy = shallow_copy(loader)
    forget_iterations(copy)
    for name in kept_iterators(copy):
        vars(copy)[name] = None
    return copy


def watch_iterators(copy: Any, made: Callable[[Any], None], prepare: Callable[[Any], None] | None = None) -> None:
    """Have ``made`` called with each iterator that a copied loader makes, and ``prepare`` before its workers start.

    ``_get_iterator`` is what every ``DataLoader.__iter__`` calls for a new iterator, subclasses and
    StatefulDataLoader included; an attribute of the instance shadows it for this copy only.
    """
    make = getattr(type(copy), "_get_iterator", None)
    if make is None:
        return

    def watched() -> Any:
        with _prepared(prepare):
            iterator = make(copy)
        made(iterator)
        return iterator

    vars(copy)["_get_iterator"] = watched


@contextlib.contextmanager
def _prepared(prepare: Callable[[Any], None] | None) -> Iterator[None]:
    """Have ``prepare`` called with an iterator that this thread makes meanwhile.

    Every iterator's ``__init__`` calls the base class's before it makes queues, workers or a fetcher.
    """
    if prepare is None:
        yield
        return
    from torch.utils.data.dataloader import _BaseDataLoaderIter

    untyped: Any = _BaseDataLoaderIter
    initialise, thread = untyped.__init__, threading.get_ident()

    def initialise_and_prepare(iterator: Any, *args: Any, **options: Any) -> None:
        initialise(iterator, *args, **options)
        if threading.get_ident() == thread:
            prepare(iterator)

    untyped.__init__ = initialise_and_prepare
    try:
        yield
    finally:
        untyped.__init__ = initialise


def unwatch_iterators(copy: Any) -> None:
    """Undo ``watch_iterators``; the hook refers back to the copy, and only the collector would free them."""
    vars(copy).pop("_get_iterator", None)


def pins(iterator: Any) -> bool:
    """Whether an iterator pins its batches; torch pins none where there is no accelerator."""
    return bool(getattr(iterator, "_pin_memory", False))


def turn(iterator: Any) -> tuple[int, bool, int]:
    """The number of the batch whose turn it is, whether it came early and is held ready, and how many are held.

    With num_workers=0, and out of order, nothing is held: the number is -1.
    """
    tasks = getattr(iterator, "_task_info", None)
    if tasks is None or not getattr(iterator, "_in_order", True):
        return -1, False, 0
    number = int(iterator._rcvd_idx)
    held = sum(len(task) > 1 for task in list(tasks.values()))
    return number, len(tasks.get(number, ())) > 1, held


def watch_deliveries(seen: Callable[[Any], None]) -> Callable[[], None]:
    """Have ``seen`` called with every batch that any loader of this process hands out; returns what ends that."""
    from torch.utils.data.dataloader import _BaseDataLoaderIter

    undo = []
    kinds: list[Any] = [_BaseDataLoaderIter]
    while kinds:
        kind = kinds.pop()
        kinds += kind.__subclasses__()
        if "__next__" in vars(kind):  # torchdata's iterators have their own
            undo.append((kind, kind.__next__))
            kind.__next__ = _telling(kind.__next__, seen)

    def end() -> None:
        for kind, original in undo:
            kind.__next__ = original

    return end


def _telling(original: Callable[[Any], Any], seen: Callable[[Any], None]) -> Callable[[Any], Any]:
    @functools.wraps(original)
    def told(iterator: Any) -> Any:
        batch = original(iterator)
        seen(batch)
        return batch

    return told


def on_iterator_construction(born: Callable[[Any, Any], None]) -> Callable[[], None]:
    """Have ``born`` called with every iterator that is made from now on, and its loader; returns what ends that."""
    from torch.utils.data.dataloader import _BaseDataLoaderIter

    original = _BaseDataLoaderIter.__init__

    @functools.wraps(original)
    def noting(iterator: Any, loader: Any, *arguments: Any, **settings: Any) -> None:
        original(iterator, loader, *arguments, **settings)
        born(iterator, loader)

    kind: Any = _BaseDataLoaderIter
    kind.__init__ = noting

    def end() -> None:
        kind.__init__ = original

    return end


DATALOADER = "torch.utils.data.dataloader"
"""The module that has the loader and its iterators."""


class LoaderListener(Protocol):
    """What is told of the loaders of this process."""

    def made(self, loader: Any) -> None: ...
    def iterated(self, loader: Any, iterator: Any, took_ns: int) -> None: ...


_listeners: list[LoaderListener] = []
_replaced: list[tuple[Any, str, Any]] = []
"""Methods of torch's classes that tell the listeners, and what was there before; none without listeners."""


def watch_loaders(listener: LoaderListener) -> Callable[[], None]:
    """Tell a listener of every DataLoader that is constructed from now on, and of every one that an iterator is made
    for, with the iterator and the nanoseconds that making it took. Returns what ends that.

    Loaders that this package iterates, copies of the user's, are left out.
    """
    from torch.utils.data import dataloader

    if not _listeners:
        initialise = dataloader.DataLoader.__init__

        @functools.wraps(initialise)
        def initialise_and_tell(loader: Any, *arguments: Any, **settings: Any) -> None:
            initialise(loader, *arguments, **settings)
            for kind in type(loader).__mro__:  # torchdata's has its own way to make iterators
                _tell_of_iterators(kind)
            for each in _listeners:
                each.made(loader)

        _replace(dataloader.DataLoader, "__init__", initialise_and_tell)
        _tell_of_iterators(dataloader.DataLoader)
    _listeners.append(listener)

    def end() -> None:
        _listeners[:] = [each for each in _listeners if each is not listener]
        while _replaced and not _listeners:
            setattr(*_replaced.pop())

    return end


def _replace(kind: Any, name: str, wrapped: Any) -> None:
    _replaced.append((kind, name, vars(kind)[name]))
    setattr(kind, name, wrapped)


def _tell_of_iterators(kind: Any) -> None:
    original = vars(kind).get("_get_iterator")
    if original is None or any(each[:2] == (kind, "_get_iterator") for each in _replaced):
        return

    @functools.wraps(original)
    def get_iterator(loader: Any) -> Any:
        began = wall_ns()
        iterator = original(loader)
        took = wall_ns() - began
        # A subclass may call its parent's, which has told of it.
        if "_get_iterator" not in vars(loader) and is_iterator(iterator) and _TOLD not in vars(iterator):
            setattr(iterator, _TOLD, True)
            for each in _listeners:
                each.iterated(loader, iterator, took)
        return iterator

    _replace(kind, "_get_iterator", get_iterator)


_TOLD = "_told_to_pytest_dataloader"


class IterationListener(Protocol):
    """What is told of the way of an iterator."""

    def begin(self, iterator: weakref.ref[Any], took_ns: int) -> None: ...
    def ask(self) -> None: ...
    def get(self, batch: Any) -> None: ...
    def end(self) -> None: ...
    def fail(self, error: BaseException) -> None: ...


def watch_iteration(iterator: Any, took_ns: int, listener: IterationListener) -> None:
    """Tell a listener whenever a batch of an iterator is asked for, has come, or does not come, and of its epochs.

    Making the iterator took so many nanoseconds. Its epochs are the first, and those for which persistent workers go
    on. Attributes of the instance stand before the methods of its class, and refer to it weakly.
    """
    watched = weakref.ref(iterator)
    inner: dict[str, Any] = {name: vars(iterator).get(name) for name in ("_next_data", "_reset")}  # another listener's

    def call(name: str, *arguments: Any, **options: Any) -> Any:
        if inner[name] is not None:
            return inner[name](*arguments, **options)
        return getattr(type(watched()), name)(watched(), *arguments, **options)

    def next_data() -> Any:
        listener.ask()
        try:
            batch = call("_next_data")
        except StopIteration:
            listener.end()
            raise
        except BaseException as error:
            listener.fail(error)
            raise
        listener.get(batch)
        return batch

    def reset(*arguments: Any, **options: Any) -> Any:
        began = wall_ns()
        result = call("_reset", *arguments, **options)
        listener.begin(watched, wall_ns() - began)
        return result

    iterator._next_data = next_data
    iterator._reset = reset
    listener.begin(watched, took_ns)


def live_iterators() -> list[Any]:
    """Iterators of this process whose workers are alive; found by asking the collector, 20 to 100 ms."""
    from torch.utils.data.dataloader import _BaseDataLoaderIter

    # By type: isinstance asks for __class__, which objects of torch's answer with warnings.
    found = [thing for thing in gc.get_objects() if issubclass(type(thing), _BaseDataLoaderIter)]
    return [iterator for iterator in found if any(map(_is_alive_here, worker_processes(iterator)))]


def _is_alive_here(worker: BaseProcess) -> bool:
    """Whether a worker is alive that this process has started; of those that a fork inherits, it cannot ask."""
    return vars(worker).get("_parent_pid") == os.getpid() and worker.is_alive()


def leave_inherited_iterators() -> None:
    """In a forked child: let iterators raise whose workers the parent started, and never end those.

    A dataset may hold one, as torchio's queue does: what the child took of its batches, the parent would wait for.
    """
    if "torch.utils.data.dataloader" not in sys.modules:
        return
    from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter

    here, kind = os.getpid(), _MultiProcessingDataLoaderIter
    take, shut_down = getattr(kind, "_next_data", None), getattr(kind, "_shutdown_workers", None)
    if take is None or shut_down is None:
        return

    def inherited(iterator: Any) -> bool:
        return any(vars(worker).get("_parent_pid") != here for worker in worker_processes(iterator))

    def next_data(self: Any) -> Any:
        if inherited(self):
            raise RuntimeError("an iterator whose workers another process has started")
        return take(self)

    def shutdown_workers(self: Any) -> None:
        if not inherited(self):
            shut_down(self)

    kind._next_data = next_data  # type: ignore[method-assign]
    kind._shutdown_workers = shutdown_workers  # type: ignore[method-assign]


child_process.AT_START.append(leave_inherited_iterators)


def new_iterator(copy: Any) -> Any:
    """A new iterator of a copied loader, past its own ``__iter__``."""
    return copy._get_iterator()


def worker_processes(iterator: Any) -> list[BaseProcess]:
    """The worker processes of an iterator: none with num_workers=0, and none where its workers are threads."""
    from multiprocessing.process import BaseProcess

    return [worker for worker in getattr(iterator, "_workers", ()) if isinstance(worker, BaseProcess)]


def prefetch_depth(iterator: Any) -> int:
    """Batches that an iterator keeps in flight: num_workers x prefetch_factor, 0 without workers."""
    if not getattr(iterator, "_workers", ()):
        return 0
    return int(getattr(iterator, "_num_workers", 0)) * int(getattr(iterator, "_prefetch_factor", 2))


def outstanding_batches(iterator: Any) -> int:
    """Batches asked of the workers and not yet handed out; below the prefetch depth, the epoch is running dry."""
    return len(getattr(iterator, "_task_info", ()))


def ready_batches(iterator: Any) -> int | None:
    """Batches made and not yet handed out: in the queues, or held back because an earlier one is missing.

    None where the queue cannot be counted (macOS has no sem_getvalue).
    """
    if not getattr(iterator, "_workers", ()):
        return 0
    try:
        queues = {id(queue): queue for queue in (iterator._worker_result_queue, iterator._data_queue)}
        waiting = sum(int(queue.qsize()) for queue in queues.values())
        return waiting + sum(len(task) > 1 for task in iterator._task_info.values())
    except (AttributeError, NotImplementedError, OSError):
        return None


def pending_batches(iterator: Any) -> dict[int, int]:
    """The batches that workers still have to deliver, by number since the epoch began, each with its worker."""
    return pending_among(open_tasks(iterator))


def open_tasks(iterator: Any) -> dict[int, Any]:
    """The batches of an epoch that were asked for and not yet handed out, as its iterator keeps them under way."""
    tasks: dict[int, Any] = getattr(iterator, "_task_info", {})
    return tasks


def pending_among(tasks: dict[int, Any]) -> dict[int, int]:
    """Of ``open_tasks``, those that workers still have to deliver, each with its worker."""
    return {number: task[0] for number, task in sorted(tasks.items()) if len(task) == 1}


def early_batches(iterator: Any) -> list[Any]:
    """Batches that came before their turn, which an iterator holds until those before them have come."""
    return [task[1] for task in list(getattr(iterator, "_task_info", {}).values()) if len(task) > 1]


def numbers_in_flight(iterator: Any) -> frozenset[int]:
    """The numbers of the batches that were asked for and not yet handed out."""
    return frozenset(getattr(iterator, "_task_info", ()))


def is_shutting_down(iterator: Any) -> bool:
    """Whether an iterator has told its workers to end."""
    return bool(getattr(iterator, "_shutdown", False))


def workers_at_work(iterator: Any) -> list[int]:
    """The workers that have not been told to end, by number: an iterable dataset's may end before the epoch does."""
    if is_shutting_down(iterator):
        return []
    return [number for number, works in enumerate(getattr(iterator, "_workers_status", ())) if works]


def disown_workers(iterator: Any) -> None:
    """Have the death of an iterator's workers no longer raised as an error in whatever this process does just then."""
    if getattr(iterator, "_worker_pids_set", False):
        from torch.utils.data._utils import signal_handling

        untyped: Any = signal_handling
        untyped._remove_worker_pids(id(iterator))
        iterator._worker_pids_set = False


def receive_outstanding(iterator: Any, seconds: float) -> bool:
    """Take in and drop what the workers were asked for; False where nothing came for so long, or a worker died.

    Workers that are ended with batches in their queue leave those in /dev/shm under the file_system strategy, until
    this process ends: whoever takes a batch in is the one that removes its segments.
    """
    receive = getattr(iterator, "_try_get_data", None)
    pending = {} if is_shutting_down(iterator) else pending_batches(iterator)
    while pending and receive is not None:
        try:
            came, message = receive(seconds)
        except Exception:  # of the workers' death, or of unpickling a batch that nobody wants
            return False
        if not came:
            return False
        number, data = message
        ended = data.worker_id if is_exhausted(data) else None
        pending = {other: worker for other, worker in pending.items() if other != number and worker != ended}
        del message, data
    getattr(iterator, "_task_info", {}).clear()
    return not pending


def shut_down_workers(iterator: Any, *, kill: bool = False) -> None:
    """Stop the workers of an iterator, though a traceback or an attribute still holds it.

    ``kill`` does not ask them: torch waits five seconds for each worker, one that hangs never answers, and one that
    died may hold the lock of the event that torch would set for the others.
    """
    if not kill or is_shutting_down(iterator):
        stop = getattr(iterator, "_shutdown_workers", None)
        if stop is not None:
            stop()
        return
    disown_workers(iterator)
    iterator._shutdown = True
    processes = worker_processes(iterator)
    for worker in processes:
        worker.kill()
    _let_go_of_early_batches(iterator)
    if not processes and hasattr(iterator, "_workers_done_event"):  # threads, which can only be asked
        iterator._workers_done_event.set()
        for queue in iterator._index_queues:
            queue.put(None)
    done = getattr(iterator, "_pin_memory_thread_done_event", None)
    if done is not None:
        done.set()
    # An exception of a signal handler, torch's for a dead worker too, may have left the lock of a queue taken.
    closing = threading.Thread(target=_close_queues, args=(iterator,), daemon=True)
    closing.start()
    closing.join(_CLOSING_SECONDS)


_CLOSING_SECONDS = 1.0


def _let_go_of_early_batches(iterator: Any) -> None:
    """Else they keep their shared memory until a garbage collection: an iterator and its queues refer to each other."""
    tasks = getattr(iterator, "_task_info", {})
    tasks.update({number: task[:1] for number, task in tasks.items()})


def _close_queues(iterator: Any) -> None:
    for each in (*getattr(iterator, "_index_queues", ()), getattr(iterator, "_worker_result_queue", None)):
        if hasattr(each, "close"):
            each.cancel_join_thread()
            each.close()


def reads_by_iteration(loader: Any) -> bool:
    """Whether workers iterate the dataset (IterableDataset) instead of indexing it."""
    from torch.utils.data import IterableDataset

    return isinstance(loader.dataset, IterableDataset)


def iterates_its_own_way(loader: Any) -> bool:
    """Whether code of the user's stands between torch's iterator and whoever loops over the loader."""
    for kind in type(loader).__mro__:
        if "__iter__" in vars(kind) or "_get_iterator" in vars(kind):
            return kind.__module__.split(".", 1)[0] not in ("torch", "torchdata")
    return True


def reads_batches(loader: Any) -> bool:
    """Whether a worker is sent lists of indices (the default) or single ones (``batch_size=None``)."""
    return getattr(loader, "batch_sampler", None) is not None


def iterates_batches(loader: Any) -> bool:
    """Whether what a dataset yields is handed out as it is (``batch_size=None``): mostly batches that it makes."""
    return reads_by_iteration(loader) and getattr(loader, "batch_size", None) is None


def index_sampler(loader: Any) -> Any:
    """What yields the indices that are sent to workers: the batch sampler, else the sampler."""
    return loader.batch_sampler if reads_batches(loader) else loader.sampler


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


def is_view(tensor: Any) -> bool:
    """Whether a tensor shows the data of another one."""
    return tensor._base is not None


_PARTS = {
    "torch.sparse_coo": ("_indices", "_values"),  # uncoalesced ones have no public way
    "torch.sparse_csr": ("crow_indices", "col_indices", "values"),
    "torch.sparse_csc": ("ccol_indices", "row_indices", "values"),
}


def dense_parts(tensor: Any) -> list[Any]:
    """The dense tensors that a sparse one is made of; a dense one is its own."""
    names = _PARTS.get(str(tensor.layout))
    return [tensor] if names is None else [getattr(tensor, name)() for name in names]
