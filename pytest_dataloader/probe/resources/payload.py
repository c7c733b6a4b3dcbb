"""What a batch takes on its way from a worker: how many tensors' storages, of how many bytes. Nothing is sent."""

from __future__ import annotations

import itertools
import os
import pickle
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.host.child_process import Child
from pytest_dataloader.probe.internals import torch_private, torch_worker_loop
from pytest_dataloader.probe.loader.coordination import workers_told
from pytest_dataloader.probe.loader.referents import is_object_array

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_BATCHES = 3
"""Batches weighed: a first one alone may be unlike the others."""
_WEIGHING_SECONDS = 2.0
_TIMEOUT_SECONDS = 10.0
_PAGE = 4096
"""Shared memory is given out in pages."""
_SEED = 20261122


@dataclass(frozen=True, slots=True)
class Payload:
    """The largest of the batches weighed. Each storage costs a segment, and with it a descriptor in each process."""

    storages: int
    bytes: int
    batches: int = 1
    error: str = ""

    @property
    def known(self) -> bool:
        return self.batches > 0


UNKNOWN = Payload(0, 0, 0)


def weigh_batch(thing: Any) -> Payload:
    """Weigh a batch, or whatever else is pickled for another process.

    Tensors that share a storage travel once, empty ones not at all; numpy arrays and strings go through a pipe.
    Raises what pickling the thing raises.
    """
    scale = _Scale(_Nowhere())
    scale.dump(thing)
    return Payload(len(scale.storages), sum(scale.storages.values()))


def weigh_first_batches(loader: Any) -> Payload:
    """Have a forked child make the first batches as worker 0 would; none of them, and why, where it cannot."""
    if not hasattr(os, "fork"):
        return replace(UNKNOWN, error="this system cannot fork")
    with Child.fork(lambda child: _weigh_as_worker(loader, child)) as child:
        answer = child.hear(_TIMEOUT_SECONDS)
        if answer is None:
            no_answer = f"gave no batch in {_TIMEOUT_SECONDS:.0f} s"
            return replace(UNKNOWN, error=f"the process that makes the first batches {child.end() or no_answer}")
    return Payload(*pickle.loads(answer))


def _weigh_as_worker(loader: Any, child: Child) -> None:
    queue = _Scales(child, loader)
    torch_worker_loop.work(loader, queue, queue, seed=_SEED, workers=workers_told(loader))


class _Scales:
    """Stands in for both queues of a worker: hands out the first indices, weighs what comes back."""

    def __init__(self, child: Child, loader: Any) -> None:
        self._child = child
        self._deadline = time.monotonic() + _WEIGHING_SECONDS
        self._steps = self._indices(loader)
        self._storages = self._bytes = self._batches = 0
        self._error = ""
        self._ended = False

    def get(self, timeout: float | None = None) -> Any:  # noqa: ARG002  # the queue's signature
        late = self._ended or self._error or (self._batches and time.monotonic() > self._deadline)
        step = None if late else next(self._steps, None)
        if step is None:
            self._child.tell(pickle.dumps((self._storages, self._bytes, self._batches, self._error)))
            self._child.sleep()
        return step

    def put(self, message: Any) -> None:
        data = message[1]
        self._ended = torch_private.is_exhausted(data)
        self._error = torch_private.exception_in(data)
        if self._ended or self._error or torch_worker_loop.is_next_epoch(message[0]):
            return
        try:
            seen = weigh_batch(data)
        except Exception as error:
            self._error = f"{type(error).__name__}: {error}"
            return
        self._batches += 1
        self._storages, self._bytes = max(self._storages, seen.storages), max(self._bytes, seen.bytes)

    def _indices(self, loader: Any) -> Iterator[Any]:
        if not torch_private.reads_by_iteration(loader):
            yield from enumerate(itertools.islice(torch_private.index_sampler(loader), _MOST_BATCHES))
            return
        # An iterable dataset is asked for so many samples; what stands in the list is not looked at.
        asked = [None] * (loader.batch_size or 1) if torch_private.reads_batches(loader) else None
        yield from ((number, asked) for number in range(_MOST_BATCHES))


class _Nowhere:
    def write(self, data: Any) -> int:
        return len(data)


class _Scale(pickle.Pickler):
    """Pickles a thing to nowhere, as a queue does, and notes the storages of the tensors that it meets."""

    def __init__(self, file: Any) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self.storages: dict[int, int] = {}

    def reducer_override(self, thing: Any) -> Any:
        if type(thing).__name__ == "ndarray" and not is_object_array(thing):
            return int, ()
        if not hasattr(thing, "untyped_storage"):
            return NotImplemented
        for part in torch_private.dense_parts(thing):
            self._note(part)
        return int, ()

    def _note(self, tensor: Any) -> None:
        try:
            storage = tensor.untyped_storage()
            size = int(storage.nbytes())
            if size and tensor.device.type == "cpu":
                self.storages[storage.data_ptr()] = -(-size // _PAGE) * _PAGE
        except (NotImplementedError, RuntimeError):  # kinds of tensors that have no storage
            return
