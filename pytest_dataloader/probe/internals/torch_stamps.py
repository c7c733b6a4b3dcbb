"""Private names of torch by which an iterator gets clocks; read in torch 2.13.0.

A part of ``torch_private`` by its meaning.
"""

from __future__ import annotations

import contextlib
import functools
import os
import queue
import weakref
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.internals import envelopes
from pytest_dataloader.probe.internals.torch_private import turn

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_dataloader.probe.internals.envelopes import StampLog


def stamp(iterator: Any, stamp_log: StampLog) -> None:
    """Put clocks on an iterator that is being made; to be called by ``watch_iterators`` as ``prepare``.

    It starts out armed: what it asks for until it is disarmed goes in envelopes.
    """
    collate = iterator._collate_fn
    here = iterator._num_workers == 0
    iterator._collate_fn = envelopes.CollateHere(collate, stamp_log) if here else envelopes.StampedCollate(collate)
    iterator._stamp_log = stamp_log
    arm(iterator, True)


def arm(iterator: Any, armed: bool) -> None:
    """Have the batches that are asked for from now on timed, or not; disarmed, an iterator is torch's own again."""
    if armed:
        # Not a class of our own: to set __class__ makes every later access to the iterator's attributes slower.
        iterator._next_index = functools.partial(_next_index, weakref.ref(iterator))
    elif iterator._num_workers:
        iterator._next_index = functools.partial(_remembered_index, weakref.ref(iterator))
    else:
        with contextlib.suppress(AttributeError):
            del iterator._next_index
    fetcher = getattr(iterator, "_dataset_fetcher", None)
    if fetcher is not None:
        fetcher.collate_fn = iterator._collate_fn if armed else iterator._collate_fn.collate


def watch_consumer(iterator: Any, asked: Callable[[], None], got: Callable[[int], None]) -> None:
    """Have ``asked`` called whenever the next batch is asked for, and ``got`` with its number once it is there.

    As ``turn`` numbers them: -1 where they have no numbers.
    """
    watched = weakref.ref(iterator)

    def next_data() -> Any:
        asked_of: Any = watched()
        number, _, _ = turn(asked_of)
        asked()
        batch = type(asked_of)._next_data(asked_of)
        got(number)
        return batch

    iterator._next_data = next_data


def watch_reuse(iterator: Any, begun: Callable[[], None]) -> None:
    """Have ``begun`` called whenever an iterator of persistent workers begins another epoch."""
    watched = weakref.ref(iterator)

    def reset(*args: Any, **options: Any) -> Any:
        begun()
        used: Any = watched()
        return type(used)._reset(used, *args, **options)

    iterator._reset = reset


def release(iterator: Any) -> None:
    """Make an iterator torch's own again. Its workers keep the collate function that they have: it calls the user's."""
    for name in ("_next_index", "_next_data", "_reset"):
        vars(iterator).pop(name, None)
    getattr(getattr(iterator, "_data_queue", None), "__dict__", {}).pop("put", None)
    collate = iterator._collate_fn
    iterator._collate_fn = getattr(collate, "collate", collate)
    fetcher = getattr(iterator, "_dataset_fetcher", None)
    if fetcher is not None:
        fetcher.collate_fn = iterator._collate_fn


def _next_index(iterator: Any) -> Any:
    """What every iterator draws its indices with, timed; the iterator comes as a weak reference."""
    drawing = iterator()
    began = envelopes.stamp_before()
    index = type(drawing)._next_index(drawing)
    wall, cpu, _, delay = envelopes.between(began, envelopes.stamp_after())
    return _stamped_index(drawing, index, wall - delay, cpu)


def _remembered_index(iterator: Any) -> Any:
    """The same without clocks; only with workers, whose batches take 0.8 ms at least."""
    drawing = iterator()
    index = type(drawing)._next_index(drawing)
    drawing._stamp_log.asked.append((drawing._stamp_log.epoch, drawing._send_idx, index))
    return index


def _stamped_index(iterator: Any, index: Any, *sampler: int) -> Any:
    stamp_log: StampLog = iterator._stamp_log
    asked = stamp_log.count(index)
    if asked is not None:
        stamp_log.sized[0] += asked
        stamp_log.sized[1] += 1
    if iterator._num_workers == 0:
        stamp_log.note_samples(iterator._num_yielded, index)
        batch_id = envelopes.BatchId(stamp_log.number, stamp_log.epoch, iterator._num_yielded, *sampler)
        stamp_log.opened = envelopes.BatchStamps(batch_id, 0, os.getpid(), iterator._num_yielded, 0, envelopes.NEVER)
        stamp_log.opened.index = envelopes.stamp_before()
        return index
    if isinstance(iterator._index_queues[0], queue.Queue):  # workers that are threads: nothing is pickled
        return index
    stamp_log.note_samples(iterator._send_idx, index)
    stamp_log.asked.append((stamp_log.epoch, iterator._send_idx, index))
    batch_id = envelopes.BatchId(stamp_log.number, stamp_log.epoch, iterator._send_idx, *sampler)
    return envelopes.StampedIndex(index, batch_id)


def stamp_pinning(iterator: Any) -> None:
    """Have batches timed once they are pinned, when the pinning thread puts them into its queue."""
    if not hasattr(iterator, "_pin_memory_thread"):
        return
    data_queue = weakref.ref(iterator._data_queue)

    def put(item: Any, *args: Any, **options: Any) -> None:
        envelopes.stamp_pinned(item[0])
        target: Any = data_queue()
        type(target).put(target, item, *args, **options)

    iterator._data_queue.put = put
