"""What measuring requires of torch's private names, looked up in the torch that is there.

A release of torch may rename a private name or give it another meaning. Every name that this room touches has a row
here; a check is measured only where all rows that it rests on fit, so that a release costs figures, never a wrong
verdict. Meanings cannot be looked up: a torch that nobody has tried is tried out first, by ``trials``.
"""

from __future__ import annotations

import dis
import functools
import importlib
import inspect
import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

Part = Literal["torch_private", "torch_worker_loop", "torch_stamps", "torch_pretence"]
"""A module of this room: checks that reach it rest on its names."""

OLDEST, NEWEST = (2, 4), (2, 15)
"""Releases of torch that `make matrix` has tried, from and to."""

_DATALOADER = "torch.utils.data.dataloader"
_WORKER = "torch.utils.data._utils.worker"
_ITERATOR = f"{_DATALOADER}._BaseDataLoaderIter"
_SINGLE = f"{_DATALOADER}._SingleProcessDataLoaderIter"
_MULTI = f"{_DATALOADER}._MultiProcessingDataLoaderIter"
_PINNING = "torch.utils.data._utils.pin_memory"
_STATEFUL = "torchdata.stateful_dataloader.stateful_dataloader"
_GROUPS = "torch.distributed.distributed_c10d"


@dataclass(frozen=True, slots=True)
class Exists:
    """A name of a module or a class that is there."""

    path: str

    def mismatch(self) -> str:
        return "" if _found(self.path) is not None else "is missing"


@dataclass(frozen=True, slots=True)
class Takes:
    """A function whose parameters are one of these lists."""

    path: str
    parameters: tuple[str, ...]

    def mismatch(self) -> str:
        function = _original(_found(self.path))
        if function is None:
            return "is missing"
        try:
            names = tuple(inspect.signature(function).parameters)
        except (TypeError, ValueError):
            return "does not tell its parameters"
        wanted = [tuple(each.split(", ")) for each in self.parameters]
        if names in wanted:
            return ""
        nearest = min(wanted, key=lambda each: len(set(each) ^ set(names)))
        more, fewer = [name for name in names if name not in nearest], [name for name in nearest if name not in names]
        changes = [f"takes {', '.join(more)}"] * bool(more) + [f"takes no {', '.join(fewer)}"] * bool(fewer)
        return " and ".join(changes) or "takes its parameters in another order"


@dataclass(frozen=True, slots=True)
class Accepts:
    """A function, or a class, that can be called with these keywords."""

    path: str
    keywords: tuple[str, ...]

    def mismatch(self) -> str:
        function = _found(self.path)
        if function is None:
            return "is missing"
        try:
            inspect.signature(function).bind(**dict.fromkeys(self.keywords))
        except (TypeError, ValueError) as error:
            return f"cannot be called with ({', '.join(self.keywords)}): {error}"
        return ""


@dataclass(frozen=True, slots=True)
class Stores:
    """A class whose method gives its instances an attribute: seen in the method's code, without making one."""

    path: str
    method: str
    attributes: tuple[str, ...]

    def mismatch(self) -> str:
        code = getattr(_original(_found(f"{self.path}.{self.method}")), "__code__", None)
        if code is None:
            return f"has no {self.method}"
        stored = {step.argval for step in dis.get_instructions(code) if step.opname == "STORE_ATTR"}
        missing = [name for name in self.attributes if name not in stored]
        return f"has no {', '.join(missing)}" if missing else ""


@dataclass(frozen=True, slots=True)
class HasFields:
    """A dataclass or named tuple with these fields."""

    path: str
    fields: tuple[str, ...]

    def mismatch(self) -> str:
        kind = _found(self.path)
        if kind is None:
            return "is missing"
        names: tuple[str, ...] = tuple(getattr(kind, "__dataclass_fields__", ())) or getattr(kind, "_fields", ())
        return "" if names == self.fields else f"has the fields ({', '.join(names)})"


Requirement = Exists | Takes | Accepts | Stores | HasFields


def _with_workers(iterator: str) -> tuple[Requirement, ...]:
    """What is asked of an iterator that has workers."""
    return (
        Takes(f"{iterator}._next_data", ("self",)),
        Takes(f"{iterator}._try_get_data", ("self, timeout",)),
        Takes(f"{iterator}._shutdown_workers", ("self",)),
        Stores(
            iterator,
            "__init__",
            (
                "_workers", "_prefetch_factor", "_index_queues", "_worker_result_queue", "_data_queue",
                "_workers_done_event", "_pin_memory_thread_done_event", "_worker_pids_set", "_shutdown",
            ),
        ),
        Stores(iterator, "_reset", ("_task_info", "_rcvd_idx", "_send_idx", "_workers_status")),
    )  # fmt: skip


ROWS: dict[Part, tuple[Requirement, ...]] = {
    "torch_private": (
        Takes(f"{_DATALOADER}.DataLoader._get_iterator", ("self",)),
        Stores(f"{_DATALOADER}.DataLoader", "__init__", ("_iterator",)),
        Takes(f"{_ITERATOR}.__init__", ("self, loader",)),
        Takes(f"{_ITERATOR}.__next__", ("self",)),
        Takes(f"{_ITERATOR}._next_data", ("self",)),
        Stores(_ITERATOR, "__init__", ("_num_workers", "_pin_memory")),
        *_with_workers(_MULTI),
        Exists(f"{_DATALOADER}._DatasetKind.Map"),
        Exists(f"{_DATALOADER}._DatasetKind.Iterable"),
        HasFields(f"{_WORKER}._IterableDatasetStopIteration", ("worker_id",)),
        Stores("torch._utils.ExceptionWrapper", "__init__", ("exc_type", "exc_msg")),
        Exists("torch.utils.data._utils.signal_handling._remove_worker_pids"),
        Exists("torch.Tensor._base"),
        Exists("torch.Tensor._indices"),
        Exists("torch.Tensor._values"),
    ),
    "torch_worker_loop": (
        Takes(
            f"{_WORKER}._worker_loop",
            tuple(
                f"dataset_kind, {dataset}, index_queue, data_queue, done_event, auto_collation, collate_fn, drop_last, "
                "base_seed, init_fn, worker_id, num_workers, persistent_workers, shared_seed"
                for dataset in ("dataset", "dataset_holder")
            ),
        ),
        HasFields(f"{_WORKER}._ResumeIteration", ("seed",)),
    ),
    "torch_stamps": (
        Takes(f"{_ITERATOR}._next_index", ("self",)),
        Takes(f"{_ITERATOR}._reset", ("self, loader, first_iter",)),
        Takes(f"{_MULTI}._reset", ("self, loader, first_iter",)),
        Stores(_ITERATOR, "__init__", ("_collate_fn", "_num_yielded")),
        Stores(_SINGLE, "__init__", ("_dataset_fetcher",)),
        Stores("torch.utils.data._utils.fetch._BaseDatasetFetcher", "__init__", ("collate_fn",)),
        Stores(_MULTI, "__init__", ("_pin_memory_thread",)),
        Takes(f"{_PINNING}._pin_memory_loop", ("in_queue, out_queue, device_id, done_event, device",)),
    ),
    "torch_pretence": (
        Exists(f"{_WORKER}._worker_info"),
        Accepts(f"{_WORKER}.WorkerInfo", ("id", "num_workers", "seed", "dataset")),
    ),
}  # fmt: skip

DISTRIBUTED: tuple[Requirement, ...] = (
    Exists("torch.testing._internal.distributed.fake_pg.FakeStore"),
    Exists(f"{_GROUPS}._unregister_all_process_groups"),
    *(
        Exists(f"{_GROUPS}._world.{name}")
        for name in (
            "pg_map", "pg_names", "pg_group_ranks", "pg_backend_config", "tags_to_pg", "pg_to_tag", "default_pg",
            "group_count",
        )
    ),
)  # fmt: skip
"""What pretended ranks need, where torch was built with them. ``default_pg`` is None where no group was made."""

STATEFUL: tuple[Requirement, ...] = (
    Takes(f"{_STATEFUL}.StatefulDataLoader._get_iterator", ("self",)),
    Stores(
        f"{_STATEFUL}.StatefulDataLoader", "__init__", ("_iterator", "_initial_iter_for_state_dict", "next_iter_state")
    ),
    *_with_workers(f"{_STATEFUL}._StatefulMultiProcessingDataLoaderIter"),
)
"""What is asked of torchdata, where its loader was imported."""


def mismatches(part: Part) -> tuple[str, ...]:
    """The private names of a module of this room that are not as required, each with what is there."""
    return tuple(f"{row.path} {mismatch}" for row in _rows(part) if (mismatch := _mismatch(row)))


@functools.cache
def _mismatch(row: Requirement) -> str:
    """Looked up once a process."""
    return row.mismatch()


def _rows(part: Part) -> Iterator[Requirement]:
    yield from ROWS[part]
    if part == "torch_private" and "torchdata.stateful_dataloader" in sys.modules:
        yield from STATEFUL
    if part == "torch_pretence":
        import torch.distributed

        if torch.distributed.is_available():
            yield from DISTRIBUTED


def torch_version() -> str:
    """The release of the torch that is there, as ``2.15.0``."""
    import torch

    return str(torch.__version__).partition("+")[0]


def was_tried(version: str) -> bool:
    """Whether `make matrix` has tried this release of torch.

    >>> was_tried("2.4.1"), was_tried("2.15.0"), was_tried("2.16.0a0"), was_tried("3.0")
    (True, True, False, False)
    """
    numbers = re.match(r"(\d+)\.(\d+)", version)
    return numbers is not None and OLDEST <= (int(numbers[1]), int(numbers[2])) <= NEWEST


def _original(function: Any) -> Any:
    """A function of torch's as it was before somebody wrapped it: this package watches iterators so, others loaders."""
    function = inspect.unwrap(function)
    while (getattr(function, "__module__", None) or "").partition(".")[0] not in ("torch", "torchdata"):
        cells = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
        inner = [each for each in cells if inspect.isfunction(each)]
        if not inner:
            break
        function = inspect.unwrap(inner[0])
    return function


def _found(path: str) -> Any:
    """What a dotted path names: modules are imported as far as they go. None where a part is missing."""
    parts = path.split(".")
    for length in range(len(parts) - 1, 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:length]))
        except ImportError:
            continue
        for name in parts[length:]:
            if not hasattr(found, name):
                return None
            found = getattr(found, name)
        return found if found is not None else _NOTHING
    return None


_NOTHING = object()
"""Stands for a name whose value is None."""
