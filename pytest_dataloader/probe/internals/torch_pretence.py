"""Private names of torch by which a forked child pretends to be a worker or a rank; read in torch 2.13.0.

A part of ``torch_private`` by its meaning.
"""

from __future__ import annotations

import functools
from typing import Any


def pretend_worker(number: int, workers: int, seed: int, dataset: Any) -> None:
    """Have ``get_worker_info`` answer as in a worker. For forked children alone."""
    from torch.utils.data._utils import worker

    worker._worker_info = worker.WorkerInfo(id=number, num_workers=workers, seed=seed, dataset=dataset)


_EXCHANGES = (
    "broadcast", "broadcast_object_list", "scatter", "scatter_object_list", "gather", "gather_object", "all_gather",
    "all_gather_object", "all_gather_into_tensor", "reduce", "all_reduce", "reduce_scatter", "all_to_all", "recv",
)  # fmt: skip
"""What hands data from rank to rank: of ranks that are only pretended, each would go on with what it had before."""


class RanksExchange(RuntimeError):
    """A rank that is only pretended was asked for what only other ranks have."""


_FORGOTTEN: list[Any] = []
"""Groups that a child no longer knows: dropped, they would wait for threads that only the parent has."""


def pretend_rank(rank: int, world: int) -> None:
    """Have ``torch.distributed`` answer as that rank, by torch's own group that exchanges nothing.

    What would exchange data raises RanksExchange; a barrier is passed. For forked children alone, which forget the
    group that their parent is in; without effect where torch was built without distributed.
    """
    try:
        import torch.distributed as dist
        from torch.testing._internal.distributed.fake_pg import FakeStore

        if dist.is_available():
            if dist.is_initialized():
                _forget_groups()
            dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=world)
            if world > 1:
                vars(dist).update({name: functools.partial(_refuse, name) for name in _EXCHANGES})
    except (ImportError, AttributeError, RuntimeError, ValueError):
        return


def _refuse(name: str, *_args: Any, **_options: Any) -> None:
    raise RanksExchange(f"ranks exchange data by {name}, which takes a job of them: run it under torchrun")


def _forget_groups() -> None:
    from torch.distributed import distributed_c10d

    untyped: Any = distributed_c10d
    known = untyped._world
    for name in ("pg_map", "pg_names", "pg_group_ranks", "pg_backend_config", "tags_to_pg", "pg_to_tag"):
        groups = getattr(known, name)
        _FORGOTTEN.append(dict(groups))
        groups.clear()
    _FORGOTTEN.append(known.default_pg)
    known.default_pg, known.group_count = None, 0
    untyped._unregister_all_process_groups()
