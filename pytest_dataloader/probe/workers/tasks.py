"""The batches that a loader asks its workers for: which indices each holds, and when to ask for no more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.internals import torch_private
from pytest_dataloader.probe.loader.shortening import can_be_shortened
from pytest_dataloader.probe.workers.status_slots import TASKS, Indices

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class TaskLog:
    """What the sampler of a copied loader has handed out in this epoch, batch by batch."""

    def __init__(self) -> None:
        self.batches: dict[int, Any] = {}
        self.enough = False
        self.may_stop = False
        self.plain = False
        """Whether torch alone decides how many batches of the sampler's come."""
        self.count = 0

    def indices(self, task: int | None) -> tuple[Any, ...]:
        """The indices of a batch in a form for reports; empty where the sampler hands out none that mean a sample."""
        batch = self.batches.get(-1 if task is None else task)
        each = batch if isinstance(batch, list | tuple) else [batch]
        return tuple(_plain(index) for index in each if index is not None)


class TaskSampler:
    """A sampler that tells what it hands out; everything else is the wrapped sampler's.

    An epoch that is told to stop ends as it would with fewer samples: no batch is left on its way, which under the
    ``file_system`` strategy would stay in shared memory until this process ends.
    """

    def __init__(self, sampler: Iterable[Any], task_log: TaskLog, *, marks: bool) -> None:
        self._sampler = sampler
        self._task_log = task_log
        self._marks = marks

    def __iter__(self) -> Iterator[Any]:
        task_log = self._task_log
        task_log.batches.clear()
        task_log.count = 0
        for task, batch in enumerate(self._sampler):
            if task_log.enough and task_log.may_stop:
                return
            task_log.batches[task] = batch
            task_log.batches.pop(task - TASKS, None)
            task_log.count += 1
            yield Indices(batch, task) if self._marks and type(batch) is list else batch

    def __len__(self) -> int:
        return len(self._sampler)  # type: ignore[arg-type]  # a sampler without a length raises its own TypeError

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sampler, name)


def log_tasks(copy: Any) -> TaskLog:
    """Have a copied loader tell what it asks for. Nothing is told of a sampler that keeps a state for resuming."""
    from torch.utils.data import DataLoader

    task_log = TaskLog()
    name = "sampler" if vars(copy).get("batch_sampler") is None else "batch_sampler"
    sampler = vars(copy).get(name)
    inner = getattr(sampler, "sampler", None)
    if name == "sampler" and torch_private.reads_by_iteration(copy):
        return task_log
    if sampler is not None and not any(hasattr(each, "state_dict") for each in (copy, sampler, inner)):
        task_log.plain = type(copy).__iter__ is DataLoader.__iter__
        task_log.may_stop = task_log.plain or can_be_shortened(copy)
        vars(copy)[name] = TaskSampler(sampler, task_log, marks=_torch_iterates(copy.dataset))
    return task_log


def _torch_iterates(dataset: Any) -> bool:
    """Whether torch goes through a batch's indices itself; a dataset with ``__getitems__`` gets the very list."""
    own = getattr(type(dataset), "__getitems__", None)
    return not hasattr(dataset, "__getitems__") or (own is not None and own.__module__.startswith("torch."))


def _plain(index: Any) -> Any:
    if isinstance(index, bool | int | str):
        return index
    try:
        return int(index.item())
    except Exception:  # keys of any kind: pairs, paths, arrays
        return repr(index)
