"""The settings of a loader that shape its speed and can be changed without changing what it loads."""

from __future__ import annotations

import copy
import multiprocessing
import multiprocessing.process
from dataclasses import dataclass
from typing import Any

from pytest_dataloader.probe.loader.sampling import loaders_inside

DEFAULT_PREFETCH = 2


@dataclass(frozen=True, slots=True)
class LoaderSettings:
    """Arguments of a DataLoader; ``batched`` is whether the dataset's ``__getitems__``, if it has one, is used."""

    num_workers: int = 0
    prefetch_factor: int = DEFAULT_PREFETCH
    persistent_workers: bool = False
    in_order: bool = True
    batched: bool = True

    @property
    def text(self) -> str:
        """The arguments as code, defaults left out.

        >>> LoaderSettings(4, persistent_workers=True).text
        'num_workers=4, persistent_workers=True'
        """
        parts = [f"num_workers={self.num_workers}"]
        if self.num_workers:
            if self.persistent_workers:
                parts.append("persistent_workers=True")
            if self.prefetch_factor != DEFAULT_PREFETCH:
                parts.append(f"prefetch_factor={self.prefetch_factor}")
            if not self.in_order:
                parts.append("in_order=False")
        return ", ".join(parts)

    def apply(self, copy: Any) -> None:
        """Give these settings to a copy of a loader, past the guard that torch has on its attributes."""
        held = vars(copy)
        held["num_workers"] = self.num_workers
        held["prefetch_factor"] = self.prefetch_factor if self.num_workers else None
        held["persistent_workers"] = self.persistent_workers and self.num_workers > 0
        if not self.num_workers:
            held["timeout"] = 0
        if "in_order" in held:  # torch 2.6 brought it
            held["in_order"] = self.in_order or not self.num_workers
        if not self.batched:
            held["dataset"] = unbatched(copy.dataset)


def make_shallow(copy: Any) -> None:
    """Have each worker of a copied loader make one batch ahead: what is under way as an epoch ends is waited for."""
    if copy.num_workers:
        vars(copy)["prefetch_factor"] = 1


def start_method_of(loader: Any) -> str:
    """How the loader's workers start, without settling multiprocessing's default by asking."""
    context = getattr(loader, "multiprocessing_context", None)
    if context is not None and not has_thread_workers(loader):
        return str(context.get_start_method())
    return multiprocessing.get_start_method(allow_none=True) or multiprocessing.get_all_start_methods()[0]


def has_thread_workers(loader: Any) -> bool:
    """Whether a loader's context makes threads of its workers."""
    process = getattr(getattr(loader, "multiprocessing_context", None), "Process", None)
    return isinstance(process, type) and not issubclass(process, multiprocessing.process.BaseProcess)


def worker_processes_of(loader: Any) -> int:
    """How many processes a loader starts."""
    return 0 if has_thread_workers(loader) else int(loader.num_workers)


def settings_of(loader: Any) -> LoaderSettings:
    """A loader's settings as they are; of one that wraps another, the inner one's."""
    inner = loaders_inside(loader)
    if inner:
        return settings_of(inner[0])
    prefetch = getattr(loader, "prefetch_factor", None)
    return LoaderSettings(
        num_workers=loader.num_workers,
        prefetch_factor=DEFAULT_PREFETCH if prefetch is None else prefetch,
        persistent_workers=bool(loader.persistent_workers),
        in_order=bool(getattr(loader, "in_order", True)),
    )


def reads_in_batches(dataset: Any) -> bool:
    """Whether a dataset brings a ``__getitems__`` of its own; those of torch only pass the indices on."""
    found = getattr(dataset, "__getitems__", None)
    owner = getattr(found, "__func__", found)
    if not found:
        return False
    if not getattr(owner, "__module__", "").startswith("torch."):
        return True
    return hasattr(dataset, "dataset") and reads_in_batches(dataset.dataset)


def unbatched(dataset: Any) -> Any:
    """A shallow copy of a dataset that is read sample by sample; datasets inside a Subset are copied as well."""
    twin = copy.copy(dataset)
    if reads_in_batches(getattr(twin, "dataset", None)):
        twin.dataset = unbatched(twin.dataset)
    vars(twin)["__getitems__"] = None  # torch asks whether there is one and whether it is true
    return twin
