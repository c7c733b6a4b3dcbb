"""What is touched of torch's private names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

import pytest_dataloader
from pytest_dataloader.probe.host import child_process
from pytest_dataloader.probe.internals import torch_private

if TYPE_CHECKING:
    from collections.abc import Iterator


class Buffered(Dataset[Any]):
    """Keeps an iterator over workers of its own, as torchio's queue does."""

    def __init__(self) -> None:
        self.source: DataLoader[int] = DataLoader(range(64), batch_size=None, num_workers=1)  # type: ignore[arg-type]  # a range will do
        self.buffer: Iterator[int] = iter(self.source)

    def __len__(self) -> int:
        return 32

    def __getitem__(self, index: int) -> Any:
        try:
            return next(self.buffer)
        except StopIteration:
            self.buffer = iter(self.source)
            return next(self.buffer)

    def forget(self) -> bool:
        """Let go of the iterator, which ends its workers."""
        self.buffer = iter(())
        return True


@pytest.mark.timeout(60)
def test_workers_are_killed_though_the_lock_of_a_queue_stayed_taken() -> None:
    iterator: Any = iter(DataLoader(range(64), batch_size=None, num_workers=2))  # type: ignore[arg-type]  # a range will do
    workers = torch_private.worker_processes(iterator)
    next(iterator)
    iterator._index_queues[0]._notempty.acquire()
    torch_private.shut_down_workers(iterator, kill=True)
    for worker in workers:
        worker.join(10)
    assert not [worker for worker in workers if worker.is_alive()]
    iterator._index_queues[0]._notempty.release()


@pytest.mark.timeout(120)
def test_a_child_takes_nothing_from_workers_of_its_parent() -> None:
    assert torch_private.leave_inherited_iterators in child_process.AT_START
    dataset = Buffered()
    loader = DataLoader(dataset, batch_size=8)
    assert child_process.ask(lambda: len(list(loader)), 30.0) is None
    assert child_process.ask(dataset.forget, 30.0) is True
    assert torch.cat(list(loader)).tolist() == list(range(32))
    report = pytest_dataloader.diagnose(loader, quick=True)
    assert {record.verdict for record in report.records} <= {"passed", "not_measured", "inconclusive"}
    assert len(list(loader)) == 4
