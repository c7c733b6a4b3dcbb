"""A user's loader, borrowed: a shallow copy to iterate, gone with its workers when the measuring ends."""

from __future__ import annotations

import contextlib
import itertools
import time
from typing import TYPE_CHECKING, Any

from pytest_dataloader.errors import BadTarget, NotMeasured
from pytest_dataloader.probe import samples, torch_private
from pytest_dataloader.probe.patience import Hang
from pytest_dataloader.probe.untouched import put_back

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Iterator
    from multiprocessing.process import BaseProcess

_WORKER_GRACE_SECONDS = 5.0
"""Torch itself waits as long for a worker before it terminates it."""

_WITHOUT_WORKERS = {"num_workers": 0, "prefetch_factor": None, "persistent_workers": False, "timeout": 0}


class Borrowed:
    """A copy of a loader, pulled from batch by batch, epoch after epoch."""

    def __init__(self, loader: Any, *, in_process: bool = False) -> None:
        self._in_process = in_process
        self._copies: list[Any] = []
        self._made: list[Any] = []
        self._sizes: deque[int] | None = None
        self._batches: Iterator[Any] | None = None
        self.keeps_iterator = False
        self.loader = self._copy(loader)
        self.batch_size: int | None = getattr(loader, "batch_size", None)

    @property
    def counted_by(self) -> samples.CountedBy:
        """Which rule of ``samples`` counts this loader's samples."""
        if self._sizes is not None:
            return "indices"
        return "first dimension" if self.batch_size is None else "batch_size"

    @property
    def workers(self) -> list[BaseProcess]:
        """The worker processes of the current epoch."""
        return torch_private.worker_processes(self._iterator) if self._made else []

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
        return torch_private.outstanding_batches(self._iterator) < self.depth

    @property
    def _iterator(self) -> Any:
        return self._made[-1]

    def begin_epoch(self) -> None:
        """Ask the loader for a new epoch; errors of the user's code come out as they are."""
        self._release()
        self._batches = iter(self.loader)

    def pull(self, most: int) -> tuple[int, int]:
        """Pull up to ``most`` batches; how many came, and how many samples. Fewer batches: the epoch has ended."""
        assert self._batches is not None
        if self._sizes is None:
            return self._pull_and_look(most)
        batches = 0
        for _ in itertools.islice(self._batches, most):
            batches += 1
        # A loader that makes up its own batches can hand out more of them than the sampler gave.
        return batches, sum(self._sizes.popleft() for _ in range(min(batches, len(self._sizes))))

    def _pull_and_look(self, most: int) -> tuple[int, int]:
        assert self._batches is not None
        batches = seen = 0
        for batch in itertools.islice(self._batches, most):
            batches += 1
            seen += samples.count(batch, self.batch_size)
        return batches, seen

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

    def _stop(self, *, kill: bool) -> None:
        self._release()
        workers = [worker for iterator in self._made for worker in torch_private.worker_processes(iterator)]
        for iterator in self._made:
            torch_private.shut_down(iterator, kill=kill)
        deadline = time.monotonic() + _WORKER_GRACE_SECONDS
        for worker in workers:
            worker.join(max(0.0, deadline - time.monotonic()))
            if worker.is_alive():
                worker.kill()
                worker.join(_WORKER_GRACE_SECONDS)
        self._made.clear()

    def _release(self) -> None:
        """Let go of the epoch under way; a generator's own clean-up runs now."""
        batches, self._batches = self._batches, None
        close = getattr(batches, "close", None)
        if close is not None:
            close()

    def _copy(self, loader: Any) -> Any:
        """A shallow copy that makes new iterators, and tells us of them; loaders inside it are copied as well."""
        from torch.utils.data import DataLoader

        copy = object.__new__(type(loader))
        vars(copy).update(vars(loader))
        self._copies.append(copy)
        if self._in_process:
            vars(copy).update(_WITHOUT_WORKERS)
        torch_private.forget_iterations(copy)
        torch_private.watch_iterators(copy, self._remember)
        inner = [name for name, value in vars(copy).items() if isinstance(value, DataLoader)]
        for name in inner:
            vars(copy)[name] = self._copy(vars(copy)[name])
        if not inner:
            self._sizes = samples.count_indices(copy)
        for name, value in list(vars(copy).items()):
            if torch_private.is_iterator(value):  # made once and kept for ever, as timm's MultiEpochsDataLoader does
                vars(copy)[name] = torch_private.new_iterator(copy)
                self.keeps_iterator = True
        return copy

    def _remember(self, iterator: Any) -> None:
        self._made[:] = [kept for kept in self._made if any(w.is_alive() for w in torch_private.worker_processes(kept))]
        self._made.append(iterator)


@contextlib.contextmanager
def borrow(loader: Any, *, in_process: bool = False) -> Iterator[Borrowed]:
    """A copy of ``loader`` to measure; afterwards no worker is left and what iterating changed is put back.

    ``in_process`` makes the copy load in this process, whatever num_workers says.
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
    with put_back(loader):
        borrowed = Borrowed(loader, in_process=in_process)
        try:
            yield borrowed
        except Hang:
            borrowed.close(kill=True)
            raise
        finally:
            borrowed.close()
