"""What a batch takes on its way from a worker: how many tensors' storages, of how many bytes. Nothing is sent."""

from __future__ import annotations

import os
import pickle
from dataclasses import dataclass, replace
from typing import Any

from pytest_dataloader.probe.host.child_process import Child
from pytest_dataloader.probe.internals import torch_private, torch_worker_loop
from pytest_dataloader.probe.loader.coordination import workers_told
from pytest_dataloader.probe.loader.referents import is_object_array

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
    seen: list[Payload] = []

    def tell(error: str) -> None:
        largest = (max((each.storages for each in seen), default=0), max((each.bytes for each in seen), default=0))
        child.tell(pickle.dumps((*largest, len(seen), error)))
        child.sleep()

    tasks = torch_worker_loop.first_tasks(loader, _MOST_BATCHES)
    queues = torch_worker_loop.WorkerQueues(
        tasks, seconds=_WEIGHING_SECONDS, take=lambda batch: seen.append(weigh_batch(batch)), done=tell
    )
    torch_worker_loop.work(loader, queues, queues, seed=_SEED, workers=workers_told(loader))


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
