"""What a window says about a loader without its neighbours."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_dataloader.probe.host.interference import QUIET
from pytest_dataloader.probe.timing.windows import (
    MOST_SLOWDOWN,
    Stamp,
    Window,
    cpu_ms_per_sample,
    half_done,
    join,
    lost_ns,
    measured_rate,
    quietness_of_windows,
    service_ns,
    stretch,
    window_rates,
)

S = 10**9
START = Stamp(
    wall_ns=0, consumer_cpu_ns=0, consumer_delay_ns=0, main_cpu_ns=0, worker_cpu_ns=0, worker_delay_ns=0, busy_ns=0
)


def window(
    *,
    samples: float = 1000,
    batches: float = 100,
    wall: float = 1.0,
    consumer_cpu: float = 0.0,
    consumer_delay: float = 0.0,
    main_cpu: float = 0.0,
    worker_cpu: float = 0.0,
    worker_delay: float = 0.0,
    threads_delay: float = 0.0,
    others: float = 0.0,
    starting: float = 0.0,
) -> Window:
    """A window in seconds; ``others`` is what everybody else took of the CPUs."""
    main_cpu = max(main_cpu, consumer_cpu)
    return Window(
        batches=batches, samples=samples, wall_ns=int(wall * S),
        consumer_cpu_ns=int(consumer_cpu * S), consumer_delay_ns=int(consumer_delay * S),
        main_cpu_ns=int(main_cpu * S), worker_cpu_ns=int(worker_cpu * S), worker_delay_ns=int(worker_delay * S),
        busy_ns=int((others + main_cpu + worker_cpu) * S), steal_ns=0, throttled_ns=0,
        threads_delay_ns=int(threads_delay * S), starting_ns=int(starting * S),
    )  # fmt: skip


def test_a_store_that_is_emptied_does_not_count_as_made() -> None:
    seen = stretch(replace(START, ready=8), replace(START, wall_ns=S, ready=0), batches=10, samples=320)
    assert (seen.batches, seen.samples) == (2, 64)


def test_a_store_that_fills_up_counts_as_made() -> None:
    seen = stretch(START, replace(START, wall_ns=S, ready=4), batches=4, samples=40)
    assert (seen.batches, seen.samples) == (8, 80)


def test_nothing_handed_out_and_less_in_store_is_nothing_made() -> None:
    seen = stretch(replace(START, ready=3), replace(START, wall_ns=S), batches=0, samples=0)
    assert (seen.batches, seen.samples) == (0, 0)


def test_windows_add_up() -> None:
    whole = join([window(wall=1, others=0.5), window(wall=2, worker_cpu=1.5)])
    assert (whole.wall_ns, whole.samples, whole.others_cpu_ns, whole.stretches) == (3 * S, 2000, S // 2, 2)


@pytest.mark.parametrize(
    ("seen", "workers", "cpus", "lost"),
    [
        pytest.param(window(consumer_cpu=1.0), 0, 2, 0.0, id="alone"),
        pytest.param(window(consumer_cpu=0.5, consumer_delay=0.5, others=0.5), 0, 1, 0.5, id="one neighbour, one CPU"),
        pytest.param(window(consumer_cpu=0.2, consumer_delay=0.0, others=2), 0, 2, 0.0, id="neighbours, never waited"),
        pytest.param(
            window(consumer_cpu=0.5, consumer_delay=0.4, main_cpu=1.5), 0, 2, 0.0, id="kept waiting by its own threads"
        ),
        pytest.param(
            window(consumer_cpu=0.5, consumer_delay=0.4, main_cpu=1.0, others=0.5), 0, 2, 0.2,
            id="half by its own threads, half by others",
        ),
        pytest.param(
            window(worker_cpu=1.0, worker_delay=0.5, consumer_cpu=0.05, others=1.0), 2, 2, 0.5, id="beside two loops"
        ),
        pytest.param(window(worker_cpu=1.9, worker_delay=3.0, consumer_cpu=0.1), 8, 2, 0.0, id="a crowd of workers"),
        pytest.param(
            window(worker_cpu=1.5, worker_delay=3.0, consumer_cpu=0.1, others=0.3), 8, 2, 0.15,
            id="crowded workers: no more than the others took",
        ),
        pytest.param(
            window(worker_cpu=1.0, worker_delay=0.3, consumer_cpu=0.1, others=4.0), 2, 8, 0.3,
            id="room for all workers: all of the delay",
        ),
        pytest.param(window(consumer_cpu=0.1, consumer_delay=0.9, others=2.0), 0, 2, 0.9, id="starved: all of it"),
        pytest.param(window(worker_cpu=0.1, worker_delay=0.9, others=2.0), 2, 2, 0.9, id="starved workers: all of it"),
        pytest.param(
            window(worker_cpu=0.1, worker_delay=0.1, consumer_cpu=0.1, consumer_delay=0.7, others=2.0), 2, 2, 0.1,
            id="a starved consumer: its workers went on meanwhile",
        ),
        pytest.param(
            window(worker_cpu=0.5, worker_delay=0.5, consumer_cpu=0.7, consumer_delay=0.2, others=1.0), 2, 2, 0.2,
            id="the consumer is the bottleneck: its own delay",
        ),
    ],
)  # fmt: skip
def test_lost_time_is_what_others_took_from_the_bottleneck(
    seen: Window, workers: int, cpus: float, lost: float
) -> None:
    assert lost_ns(seen, workers=workers, cpus=cpus) == pytest.approx(lost * S)


def test_service_time_is_never_below_what_the_cpu_time_needs() -> None:
    crowded = window(worker_cpu=1.5, worker_delay=0.9, consumer_cpu=0.1, others=1.0)
    assert service_ns(crowded, workers=2, cpus=2) == pytest.approx(1.6 / 0.9 / 2 * S)


def test_service_time_is_never_below_the_cpu_time_of_the_consumer() -> None:
    late = window(consumer_cpu=0.3, consumer_delay=0.9, others=1.5)
    assert service_ns(late, workers=0, cpus=2) == pytest.approx(0.3 * S)


def test_service_time_is_never_above_the_wall_time() -> None:
    busy = window(worker_cpu=1.95, consumer_cpu=0.05)
    assert service_ns(busy, workers=2, cpus=2) == S


def test_competing_load_leaves_the_rate_of_a_loader_without_workers_where_it_was() -> None:
    quiet = [window(consumer_cpu=0.4, wall=1.0)] * 5
    starved = [window(consumer_cpu=0.4, consumer_delay=0.8, wall=1.8, others=2)] * 5
    assert measured_rate(starved, workers=0, cpus=2).mean == pytest.approx(measured_rate(quiet, workers=0, cpus=2).mean)


def test_the_interval_holds_the_spread_of_the_windows() -> None:
    seen = measured_rate([window(samples=samples) for samples in (900, 1000, 1100)], workers=0, cpus=2)
    assert seen.mean == pytest.approx(1000)
    assert seen.best == pytest.approx(1100)
    assert 750 < seen.low < 800
    assert 1250 < seen.high < 1300


def test_each_window_has_a_rate_without_the_neighbours() -> None:
    starved = window(consumer_cpu=0.4, consumer_delay=0.8, wall=1.8, others=2)
    seen = window_rates([window(samples=500), starved], workers=0, cpus=2)
    assert seen == [pytest.approx(500), pytest.approx(1000)]
    assert window_rates([], workers=0, cpus=2) == []


def waiting(**given: float) -> Window:
    """Two workers, each asleep for half of the time, of whose wall time others took the rest."""
    return window(worker_cpu=0.2, worker_delay=0.5, consumer_cpu=0.05, **given)


BUSY = replace(QUIET, lost_share=0.5)


@pytest.mark.parametrize(
    ("seen", "workers", "delays_known", "most"),
    [
        pytest.param(
            waiting(consumer_delay=0.2, threads_delay=0.6, others=2.0), 2, True, 5000, id="all waited in turn"
        ),
        pytest.param(
            waiting(consumer_delay=0.2, threads_delay=0.6, others=0.75), 2, True, 4000, id="no more than others ran"
        ),
        pytest.param(
            waiting(consumer_delay=0.6, threads_delay=0.9, others=2.0), 2, True, 8000, id="it needs its CPU time"
        ),
        pytest.param(window(consumer_cpu=0.2, consumer_delay=0.6, others=2.0), 0, True, 2500, id="without workers"),
        pytest.param(window(consumer_cpu=0.2, others=0.6), 0, False, 2500, id="delays that nobody tells"),
    ],
)
def test_on_a_busy_machine_the_upper_end_holds_what_others_can_have_cost(
    seen: Window, workers: int, delays_known: bool, most: float
) -> None:
    machine = replace(BUSY, delays_known=delays_known)
    found, quiet = (measured_rate([seen] * 4, workers=workers, cpus=2, machine=each) for each in (machine, QUIET))
    unseen = half_done(join([seen] * 4), workers)
    assert found.high == pytest.approx(MOST_SLOWDOWN * most * (1 + unseen))
    assert (found.mean, found.low) == (quiet.mean, quiet.low)
    assert quiet.high == pytest.approx(quiet.mean * (1 + unseen))


def test_the_spread_of_the_windows_and_what_others_cost_are_not_added_up() -> None:
    seen = window(consumer_cpu=0.2, consumer_delay=0.8, others=2.0)
    assert measured_rate([seen], workers=0, cpus=2, machine=BUSY).high == pytest.approx(max(2, MOST_SLOWDOWN) * 5000)


def test_several_windows_say_no_less_than_one() -> None:
    seen = measured_rate([window(samples=300), window(samples=1700)], workers=0, cpus=2)
    assert seen.low == pytest.approx(500)
    assert seen.high == pytest.approx(2000)


def test_one_window_says_half_to_twice() -> None:
    seen = measured_rate([window()], workers=0, cpus=2)
    assert seen.low == pytest.approx(500)
    assert seen.high == pytest.approx(2000)


def test_half_done_batches_widen_the_interval_of_few_batches_with_workers() -> None:
    few = [window(batches=8)] * 3
    assert measured_rate(few, workers=0, cpus=8).high == pytest.approx(1000)
    assert measured_rate(few, workers=4, cpus=8).high > 1100
    assert measured_rate(few, workers=4, cpus=8).low < 900


def test_no_window_is_no_rate() -> None:
    assert measured_rate([], workers=2, cpus=2).high == 0
    assert cpu_ms_per_sample([]).mean == 0


def test_cpu_time_of_main_and_workers_counts_per_sample() -> None:
    seen = cpu_ms_per_sample([window(main_cpu=0.5, worker_cpu=1.5), window(main_cpu=0.4, worker_cpu=1.2)])
    assert seen.mean == pytest.approx(1.8)
    assert seen.best == pytest.approx(1.6)


def test_quietness_is_told_in_shares() -> None:
    seen = quietness_of_windows(
        [window(consumer_cpu=0.5, consumer_delay=0.5, others=1.0)],
        [100, 100, 150],
        workers=0,
        cpus=2,
        delays_known=True,
    )
    assert seen.lost_share == pytest.approx(0.5)
    assert seen.others_share == pytest.approx(0.5)
    assert seen.own_share == pytest.approx(0.25)
    assert seen.cpu_slowdown == pytest.approx(1.0)


def test_quietness_of_nothing_is_quiet() -> None:
    assert quietness_of_windows([], [], workers=0, cpus=2, delays_known=True).disturbances == ()


def test_how_much_slower_the_machine_is_than_at_its_best_is_one_where_nothing_was_timed() -> None:
    seen = [
        quietness_of_windows([window()], speeds, workers=0, cpus=2, delays_known=True)
        for speeds in ([], [100], [100, 150, 300])
    ]
    assert [each.cpu_slowdown for each in seen] == [1.0, 1.0, 1.5]
    nothing = quietness_of_windows([], [], workers=0, cpus=2, delays_known=True)
    assert (nothing.lost_share, nothing.others_share, nothing.own_share) == (0.0, 0.0, 0.0)


def test_nobody_takes_more_than_the_whole_machine() -> None:
    # Clocks of several processes are not read at one moment.
    seen = quietness_of_windows([window(worker_cpu=2.2, others=2.4)], [], workers=2, cpus=2, delays_known=True)
    assert (seen.own_share, seen.others_share) == (1.0, 1.0)
    seen = quietness_of_windows([window(worker_cpu=0.5, others=1.5)], [], workers=2, cpus=2, delays_known=True)
    assert (seen.own_share, seen.others_share) == (0.25, 0.75)
