"""What stamps say of the stages, and what a consumer's waits say of a loader: made-up batches."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from pytest_dataloader.probe.internals.envelopes import BatchId, BatchStamps
from pytest_dataloader.probe.timing.stage_costs import Costs, RunRecord, costs, helpful_workers, pace
from pytest_dataloader.probe.timing.stall import Waits, stall
from pytest_dataloader.probe.timing.windows import Window

MS = 10**6


def stamps(
    made: int,
    *,
    read: float = 0,
    fetch: float = 0,
    others: float = 0,
    collate: float = 0,
    delay: float = 0,
    feeder: float = 0,
    sharer: float = 0,
    unpack: float = 0,
    handover: float = 0,
    handing_delay: float = 0,
) -> BatchStamps:
    """One batch, its times in milliseconds; ``others`` is what other threads compute meanwhile."""
    start = made * 1000.0
    index = (start, 0.0, 0.0, 0.0)
    fetched = (start + read + fetch + delay, fetch, fetch + others, delay)
    collated = (fetched[0] + collate, fetch + collate, fetch + others + collate, delay)
    packed = (collated[0] + 1, (made + 1) * feeder, (made + 1) * sharer, 0.0)
    unpacking = (packed[0] + 5, 0.0, 0.0, 0.0)
    unpacked = (unpacking[0] + unpack + handover + handing_delay, unpack, unpack, 0.0)
    moments: list[Any] = [
        tuple(int(value * MS) for value in moment)
        for moment in (index, fetched, collated, (collated[0], made * feeder, 0, 0), packed, unpacking, unpacked)
    ]
    given: tuple[Any, ...] = (*moments, int(handing_delay * MS))
    return BatchStamps(BatchId(1, 1, made, 3 * MS, 2 * MS), 0, 1, made, 0, *given)


def cost_of(consumer_ms: float = 0.0, **times: float) -> Costs:
    batch_stamps = [stamps(made, **times) for made in range(2, 8)]
    return costs(RunRecord(batch_stamps, [], [], {}, 2, consumer_ms * MS))


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ({"read": 16, "fetch": 1}, {"read": 16, "fetch": 1, "collate": 0}),
        ({"read": 16, "fetch": 1, "delay": 30}, {"read": 16, "fetch": 1, "delay": 30}),
        ({"fetch": 16, "collate": 5}, {"fetch": 16, "collate": 5, "read": 0}),
        # The dataset's own threads compute while it waits for them.
        ({"read": 10, "fetch": 2, "others": 9}, {"read": 1, "fetch": 11}),
        ({"read": 10, "fetch": 2, "others": 1}, {"read": 10, "fetch": 2}),
        # Python that computes waits in turns with the threads that send; Python that waits does not.
        ({"read": 4, "fetch": 16, "others": 4, "feeder": 4}, {"read": 0.8, "fetch": 16, "send": 4}),
        ({"read": 16, "fetch": 0, "others": 4, "feeder": 4}, {"read": 16, "send": 4}),
        ({"feeder": 3, "sharer": 2}, {"send": 5}),
        (
            {"unpack": 2, "handover": 7, "consumer_ms": 3},
            {"receive": 3 + 1 + 7, "handover": 7, "sampler": 3, "sampler_waiting": 1},
        ),
        # The thread that hands tensors over waits for a CPU: others hold it.
        ({"unpack": 2, "handover": 7, "handing_delay": 20}, {"receive": 1 + 7, "handover": 7}),
    ],
)
def test_each_stage_gets_its_time(times: dict[str, float], expected: dict[str, float]) -> None:
    seen = cost_of(**times)
    assert {name: getattr(seen, name) / MS for name in expected} == pytest.approx(expected, abs=0.01)


def test_the_first_batches_of_a_worker_do_not_count() -> None:
    batch_stamps = [stamps(0, read=100), stamps(1, read=50), *(stamps(made, read=8) for made in range(2, 6))]
    assert costs(RunRecord(batch_stamps, [], [], {}, 2, 0)).read / MS == pytest.approx(8)
    assert costs(RunRecord(batch_stamps[:2], [], [], {}, 2, 0)).read / MS == pytest.approx(75)
    assert costs(RunRecord([], [], [], {}, 2, 0)) == Costs()


@pytest.mark.parametrize(("later", "expected"), [(2, 8), (1, (2 * 16 + 8) / 3), (0, 16)])
def test_batches_of_workers_that_settle_count_where_few_later_ones_were_seen(later: int, expected: float) -> None:
    batch_stamps = [stamps(made, read=16 if made < 4 else 8) for made in range(4 + later)]
    assert costs(RunRecord(batch_stamps, [], [], {}, 2, 0)).read / MS == pytest.approx(expected)


@pytest.mark.parametrize(
    ("cost", "changes", "part", "stage"),
    [
        (Costs(read=16, fetch=2), {}, "workers", "read"),
        (Costs(read=16, fetch=2), {"workers": 0}, "process", "read"),
        (Costs(fetch=16, collate=2), {"own_cpu_ns": 40}, "cpus", "fetch"),
        (Costs(read=16, receive_here=10), {}, "main", "receive"),
        (Costs(read=16, receive_here=1), {"step_ns": 20}, "main", "consumer"),
        (Costs(read=16, receive_aside=1, pin=12), {}, "pinning", "pin"),
        (Costs(read=16), {"startup_ns": 20}, "workers", "startup"),
        (Costs(fetch=5, collate=5, receive_here=4), {}, "workers", "fetch"),
        (Costs(collate=16, collate_waiting=15, fetch=2), {"own_cpu_ns": 40}, "cpus", "fetch"),
        (Costs(read=16), {"slowest": Costs(collate=50)}, "workers", "collate"),
        (Costs(), {}, "", None),
    ],
)
def test_the_part_that_needs_the_most_sets_the_pace(cost: Costs, changes: Any, part: str, stage: str | None) -> None:
    given = {
        "workers": 2, "cpus": 2.0, "own_cpu_ns": 0.0, "step_ns": 0.0, "slowest": cost,
        "startup_ns": 0.0, **changes,
    }  # fmt: skip
    found = pace(cost, **given)
    assert (found.slowest, found.bottleneck) == (part, stage)
    assert sum(found.passing.values()) == pytest.approx(found.period)


@pytest.mark.parametrize(
    ("cost", "own_cpu", "helpful"),
    [
        (Costs(read=40, fetch=2), 4, 8),  # it waits: four times as many are the most that is said
        (Costs(read=8, fetch=2), 4, 5),
        (Costs(collate=40, collate_waiting=38), 4, 8),
        (Costs(fetch=10), 20, 0),  # the CPUs are full
        (Costs(fetch=10), 0, 0),  # as they are where no window was whole, so that nobody told the CPU time of all
        (Costs(read=10, receive_here=4.5), 1, 0),  # the main process would hold up next, and soon
        (Costs(read=1, receive_here=5), 1, 0),
    ],
)
def test_more_workers_help_until_something_else_holds_up(cost: Costs, own_cpu: float, helpful: int) -> None:
    allowed = pace(
        cost,
        workers=2,
        cpus=2.0,
        own_cpu_ns=own_cpu,
        step_ns=0.0,
        slowest=cost,
        startup_ns=0,
    )
    assert helpful_workers(cost, allowed, workers=2, most=8) == helpful


def window(waited_ms: float, steps: int = 50, delay_ms: float = 0.0) -> Window:
    wall = int((waited_ms + steps * 8) * MS)
    return Window(
        batches=steps, samples=steps, wall_ns=wall, consumer_cpu_ns=0, consumer_delay_ns=0, main_cpu_ns=0,
        worker_cpu_ns=0, worker_delay_ns=int(delay_ms * MS), busy_ns=2 * wall, steal_ns=0, throttled_ns=0,
        handed=steps, waited_ns=int(waited_ms * MS),
    )  # fmt: skip


def waits(windows: list[Window], **changes: Any) -> Waits:
    given = {"capacity_ns": 10 * MS, "receive_ns": 0.2 * MS, "workers": 2, **changes}
    return Waits(8 * MS, windows, wall_share=0.0, waiting_steps=0.0, cpus=2, **given)


def test_a_consumer_waits_for_what_the_loader_lacks() -> None:
    seen = stall(waits([window(100), window(110), window(90)]))
    assert seen.share == pytest.approx(0.2, abs=0.01)
    assert seen.interval[0] < 0.2 < seen.interval[1]
    assert seen.best == pytest.approx(90 / 490)
    assert seen.keeps_up_at_ms == pytest.approx(9.5)


def test_what_others_took_from_the_workers_is_no_waiting() -> None:
    assert stall(waits([window(100, delay_ms=60)])).share == pytest.approx(40 / 440)
    assert stall(waits([window(100, delay_ms=500)])).share >= 10 / 410, "receiving remains"


def test_a_consumer_that_overslept_does_not_speak_for_a_slow_loader() -> None:
    seen = stall(waits([window(0), window(0)], making_ns=16 * MS))
    assert seen.share == pytest.approx(0.5)
    assert seen.interval[0] == 0
    assert seen.best == 0


def test_without_workers_the_step_must_be_long() -> None:
    seen = stall(waits([window(50)], workers=0, capacity_ns=0, receive_ns=2 * MS), tolerated=0.2)
    assert seen.keeps_up_at_ms == pytest.approx(8)
    assert stall(waits([])).steps == 0


def test_numbers_of_journals_differ() -> None:
    from pytest_dataloader.probe.internals.envelopes import StampLog

    assert len({StampLog(len).number for _ in itertools.repeat(None, 3)}) == 3
