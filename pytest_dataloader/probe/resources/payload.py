"""What a batch takes on its way from a worker: how many tensors' storages, of how many bytes. Nothing is sent."""

from __future__ import annotations

import itertools
import os
import pickle
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.host.child_process import Child
from pytest_dataloader.probe.internals import torch_worker_loop
from pytest_dataloader.probe.loader.batch_storages import eight_bit_fields, weigh
from pytest_dataloader.probe.loader.borrowing import borrow
from pytest_dataloader.probe.loader.coordination import workers_told
from pytest_dataloader.probe.loader.settings import settings_of, start_method_of
from pytest_dataloader.probe.loader.timeout import Hang, time_limit

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_BATCHES = 3
"""Batches weighed: a first one alone may be unlike the others."""
_WEIGHING_SECONDS = 2.0
_TIMEOUT_SECONDS = 10.0
_START_SECONDS = 60.0
"""For a worker that imports everything anew: torch took 12 to 25 s on a busy machine."""
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
    """Have a forked child make the first batches as worker 0 would; none of them, and why, where it cannot.

    A library whose threads do not survive a fork gives nothing there: where the loader's workers are not forked, one of
    them is then asked, which takes the seconds of its start.
    """
    if not hasattr(os, "fork"):
        return replace(UNKNOWN, error="this system cannot fork")
    with Child.fork(lambda child: _weigh_as_worker(loader, child)) as child:
        answer = child.hear_unless_deadlocked(_TIMEOUT_SECONDS)
        if answer is not None:
            return pickle.loads(answer)  # type: ignore[no-any-return]  # what the child told
        why = child.end() or "gave none"
    if start_method_of(loader) != "fork":
        return _weigh_as_received(loader)
    return replace(UNKNOWN, error=f"the process that makes the first batches {why}")


def _weigh_as_received(loader: Any) -> Payload:
    """The first batches of one worker of the loader's own start method, as they arrive."""
    with borrow(loader, prepare=lambda copy: replace(settings_of(copy), num_workers=1).apply(copy)) as borrowed:
        try:
            with time_limit(_START_SECONDS):
                borrowed.begin_epoch()
                return _largest([weigh_batch(batch) for batch in itertools.islice(borrowed.each(), _MOST_BATCHES)])
        except Hang:
            borrowed.close(kill=True)
            return replace(UNKNOWN, error=f"a worker gave no batch in {_START_SECONDS:.0f} s")
        except Exception as error:
            return replace(UNKNOWN, error=f"a worker raised {type(error).__name__}: {error}")


def _largest(seen: Sequence[Payload], error: str = "") -> Payload:
    names = ("storages", "bytes", "unshown_bytes", "uint8_saves_bytes")
    most = {name: max((getattr(each, name) for each in seen), default=0) for name in names}
    return Payload(**most, batches=len(seen), error=error)


def _weigh_as_worker(loader: Any, child: Child) -> None:
    seen: list[Payload] = []

    def tell(error: str) -> None:
        child.tell(pickle.dumps(_largest(seen, error)))
        child.sleep()

    tasks = torch_worker_loop.first_tasks(loader, _MOST_BATCHES)
    queues = torch_worker_loop.WorkerQueues(
        tasks, seconds=_WEIGHING_SECONDS, take=lambda batch: seen.append(weigh_batch(batch)), done=tell
    )
    torch_worker_loop.work(loader, queues, queues, seed=_SEED, workers=workers_told(loader))
