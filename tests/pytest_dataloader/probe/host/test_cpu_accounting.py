"""What this process and its workers spend."""

from __future__ import annotations

import multiprocessing
import time
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from pytest_dataloader.probe.host.cpu_accounting import CpuAccount
from pytest_dataloader.probe.loader.borrowing import borrow

pytestmark = pytest.mark.xdist_group("cpu")


@dataclass
class Worker:
    """A process by its number."""

    pid: int | None


def processes(cpu: dict[int, int], delays: dict[int, int], consumer_delay: int | None = 5) -> CpuAccount:
    return CpuAccount(
        wall=lambda: 1,
        main_cpu=lambda: 100,
        consumer_cpu=lambda: 90,
        consumer_delay=lambda: consumer_delay,
        reaped=lambda: 7,
        cpu_of=cpu.get,
        delays_of=lambda pid: {pid: delays[pid], 10 * pid: 1} if pid in delays else {},
    )


def read(of: CpuAccount, *pids: int | None) -> Any:
    return of.read([Worker(pid) for pid in pids])  # type: ignore[misc]  # a process by its number


def test_workers_add_up_and_their_delays_are_averaged() -> None:
    spent = read(processes({1: 10, 2: 30}, {1: 4, 2: 8}), 1, 2)
    assert (spent.worker_cpu_ns, spent.worker_delay_ns, spent.main_cpu_ns) == (40, 6, 107)
    assert spent.threads_delay_ns == 14
    assert (spent.consumer_cpu_ns, spent.consumer_delay_ns, spent.delays_known) == (90, 5, True)


def test_a_worker_that_is_gone_or_not_yet_there_counts_nothing() -> None:
    spent = read(processes({1: 10}, {1: 4}), 1, 2, None)
    assert (spent.worker_cpu_ns, spent.worker_delay_ns, spent.delays_known) == (10, 4, True)


def test_delays_of_workers_that_are_gone_stay_in_the_totals() -> None:
    delays = {1: 4, 2: 8}
    seen = processes({1: 10, 2: 30, 3: 50}, delays)
    assert read(seen, 1, 2).worker_delay_ns == 6
    delays |= {2: 18, 3: 20}
    assert read(seen, 2).worker_delay_ns == 16
    assert read(seen).worker_delay_ns == 16
    assert read(seen, 2, 3).worker_delay_ns == 26
    assert read(seen, 2, 3).threads_delay_ns == 45


@pytest.mark.parametrize(("delays", "consumer"), [({}, 5), ({1: 4}, None)])
def test_delays_that_the_system_does_not_tell_are_unknown(delays: dict[int, int], consumer: int | None) -> None:
    assert not read(processes({1: 10}, delays, consumer), 1).delays_known


def test_clocks_between_which_the_reader_waited_for_a_cpu_are_read_again() -> None:
    walls, delays = iter((100, 190)), iter((5, 45, 45, 45))
    seen = CpuAccount(wall=walls.__next__, consumer_delay=delays.__next__)
    spent = read(seen)
    assert (spent.wall_ns, spent.consumer_delay_ns) == (190, 45)


def test_no_workers_no_delay() -> None:
    assert read(processes({}, {})).worker_delay_ns == 0


class Computing(Dataset[Any]):
    def __len__(self) -> int:
        return 100

    def __getitem__(self, index: int) -> Any:
        return torch.tensor(sum(range(300_000)) + index)  # starting and ending a worker cost little beside it


@pytest.mark.parametrize(
    "method", [method for method in ("fork", "forkserver") if method in multiprocessing.get_all_start_methods()]
)
def test_the_work_of_workers_that_end_with_their_epoch_counts_once(method: str) -> None:
    """A whole epoch: its workers start and end between the two readings."""
    seen, main = CpuAccount(), time.process_time()
    with borrow(DataLoader(Computing(), 10, num_workers=2, multiprocessing_context=method)) as borrowed:
        before = seen.read(borrowed.workers)
        borrowed.begin_epoch()
        alive = 0
        while borrowed.pull(1)[0]:
            alive = max(alive, seen.read(borrowed.workers).worker_cpu_ns)
        after = seen.read(borrowed.workers)
    whole = after.main_cpu_ns + after.worker_cpu_ns - before.main_cpu_ns - before.worker_cpu_ns
    assert alive > 0
    assert alive * 0.9 <= whole <= alive * 1.5 + (time.process_time() - main) * 1e9
