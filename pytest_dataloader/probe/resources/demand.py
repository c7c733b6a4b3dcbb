"""What a loader will ask of descriptors and shared memory, told before any worker runs, and why it cannot work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pytest_dataloader.probe.host import descriptors, segments
from pytest_dataloader.probe.loader.settings import start_method_of, worker_processes_of
from pytest_dataloader.probe.resources import payload
from pytest_dataloader.probe.resources.forecast import HANDED_OVER, Need, Shape, handed_over
from pytest_dataloader.probe.resources.payload import UNKNOWN, Payload
from pytest_dataloader.quantities import size


@dataclass(frozen=True, slots=True)
class Demand:
    """``handed`` are descriptors that a worker gets as it starts, 0 where workers are forked or get none."""

    shape: Shape
    payload: Payload
    need: Need
    handed: int
    limit: int
    capacity: int

    @property
    def unpredicted(self) -> str:
        """Why the need of workers is not known; empty where it is, and where there are none."""
        return "" if self.payload.known or not self.shape.workers else self.payload.error

    @property
    def shortage_of_descriptors(self) -> str:
        """Why workers cannot get by with the descriptors that there may be, in words; empty where they can."""
        need, shape = self.need, self.shape
        per = f"{shape.storages} tensors a batch, prefetch_factor={shape.prefetch_factor}"
        if shape.start_method == "forkserver" and self.handed > HANDED_OVER:
            return (
                f"{self.handed} descriptors to start a worker, a fork server sends at most {HANDED_OVER}\n"
                f"{self.handed - handed_over(0)} of them are for tensors of the dataset"
            )
        if shape.start_method == "spawn" and self.handed + shape.before > self.limit:
            return f"{self.handed} descriptors to start a worker, for tensors of the dataset"
        if need.worker > self.limit:
            return (
                f"{need.worker} descriptors needed in a worker ({per})\n"
                "the worker would drop the batch that does not fit, and the loop would hang"
            )
        if need.main_least > self.limit:
            return f"{need.main_least} descriptors at least needed in the main process ({per})"
        return ""

    @property
    def shortage_of_memory(self) -> str:
        """Why the batches made ahead cannot fit /dev/shm, in words; empty where they can."""
        need, shape = self.need, self.shape
        if not self.capacity or need.segment_bytes <= self.capacity:
            return ""
        return (
            f"{size(need.segment_bytes)} of prefetched batches do not fit into /dev/shm of {size(self.capacity)}\n"
            f"{shape.workers} workers x prefetch_factor={shape.prefetch_factor} + 1 batches of "
            f"{size(shape.batch_bytes)}"
        )


def demand_of(loader: Any) -> Demand:
    """Weigh the first batches of a loader, made in a forked child, and work out what all its workers will need."""
    workers = worker_processes_of(loader)
    method = start_method_of(loader) if workers else "fork"
    weighed = payload.weigh_first_batches(loader) if workers else UNKNOWN
    shape = Shape(
        before=descriptors.count_descriptors() or 0,
        storages=weighed.storages,
        batch_bytes=weighed.bytes,
        workers=workers,
        prefetch_factor=getattr(loader, "prefetch_factor", None) or 2,
        start_method=method,
        by_descriptor=not segments.are_handed_over_by_name(),
        in_order=getattr(loader, "in_order", True),
    )
    return Demand(
        shape=shape,
        payload=weighed,
        need=shape.need(),
        handed=handed_over(_storages_of_dataset(loader)) if method != "fork" and shape.by_descriptor else 0,
        limit=descriptors.limit(),
        capacity=segments.capacity()[0],
    )


def _storages_of_dataset(loader: Any) -> int:
    """Tensors that each worker is sent at its start; 0 where what is sent cannot be pickled: that fails by itself."""
    try:
        return payload.weigh_batch((loader.dataset, loader.collate_fn, loader.worker_init_fn)).storages
    except Exception:
        return 0
