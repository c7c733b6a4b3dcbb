"""A user's loader, borrowed: a shallow copy to iterate, gone with its workers when the measuring ends."""

from __future__ import annotations

import contextlib
import functools
import itertools
import time
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_dataloader.errors import BadTarget, NotMeasured
from pytest_dataloader.probe.host import interruption, segments
from pytest_dataloader.probe.host.orphan import EndsWithItsLoader
from pytest_dataloader.probe.internals import torch_private
from pytest_dataloader.probe.loader import counting
from pytest_dataloader.probe.loader.settings import start_method_of, worker_processes_of
from pytest_dataloader.probe.loader.state_restoration import preserve_state
from pytest_dataloader.probe.loader.thread_errors import expect_shutdown_errors
from pytest_dataloader.probe.loader.timeout import Hang

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from multiprocessing.process import BaseProcess

_WORKER_GRACE_SECONDS = 5.0
"""Torch itself waits as long for a worker before it terminates it."""

_RECEIVE_SECONDS = 5.0
"""As long as for a worker's end: what is not made within it stays where it is."""

_WITHOUT_WORKERS = {"num_workers": 0, "prefetch_factor": None, "persistent_workers": False, "timeout": 0}


_B = TypeVar("_B", bound="Borrowed")


class Borrowed:
    """A copy of a loader, pulled from batch by batch, epoch after epoch."""

    waited_ns = 0
    """What a consumer that takes its time waited for batches; one that takes none has none to wait in."""
    started_seconds = 0.0
    """What starting the workers of a kept iterator took, before any epoch was asked for."""
    _being_made: Callable[[Any], None] | None = None
    """Told of each iterator while it is made, before its workers start."""

    def __init__(
        self, loader: Any, *, in_process: bool = False, prepare: Callable[[Any], None] = lambda _copy: None
    ) -> None:
        self._in_process = in_process
        self._prepare = prepare
        self._copies: list[Any] = []
        self._keeps: bool | None = None
        self._made: list[Any] = []
        self._sizes: deque[int | None] | None = None
        self._whole = False
        """Whether an index asked for a batch, whose samples no index tells."""
        self._batches: Iterator[Any] | None = None
        self.loader = self._copy(loader)
        self.batch_size: int | None = getattr(loader, "batch_size", None)

    @property
    def counted_by(self) -> counting.CountedBy:
        """Which rule of ``counting`` counts this loader's samples."""
        if self._sizes is not None:
            return "first dimension" if self._whole else "indices"
        return "first dimension" if self.batch_size is None else "batch_size"

    @property
    def keeps_iterator(self) -> bool:
        """Whether the loader keeps one iterator for all epochs; of one made late, known once a batch has come."""
        if self._keeps is None and any(torch_private.kept_iterators(copy) for copy in self._copies):
            self._keeps = any(torch_private.goes_on_with_kept_iterator(copy) for copy in self._copies)
        return bool(self._keeps)

    @property
    def workers(self) -> list[BaseProcess]:
        """The worker processes of the current epoch."""
        return torch_private.worker_processes(self._iterator) if self._made else []

    @property
    def persistent_workers(self) -> bool:
        """Whether the workers outlive their epoch."""
        return bool(getattr(self.loader, "persistent_workers", False))

    @property
    def depth(self) -> int:
        """Batches that the loader keeps in flight once an epoch has begun; 0 without workers."""
        return torch_private.prefetch_depth(self._iterator) if self._made else 0

    @property
    def ready(self) -> int | None:
        """Batches that wait to be handed out; None where that cannot be counted."""
        return torch_private.ready_batches(self._iterator) if self._made else 0

    @property
    def running_dry(self) -> bool:
        """Whether the epoch's last batches are under way, so that workers have begun to idle."""
        return bool(self._made) and torch_private.outstanding_batches(self._iterator) < self.depth

    @property
    def iterator(self) -> Any:
        """The latest iterator of torch's; None before the first epoch."""
        return self._made[-1] if self._made else None

    @property
    def _iterator(self) -> Any:
        return self._made[-1]

    @property
    def all_made(self) -> bool:
        """Whether every batch that was asked of the workers waits to be handed out; True where that is not known."""
        return self.ready is None or self.ready >= torch_private.outstanding_batches(self.iterator)

    def begin_epoch(self) -> None:
        """Ask the loader for a new epoch; errors of the user's code come out as they are."""
        interruption.raise_received()
        self.leave()
        self._batches = _until_the_end(iter(self.loader))

    def pull(self, most: int) -> tuple[int, int]:
        """Pull up to ``most`` batches; how many came, and how many samples. Fewer batches: the epoch has ended."""
        interruption.raise_received()
        assert self._batches is not None
        if self._sizes is None:
            return self._pull_and_look(most)
        batches = samples = 0
        for batch in itertools.islice(self._batches, most):
            batches += 1
            # A loader that makes up its own batches can hand out more of them than the sampler gave; one that makes no
            # iterator of torch's asks no sampler at all.
            unasked: int | None = 0 if self._made else None
            asked = self._sizes.popleft() if self._sizes else unasked
            self._whole = self._whole or asked is None
            samples += counting.count_samples(batch, None) if asked is None else asked
        return batches, samples

    def _pull_and_look(self, most: int) -> tuple[int, int]:
        assert self._batches is not None
        batches = seen = 0
        for batch in itertools.islice(self._batches, most):
            batches += 1
            seen += counting.count_samples(batch, self.batch_size)
        return batches, seen

    def each(self) -> Iterator[Any]:
        """The epoch's remaining batches themselves; not to be mixed with ``pull`` in one epoch."""
        assert self._batches is not None
        return self._batches  # as it is: a generator around it would close it where a loop ends early

    def leave(self) -> None:
        """Let go of the epoch under way, as ``break`` does; a generator's own clean-up runs now."""
        batches, self._batches = self._batches, None
        close = getattr(batches, "close", None)
        if close is not None:
            close()

    def abandon(self, *, receiving: bool = True) -> None:
        """Leave the epoch as ``break`` leaves a loop: workers that do not persist end with it.

        Unlike that, what is under way is received before, unless to see what a break leaves is the purpose.
        """
        self.leave()
        if not (self.keeps_iterator or getattr(self.loader, "persistent_workers", False)):
            self._expect_shutdown_errors()
            while self._made:
                shut_down(self._made.pop(), receiving=receiving)

    def renew_workers(self) -> None:
        """End the workers, persistent ones too, so that the next epoch starts others.

        Not for a loader that keeps one iterator for ever, which would be left with none.
        """
        if self.keeps_iterator:
            return
        self._stop(kill=False)
        for copy in self._copies:
            torch_private.forget_iterations(copy)

    def close(self, *, kill: bool = False) -> None:
        """Stop every worker, however the measuring ended; ``kill`` those that may hang."""
        self._stop(kill=kill)
        for copy in self._copies:
            torch_private.unwatch_iterators(copy)

    def end_at_once(self, error: BaseException) -> None:
        """Kill the workers, those of an iterator that ``error`` left half made too, and leave nothing of theirs."""
        self._made += [each for each in torch_private.iterators_in(error) if each not in self._made]
        pids = [worker.pid or 0 for each in self._made for worker in torch_private.worker_processes(each)]
        self.close(kill=True)
        segments.unlink_of(pids)

    def _stop(self, *, kill: bool) -> None:
        self.leave()
        self._expect_shutdown_errors()
        workers = [worker for iterator in self._made for worker in torch_private.worker_processes(iterator)]
        for iterator in self._made:
            shut_down(iterator, kill=kill)
        deadline = time.monotonic() + _WORKER_GRACE_SECONDS
        for worker in workers:
            worker.join(max(0.0, deadline - time.monotonic()))
            if worker.is_alive():
                worker.kill()
                worker.join(_WORKER_GRACE_SECONDS)
        self._made.clear()

    def _expect_shutdown_errors(self) -> None:
        """A thread of the loader's own may still take batches from an iterator that is shut down."""
        if any(torch_private.iterates_its_own_way(copy) for copy in self._copies):
            expect_shutdown_errors()

    def _copy(self, loader: Any) -> Any:
        """A shallow copy that makes new iterators, and tells us of them; loaders inside it are copied as well."""
        from torch.utils.data import DataLoader

        copy = torch_private.shallow_copy(loader)
        self._copies.append(copy)
        if self._in_process:
            vars(copy).update(_WITHOUT_WORKERS)
        torch_private.forget_iterations(copy)
        torch_private.watch_iterators(copy, self._remember, self._being_made)
        # One that collates its batches itself holds itself.
        inner = [name for name, value in vars(copy).items() if isinstance(value, DataLoader) and value is not loader]
        for name in inner:
            vars(copy)[name] = self._copy(vars(copy)[name])
        if not inner:
            self._sizes = self._count_indices(copy)
        if "dataset" in vars(copy):  # a loader may be a wrapper that takes all it has from the one inside
            self._prepare(copy)
            if worker_processes_of(copy) and start_method_of(copy) != "fork":
                vars(copy)["worker_init_fn"] = EndsWithItsLoader(copy.worker_init_fn)
        begun = time.monotonic()
        keeps = torch_private.goes_on_with_kept_iterator(copy)
        for name in torch_private.kept_iterators(copy):  # made once and kept for ever, as detectors do
            vars(copy)[name] = torch_private.new_iterator(copy) if keeps else None
        self.started_seconds += time.monotonic() - begun
        return copy

    def _count_indices(self, copy: Any) -> deque[int | None] | None:
        return counting.count_indices(copy)

    def forget_ended(self) -> None:
        """Let go of iterators whose workers have ended: they keep pipes open until they are collected."""
        self._made[:] = [kept for kept in self._made if any(w.is_alive() for w in torch_private.worker_processes(kept))]

    def _remember(self, iterator: Any) -> None:
        self.forget_ended()
        self._made.append(iterator)


def _until_the_end(batches: Iterator[Any]) -> Iterator[Any]:
    """The same batches, and never a question more once they have ended, as in a ``for`` loop.

    An iterator whose thread fills a queue would wait for ever for what comes after its last batch.
    """
    yield from batches


def shut_down(iterator: Any, *, kill: bool = False, receiving: bool = True) -> None:
    """Stop the workers of an iterator and leave none of their batches in /dev/shm, unless they are to be killed.

    Where a signal has ended one, all are: it may have held the lock by which torch tells the others to end.
    """
    kill = kill or any((worker.exitcode or 0) < 0 for worker in torch_private.worker_processes(iterator))
    if receiving and not kill:
        receive_what_would_stay(iterator)
    torch_private.shut_down_workers(iterator, kill=kill)


def receive_what_would_stay(iterator: Any) -> bool:
    """Take the batches under way out of the queue, where workers hand them over by names that outlive them.

    Whether none is left: one that takes too long is not waited for.
    """
    pids = {worker.pid for worker in torch_private.worker_processes(iterator) if worker.pid is not None}
    by_name = bool(pids) and (segments.are_handed_over_by_name() or bool(segments.named(pids)))
    return not by_name or torch_private.receive_outstanding(iterator, _RECEIVE_SECONDS)


def borrow(
    loader: Any, *, in_process: bool = False, prepare: Callable[[Any], None] = lambda _copy: None
) -> AbstractContextManager[Borrowed]:
    """A copy of ``loader`` to measure; afterwards no worker is left and what iterating changed is put back.

    ``in_process`` makes the copy load in this process, whatever num_workers says. ``prepare`` is called with the copy
    and with those of loaders inside it, where they hold a dataset of their own, before they make an iterator.
    Raises as ``borrow_as`` does.
    """
    return borrow_as(functools.partial(Borrowed, in_process=in_process, prepare=prepare), loader)


@contextlib.contextmanager
def borrow_as(kind: Callable[[Any], _B], loader: Any) -> Iterator[_B]:
    """What ``kind`` makes of a loader: a ``Borrowed`` of another kind.

    Raises BadTarget for anything but a torch DataLoader, NotMeasured for one that can be iterated only once.
    """
    from torch.utils.data import DataLoader

    if not isinstance(loader, DataLoader):
        raise BadTarget(f"expected a torch DataLoader, got {type(loader).__module__}.{type(loader).__qualname__}")
    for name in ("sampler", "batch_sampler"):
        sampler = vars(loader).get(name)
        if hasattr(sampler, "__next__") and not hasattr(sampler, "__dict__"):
            raise NotMeasured(
                f"the loader's {name} is a {type(sampler).__name__}, which can be iterated only once: "
                "measuring would use it up; pass a list or a Sampler"
            )
    with preserve_state(loader):
        borrowed = kind(loader)
        try:
            yield borrowed
        except (Hang, KeyboardInterrupt) as end:  # a signal that workers got too may have ended one that held a lock
            borrowed.end_at_once(end)
            raise
        finally:
            borrowed.close()
