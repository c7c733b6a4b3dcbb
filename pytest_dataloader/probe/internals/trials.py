"""A release of torch that nobody has tried is tried out: small loaders whose batches and workers are known.

Private names may be there and mean something else. Each trial runs in a forked child, which may hang or die.
"""

from __future__ import annotations

import functools
import pickle
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.host.child_process import Child
from pytest_dataloader.probe.internals import torch_pretence, torch_private, torch_stamps, torch_worker_loop
from pytest_dataloader.probe.internals.envelopes import WALL, StampLog

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_dataloader.probe.internals.requirements import Part

_SECONDS = 20.0
"""For each trial; on a quiet machine it takes 0.1."""
_BATCHES, _WORKERS = 6, 2


@functools.cache
def trial_failure(part: Part) -> str:
    """What a trial of a module of this room saw go wrong, once a process; empty where it is as it should be."""
    trial = _TRIALS[part]
    with Child.fork(lambda child: child.tell(trial().encode())) as child:
        answer = child.hear(_SECONDS)
        if answer is None:
            return f"a trial of it {child.end() or f'gave no answer in {_SECONDS:.0f} s'}"
    return answer.decode()


def _loader(workers: int) -> Any:
    import torch
    from torch.utils.data import DataLoader

    context = "fork" if workers else None
    return DataLoader(torch.arange(_BATCHES), batch_size=1, num_workers=workers, multiprocessing_context=context)  # type: ignore[arg-type]  # a tensor can be indexed


def _try_iterator() -> str:
    """The batches that are under way, whose turn it is, and how workers end."""
    loader, made = _loader(_WORKERS), list[Any]()
    torch_private.watch_iterators(loader, made.append)
    iterator = iter(loader)
    if made != [iterator]:
        return "no iterator was seen to be made"
    workers = torch_private.worker_processes(iterator)
    ahead = torch_private.prefetch_depth(iterator)
    seen = [
        len(workers),
        ahead,
        torch_private.outstanding_batches(iterator),
        sorted(torch_private.numbers_in_flight(iterator)),
        torch_private.turn(iterator)[0],
        torch_private.workers_at_work(iterator),
        set(torch_private.pending_batches(iterator).values()) <= {0, 1},
        next(iterator).tolist(),
        torch_private.turn(iterator)[0],
        torch_private.receive_outstanding(iterator, _SECONDS / 4),
    ]
    torch_private.shut_down_workers(iterator, kill=True)
    for worker in workers:
        worker.join(_SECONDS / 4)
    ended = [worker.exitcode is not None for worker in workers]
    expected = [_WORKERS, 4, 4, [0, 1, 2, 3], 0, [0, 1], True, [0], 1, True]
    return "" if (seen, ended) == (expected, [True, True]) else f"its iterator gave {seen}, expected {expected}"


def _try_stamps() -> str:
    """Every batch has all its stamps, in order, and comes bare."""
    for workers in (0, 1):
        loader, stamp_log, made = _loader(workers), StampLog(count=len), list[Any]()
        torch_private.watch_iterators(loader, made.append, functools.partial(torch_stamps.stamp, stamp_log=stamp_log))
        stamp_log.open()
        batches = [batch.tolist() for batch in loader]
        torch_stamps.release(made[0])
        numbers = [stamps.batch_id.number for stamps in stamp_log.batch_stamps]
        if batches != [[number] for number in range(_BATCHES)] or numbers != list(range(_BATCHES)):
            return f"batches {batches} came with the stamps of {numbers}"
        for stamps in stamp_log.batch_stamps:
            moments = [stamps.index[WALL], stamps.fetched[WALL], stamps.collated[WALL]]
            if moments != sorted(moments) or not moments[0]:
                return f"a batch has the stamps {moments}"
    return ""


def _try_pretence() -> str:
    """A pretended worker and rank are what they pretend to be."""
    import torch.distributed as dist
    from torch.utils.data import get_worker_info

    torch_pretence.pretend_worker(1, 3, 7, None)
    info = get_worker_info()
    if info is None or (info.id, info.num_workers, info.seed) != (1, 3, 7):
        return f"a pretended worker is {info}"
    if dist.is_available():
        torch_pretence.pretend_rank(1, 2)
        if not dist.is_initialized() or (dist.get_rank(), dist.get_world_size()) != (1, 2):
            return "a pretended rank is none"
    return ""


class _Queue:
    """Both queues of a worker: it is asked for each batch, for the next epoch, and for a batch again."""

    def __init__(self, child: Child) -> None:
        self._child = child
        once, again = [(number, [number]) for number in range(_BATCHES)], (_BATCHES, [0])
        self._asked = iter([*once, torch_worker_loop.next_epoch(1), again])
        self._came: list[Any] = []

    def get(self, timeout: float | None = None) -> Any:  # noqa: ARG002  # the queue's signature
        asked = next(self._asked, None)
        if asked is None:
            self._child.tell(pickle.dumps(self._came))
            self._child.sleep()
        return asked

    def put(self, message: Any) -> None:
        number, batch = message
        self._came.append("epoch" if torch_worker_loop.is_next_epoch(number) else (number, batch.tolist()))


def _try_worker_loop() -> str:
    """A worker gives the batches that it is asked for."""

    def run(child: Child) -> None:
        queue = _Queue(child)
        torch_worker_loop.work(_loader(1), queue, queue, seed=1, workers=1)

    with Child.fork(run) as child:
        answer = child.hear(_SECONDS / 2)
        came = f"nothing: it {child.end() or 'hangs'}" if answer is None else pickle.loads(answer)
    expected = [*((number, [number]) for number in range(_BATCHES)), "epoch", (_BATCHES, [0])]
    return "" if came == expected else f"its worker gave {came}, expected {expected}"


_TRIALS: dict[Part, Callable[[], str]] = {
    "torch_private": _try_iterator,
    "torch_worker_loop": _try_worker_loop,
    "torch_stamps": _try_stamps,
    "torch_pretence": _try_pretence,
}
