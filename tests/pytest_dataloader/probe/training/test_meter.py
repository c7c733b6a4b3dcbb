"""A meter beside real loaders: what it counts, what it leaves out, and that nothing changes for who iterates."""

from __future__ import annotations

import os
import re
import signal
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from pytest_dataloader.probe.memory.smaps import Reading
from pytest_dataloader.probe.training import processes
from pytest_dataloader.probe.training.discovery import Discovery
from pytest_dataloader.probe.training.meter import Meter

if TYPE_CHECKING:
    import weakref
    from collections.abc import Iterator


class Rows(Dataset[torch.Tensor]):
    def __init__(self, length: int = 40, seconds: float = 0.0) -> None:
        self.length, self.seconds = length, seconds

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> torch.Tensor:
        if self.seconds:
            time.sleep(self.seconds)
        return torch.rand(3) + index


class Dying(Rows):
    def __getitem__(self, index: int) -> torch.Tensor:
        if index == 24:
            time.sleep(0.5)  # who still takes an earlier batch of it would see its connection end, and not its death
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__getitem__(index)


@pytest.fixture
def discovery() -> Iterator[Discovery]:
    found = Discovery()
    found.start()
    yield found
    found.stop()


def meter_of(discovery: Discovery) -> Meter:
    (found,) = discovery.loaders
    return found.meter


@pytest.mark.parametrize("workers", [0, 2])
def test_what_a_loop_takes_is_counted(discovery: Discovery, workers: int) -> None:
    loader = DataLoader(Rows(42), batch_size=8, num_workers=workers, persistent_workers=workers > 0)
    for _ in range(3):
        assert len(list(loader)) == 6
    for _batch in loader:
        break
    seen = meter_of(discovery).evidence()
    assert (seen.loaders, seen.epochs, seen.batches, seen.samples) == (1, 4, 19, 3 * 42 + 8)
    assert (seen.workers, seen.persistent_workers, len(seen.worker_uses)) == (workers, workers > 0, workers)
    assert 0 < seen.startup_seconds < seen.waiting_seconds < seen.seconds


def test_waiting_is_told_from_the_step(discovery: Discovery) -> None:
    for _batch in DataLoader(Rows(20, seconds=0.002), batch_size=5):
        time.sleep(0.03)
    seen = meter_of(discovery).evidence()
    assert seen.step_ms >= 30
    assert seen.wait_ms >= 10
    assert seen.stage == "read"  # asleep is not computing
    assert seen.input_wait < 0.9
    assert seen.ready_share is None


def test_workers_that_keep_up_have_batches_ready_and_those_that_do_not_have_few(discovery: Discovery) -> None:
    keeping_up, late = (DataLoader(Rows(30, seconds=each), batch_size=1, num_workers=1) for each in (0.0, 0.02))
    for _batch in keeping_up:
        time.sleep(0.01)
    for _batch in late:
        pass
    quick, slow = (each.meter.evidence() for each in discovery.loaders)
    assert (quick.ready_share or 0) > 0.6
    assert (slow.ready_share or 0) < 0.4
    assert slow.stage == "read", slow
    assert slow.training_seconds == quick.training_seconds == pytest.approx(slow.seconds + quick.seconds)


class Large(Dataset[Any]):
    """Arrays, which go through a pipe: whoever takes one waits for the copy alone."""

    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> Any:
        return np.full(8_000_000, index, np.uint8)


def test_the_waiting_for_batches_that_are_ready_is_for_receiving_them(discovery: Discovery) -> None:
    for _batch in DataLoader(Large(), batch_size=None, num_workers=1, persistent_workers=True):
        time.sleep(0.03)
    seen = meter_of(discovery).evidence()
    assert (seen.ready_share or 0) > 0.5
    assert seen.stage in ("receive", "startup"), seen  # a busy machine starts its worker slowly


def test_a_few_late_batches_among_many_that_were_ready_are_not_received_slowly(discovery: Discovery) -> None:
    class Uneven(Rows):
        def __getitem__(self, index: int) -> torch.Tensor:
            time.sleep(0.5 if index % 10 == 9 else 0.0)
            return super().__getitem__(index)

    for _batch in DataLoader(Uneven(30), batch_size=1, num_workers=1):
        time.sleep(0.01)
    seen = meter_of(discovery).evidence()
    assert (seen.ready_share or 0) > 0.5
    assert seen.stage == "read", seen


def test_a_validation_between_two_batches_is_no_part_of_the_step(discovery: Discovery) -> None:
    train, validation = DataLoader(Rows(4), batch_size=1), DataLoader(Rows(10, seconds=0.02), batch_size=1)
    for _batch in train:
        for _other in validation:
            time.sleep(0.001)
    seen, beside = (each.meter.evidence() for each in discovery.loaders)
    assert beside.waiting_seconds >= 4 * 10 * 0.02
    assert seen.seconds < beside.waiting_seconds / 4


def test_loaders_that_are_iterated_in_turn_keep_their_steps(discovery: Discovery) -> None:
    first, second = DataLoader(Rows(8), batch_size=1), DataLoader(Rows(8, seconds=0.01), batch_size=1)
    for _pair in zip(first, second, strict=True):
        pass
    assert discovery.loaders[0].meter.evidence().step_ms >= 10


def test_the_same_batches_come_and_the_same_random_numbers_afterwards() -> None:
    def run() -> list[Any]:
        torch.manual_seed(5)
        loader = DataLoader(Rows(40), batch_size=8, shuffle=True, num_workers=2)
        seen = [batch.tolist() for _ in range(2) for batch in loader]
        return [seen, torch.rand(4).tolist(), len(loader), list(vars(loader))]

    alone = run()
    discovery = Discovery(keeps_copies=True)
    discovery.start()
    try:
        assert run() == alone
    finally:
        discovery.stop()
    assert discovery.loaders[0].meter.totals.batches == 10
    assert run() == alone
    assert len(discovery.loaders) == 1, "it has stopped"


def test_a_worker_that_dies_is_named_with_its_batch(discovery: Discovery) -> None:
    loader = DataLoader(Dying(64), batch_size=4, num_workers=2)
    with pytest.raises(RuntimeError, match="DataLoader worker") as raised:
        list(loader)
    meter_of(discovery).blame(raised.value)  # torch raises it in next() or anywhere behind it
    fault = meter_of(discovery).evidence().fault
    # Which batch was the next to come depends on when torch raised.
    assert re.match(r"worker 0 \(pid \d+\) was killed by SIGKILL while it made batch [246] of the epoch", fault), fault


def test_a_death_that_is_raised_in_the_step_is_this_loaders_and_no_other_ones(discovery: Discovery) -> None:
    first, second = (DataLoader(Rows(64, seconds=0.05), batch_size=4, num_workers=1) for _ in range(2))
    for _pair in zip(first, second, strict=True):
        break
    one, other = (each.meter for each in discovery.loaders)
    (pid,) = one._started
    del first, second, _pair  # with the loop, its iterators are gone
    for meter in (one, other):
        meter.blame(RuntimeError(f"DataLoader worker (pid {pid}) is killed by signal: Killed. "))
    assert one.evidence().fault == f"worker 0 (pid {pid}) was killed by SIGKILL while it made batch 1 of the epoch"
    assert not other.evidence().fault


def test_an_error_after_which_batches_came_is_no_fault(discovery: Discovery) -> None:
    class Torn(Rows):
        def __getitem__(self, index: int) -> torch.Tensor:
            if index == 3:
                raise ValueError("torn")
            return super().__getitem__(index)

    batches = iter(DataLoader(Torn(6), batch_size=1))
    came = 0
    for _ in range(6):
        try:
            next(batches)
            came += 1
        except ValueError:
            assert meter_of(discovery).fault == "ValueError: torn"
    assert (came, meter_of(discovery).fault) == (5, "")


def test_a_batch_that_cannot_be_counted_counts_as_batch_size() -> None:
    class Odd:
        @property
        def shape(self) -> tuple[int, ...]:
            raise RuntimeError("no shape yet")

    class Loader:
        batch_size, num_workers, persistent_workers = 16, 0, False

    meter = Meter(Loader())
    gone: Any = lambda: None  # noqa: E731
    iterator: weakref.ref[Any] = gone
    meter.begin(iterator, 0)
    meter.ask()
    meter.get(Odd())
    assert meter.totals.samples == 16


def test_memory_that_a_worker_gains_is_read(discovery: Discovery, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_SHARE", 1.0)  # of this large process it would be read every ten seconds

    class Growing(Rows):
        kept: list[bytes] = []  # noqa: RUF012  # of each worker's own

        def __getitem__(self, index: int) -> torch.Tensor:
            self.kept.append(b"x" * 200_000)
            return super().__getitem__(index)

    for _batch in DataLoader(Growing(800), batch_size=1, num_workers=1):
        if meter_of(discovery).evidence().growth_bytes_per_worker > 4_000_000:
            break
        time.sleep(0.01)
    seen = meter_of(discovery).evidence()
    assert seen.growth_bytes_per_worker > 4_000_000
    assert seen.descriptors > 3


def test_what_a_worker_gained_is_not_forgotten_in_the_next_epoch() -> None:
    use = {7: Reading(10, 0, 0, 0), 8: Reading(4, 0, 0, 0)}
    readings = processes.ProcessReadings(
        wall=iter(range(0, 10**13, 10**10)).__next__, memory=lambda pid: use[pid], cpu_of=lambda _pid: 1,
        descriptors_of=lambda _pid: 3, delay_of=lambda _pid: 0, segments_of=lambda _pid: set(), own_cpu=lambda: 1,
    )  # fmt: skip
    readings.read([7])
    use[7] = Reading(90, 0, 0, 0)
    readings.read([7])
    readings.read([8])
    assert [(each.pid, each.growth_bytes) for each in readings.uses] == [(8, 0)]
    assert (readings.peak_private_bytes, readings.peak_growth_bytes) == (90, 80)
