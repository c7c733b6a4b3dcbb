"""How time is cut into windows: a loader and clocks that exist on paper only."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import pytest

from pytest_dataloader.probe.host.cpu_accounting import CpuAccount
from pytest_dataloader.probe.host.interference import Machine
from pytest_dataloader.probe.timing.rate_meter import RateMeter
from pytest_dataloader.probe.timing.windows import join, measured_rate

MS = 10**6


@dataclass
class Worker:
    """A process by its number."""

    pid: int


@dataclass
class Paper:
    """A loader of ``length`` batches of 4 samples an epoch; ``batch_ms`` a batch once its store is empty."""

    length: int
    waited_ns = 0
    batch_ms: float = 10.0
    batch_ms_later: float = 0.0
    """From the first rest on."""
    start_ms: float = 100.0
    first_batches_ms: float = 0.0
    workers_count: int = 0
    prefetch: int = 2
    keeps_iterator: bool = False
    started_seconds: float = 0.0
    now: int = 0
    done: int = 0
    made: float = 0.0
    epochs: int = 0
    generation: int = 0
    renewing: bool = False
    pulls: deque[int] = field(default_factory=deque)

    @property
    def depth(self) -> int:
        return self.workers_count * self.prefetch

    @property
    def workers(self) -> list[Any]:
        return [Worker(100 * self.generation + each) for each in range(self.workers_count)] if self.epochs else []

    @property
    def ready(self) -> int:
        return int(min(self.depth, self.made)) if self.depth else 0

    @property
    def running_dry(self) -> bool:
        return self.done > self.length - self.depth if self.depth else False

    def renew_workers(self) -> None:
        self.renewing = True

    def sleep(self, seconds: float) -> None:
        self.now += int(1000 * seconds) * MS
        self.batch_ms = self.batch_ms_later or self.batch_ms

    def begin_epoch(self) -> None:
        self.done = 0
        self.epochs += 1
        self.generation += self.renewing
        self.renewing = False
        self.now += int(self.start_ms * MS)
        self.made = float(self.depth)

    def pull(self, most: int) -> tuple[int, int]:
        got = min(most, self.length - self.done)
        for _ in range(got):
            if self.made >= 1:
                self.made -= 1  # from the store, in no time
            else:
                self.now += int((self.batch_ms + (self.first_batches_ms if self.done < 2 else 0)) * MS)
            self.done += 1
        self.pulls.append(got)
        return got, 4 * got


def meter(paper: Paper, seconds: float = 6.0) -> RateMeter:
    processes = CpuAccount(
        wall=lambda: paper.now,
        main_cpu=lambda: 0,
        consumer_cpu=lambda: 0,
        consumer_delay=lambda: 0,
        reaped=lambda: 0,
        cpu_of=lambda _pid: 0,
        delays_of=lambda pid: {pid: 0},
    )
    return RateMeter(
        paper,  # type: ignore[arg-type]  # has all of Borrowed that a meter uses
        seconds,
        wall_ns=lambda: paper.now,
        machine=Machine,
        kernel=lambda: 1000,
        sleep=paper.sleep,
        processes=processes,
    )


def speed(seen: RateMeter) -> float:
    return measured_rate(seen.windows, workers=seen.workers, cpus=64).mean


@pytest.mark.parametrize("workers", [0, 2])
def test_the_steady_rate_is_seen_and_not_the_start_nor_the_store(workers: int) -> None:
    seen = meter(Paper(length=10**6, batch_ms=10, first_batches_ms=500, workers_count=workers))
    seen.run(lambda _: False)
    assert seen.steady
    assert len(seen.windows) == pytest.approx(11, abs=1)
    assert speed(seen) == pytest.approx(400, rel=0.01)


def test_a_store_filled_while_nobody_asked_does_not_count() -> None:
    paper = Paper(length=10**6, batch_ms=10, workers_count=2, prefetch=8)
    seen = meter(paper)

    def pause(_: RateMeter) -> bool:
        paper.now += 1000 * MS
        paper.made = float(paper.depth)
        return False

    seen.run(pause)
    assert speed(seen) == pytest.approx(400, rel=0.01)


def test_the_time_to_the_first_batch_stands_alone() -> None:
    seen = meter(Paper(length=10**6, batch_ms=10, start_ms=2000))
    seen.run(lambda _: False)
    assert seen.seconds_to_first_batch == pytest.approx(2.01)
    assert speed(seen) == pytest.approx(400, rel=0.01)


def test_measuring_ends_when_it_is_enough() -> None:
    paper = Paper(length=10**6)
    seen = meter(paper)
    seen.run(lambda so_far: len(so_far.windows) == 3)
    assert len(seen.windows) == 3
    assert seen.spent < 0.5


def test_measuring_ends_with_the_budget() -> None:
    seen = meter(Paper(length=10**6), seconds=2)
    seen.run(lambda _: False)
    assert 1 <= seen.spent < 1.1


def test_short_epochs_without_workers_add_up_to_windows() -> None:
    seen = meter(Paper(length=10, batch_ms=10, start_ms=50))
    seen.run(lambda _: False)
    assert seen.steady
    assert seen.epochs > 20
    assert speed(seen) == pytest.approx(400, rel=0.01)
    assert len(seen.restarts) == seen.epochs - 1


def test_epochs_too_short_to_get_warm_are_measured_whole() -> None:
    seen = meter(Paper(length=6, batch_ms=10, start_ms=80, workers_count=2))
    seen.run(lambda _: False)
    assert not seen.steady
    # Four batches come from the store, two cost 10 ms each: 24 samples in 100 ms.
    assert speed(seen) == pytest.approx(240, rel=0.01)
    assert join(seen.windows).starting_ns / join(seen.windows).wall_ns == pytest.approx(0.8)


def test_epochs_of_one_batch_are_measured_whole() -> None:
    seen = meter(Paper(length=1, batch_ms=10, start_ms=10))
    seen.run(lambda _: False)
    assert not seen.steady
    assert speed(seen) == pytest.approx(200, rel=0.01)


def test_an_empty_loader_gives_nothing() -> None:
    seen = meter(Paper(length=0))
    seen.run(lambda _: False)
    assert (seen.windows, seen.batches, seen.epochs) == ([], 0, 0)


def test_a_loader_slower_than_the_budget_is_given_more_time() -> None:
    paper = Paper(length=10**6, batch_ms=3000)
    seen = meter(paper, seconds=2)
    seen.run(lambda _: False)
    assert seen.windows
    assert speed(seen) == pytest.approx(4 / 3)
    assert paper.now < 30_000 * MS


def test_slow_workers_give_at_least_one_window() -> None:
    seen = meter(Paper(length=10**6, batch_ms=2000, workers_count=4), seconds=2)
    seen.run(lambda _: False)
    assert len(seen.windows) == 1
    assert speed(seen) == pytest.approx(2, rel=0.2)


def test_the_last_batches_of_an_epoch_do_not_count_with_workers() -> None:
    """Workers without work make the rate of the tail meaningless."""
    paper = Paper(length=60, batch_ms=10, workers_count=2, prefetch=2)
    seen = meter(paper)
    seen.run(lambda _: False)
    assert seen.steady
    assert speed(seen) == pytest.approx(400, rel=0.03)


@pytest.mark.parametrize(("start_ms", "generations"), [(100, 3), (5000, 1)])
def test_the_budget_is_spread_over_sets_of_workers_where_they_start_quickly(start_ms: float, generations: int) -> None:
    paper = Paper(length=10**6, start_ms=start_ms, workers_count=2)
    seen = meter(paper)
    seen.run(lambda _: False)
    assert seen.generations == generations
    assert speed(seen) == pytest.approx(400, rel=0.01)


def test_a_loader_that_keeps_its_iterator_keeps_its_workers() -> None:
    paper = Paper(length=10**6, workers_count=2, keeps_iterator=True)
    seen = meter(paper)
    seen.run(lambda _: False)
    assert paper.generation == 0


def test_fast_batches_are_pulled_many_at_a_time() -> None:
    paper = Paper(length=10**7, batch_ms=0.01)
    seen = meter(paper, seconds=1)
    seen.run(lambda _: False)
    assert max(paper.pulls) == pytest.approx(200, rel=0.1)
    assert seen.batches == sum(paper.pulls)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_second_look_sees_a_machine_that_got_faster(workers: int) -> None:
    paper = Paper(length=10**6, batch_ms=20, batch_ms_later=10, workers_count=workers)
    seen = meter(paper)
    seen.run(lambda _: False)
    before = len(seen.windows)
    began = paper.now
    seen.measure_again(3.0, lambda _: False)
    assert measured_rate(seen.windows[:before], workers=workers, cpus=64).mean == pytest.approx(200, rel=0.01)
    assert measured_rate(seen.windows[before:], workers=workers, cpus=64).mean == pytest.approx(400, rel=0.01)
    assert paper.now - began == pytest.approx((3.0 + 0.25 * seen.seconds) * 1000 * MS, rel=0.15)
