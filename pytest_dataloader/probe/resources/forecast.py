"""How many descriptors and segments a loader needs at its peak, by formula; pure.

Read off torch 2.13 and held to measurements by benchmarks/resources_forecast.py. With T storages in a batch, N workers
and a prefetch factor p:

* main process: what was open before + 2 + 4 N (queues, sentinels) + T (2 + (N - 1) p), where one worker lags and the
  batches of all others wait for its own; with ``in_order=False`` T * 2;
* worker: what it inherited + 3 + 4 N under fork, about 13 under spawn and forkserver; + T (p + 1) + 1;
* segments alive: T (N p + 1).

A worker has up to three more for the moment in which it hands a tensor over: the connection, its duplicate and the
descriptor that was sent. In 160 runs beside six busy loops a look met two of them 6 times.

With the ``file_system`` strategy storages cost segments and no descriptors.
"""

from __future__ import annotations

from dataclasses import dataclass

SPAWNED_WORKER = 13
"""Open in a worker that inherited nothing and has sent a batch: 13 in all of 24 loaders under forkserver."""
HANDED_OVER = 249
"""Descriptors that a fork server hands to a new worker, at most: Linux passes 253 in a message, and four are its own.
A dataset of 245 tensors starts; 246 and 247 fail with OSError or ConnectionRefusedError, 248 with "too many fds"."""
_QUEUES = 4
"""Descriptors that each worker is handed besides those of its dataset: both ends of two pipes."""


@dataclass(frozen=True, slots=True)
class Need:
    """Descriptors and segments at the peak. ``main_least`` is what no run does without, ``main`` the worst case."""

    main_least: int
    main: int
    worker: int
    segments: int
    segment_bytes: int


@dataclass(frozen=True, slots=True)
class Shape:
    """What decides how much a loader needs. ``by_descriptor``: torch's default sharing strategy."""

    before: int
    storages: int
    batch_bytes: int
    workers: int
    prefetch_factor: int
    start_method: str = "fork"
    by_descriptor: bool = True
    in_order: bool = True

    def need(self) -> Need:
        """By the formulas of this module."""
        if not self.workers:
            return Need(self.before, self.before, 0, 0, 0)
        carried = self.storages if self.by_descriptor else 0
        fixed = self.before + 2 + 4 * self.workers
        ahead = (self.workers - 1) * self.prefetch_factor if self.in_order else 0
        own = self.before + 3 + 4 * self.workers if self.start_method == "fork" else SPAWNED_WORKER
        alive = self.workers * self.prefetch_factor + 1
        return Need(
            main_least=fixed + carried,
            main=fixed + carried * (2 + ahead),
            worker=own + carried * (self.prefetch_factor + 1) + 1,
            segments=self.storages * alive,
            segment_bytes=self.batch_bytes * alive,
        )


def handed_over(storages: int) -> int:
    """Descriptors that a worker gets at its start under forkserver, its dataset's tensors among them."""
    return storages + _QUEUES
