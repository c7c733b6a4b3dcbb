"""Private names of torch by which a forked child pretends to be a worker or a rank; read in torch 2.13.0.

A part of ``torch_private`` by its meaning, apart because that room is full.
"""

from __future__ import annotations

from typing import Any


def pretend_worker(number: int, workers: int, seed: int, dataset: Any) -> None:
    """Have ``get_worker_info`` answer as in a worker. For forked children alone."""
    from torch.utils.data._utils import worker

    worker._worker_info = worker.WorkerInfo(id=number, num_workers=workers, seed=seed, dataset=dataset)


def pretend_rank(rank: int, world: int) -> None:
    """Have ``torch.distributed`` answer as that rank, by torch's own group that exchanges nothing.

    For forked children alone; without effect where the group is missing (torch built without distributed) or a real
    one exists already.
    """
    try:
        import torch.distributed as dist
        from torch.testing._internal.distributed.fake_pg import FakeStore

        if dist.is_available() and not dist.is_initialized():
            store = FakeStore()
            dist.init_process_group("fake", store=store, rank=rank, world_size=world)
    except (ImportError, AttributeError, RuntimeError, ValueError):
        return
