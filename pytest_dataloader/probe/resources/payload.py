"""What a batch takes on its way from a worker: how many tensors' storages, of how many bytes. Nothing is sent."""

from __future__ import annotations

import os
import pickle
from dataclasses import dataclass, replace
from typing import Any

from pytest_dataloader.probe.host.child_process import Child
from pytest_dataloader.probe.internals import torch_worker_loop
from pytest_dataloader.probe.loader.batch_storages import eight_bit_fields, weigh
from pytest_dataloader.probe.loader.coordination import workers_told

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
    unshown_bytes: int = 0
    """Of storages, beyond what their tensors show."""
    uint8_saves_bytes: int = 0
    """Of tensors whose values uint8 would hold, beyond what it would take."""

    @property
    def known(self) -> bool:
        return self.batches > 0


UNKNOWN = Payload(0, 0, 0)


def weigh_batch(thing: Any) -> Payload:
    """Weigh a batch, or whatever else is pickled for another process.

    Tensors that share a storage travel once, empty ones not at all; numpy arrays and strings go through a pipe.
    Raises what pickling the thing raises.
    """
    weight = weigh(thing)
    pages = sum(-(-size // _PAGE) * _PAGE for size in weight.storage_bytes)
    return Payload(
        len(weight.storage_bytes),
        pages,
        unshown_bytes=weight.shared_bytes - weight.tensor_bytes,
        uint8_saves_bytes=sum(field.bytes - field.uint8_bytes for field in eight_bit_fields(thing)),
    )


def weigh_first_batches(loader: Any) -> Payload:
    """Have a forked child make the first batches as worker 0 would; none of them, and why, where it cannot."""
    if not hasattr(os, "fork"):
        return replace(UNKNOWN, error="this system cannot fork")
    with Child.fork(lambda child: _weigh_as_worker(loader, child)) as child:
        answer = child.hear(_TIMEOUT_SECONDS)
        if answer is None:
            no_answer = f"gave no batch in {_TIMEOUT_SECONDS:.0f} s"
            return replace(UNKNOWN, error=f"the process that makes the first batches {child.end() or no_answer}")
    return pickle.loads(answer)  # type: ignore[no-any-return]  # what the child told


def _weigh_as_worker(loader: Any, child: Child) -> None:
    seen: list[Payload] = []

    def tell(error: str) -> None:
        names = ("storages", "bytes", "unshown_bytes", "uint8_saves_bytes")
        most = {name: max((getattr(each, name) for each in seen), default=0) for name in names}
        child.tell(pickle.dumps(Payload(**most, batches=len(seen), error=error)))
        child.sleep()

    tasks = torch_worker_loop.first_tasks(loader, _MOST_BATCHES)
    queues = torch_worker_loop.WorkerQueues(
        tasks, seconds=_WEIGHING_SECONDS, take=lambda batch: seen.append(weigh_batch(batch)), done=tell
    )
    torch_worker_loop.work(loader, queues, queues, seed=_SEED, workers=workers_told(loader))
