"""What counts as a leak, on made-up levels: growth in every round, its rhythm, and what is no leak."""

from __future__ import annotations

import pytest

from pytest_dataloader.probe.resources import leaks
from pytest_dataloader.probe.resources.observations import Level, Usage

BATCHES = (8, 24, 48, 56)


def levels(*counts: int, target: str = "pipe:[1]", batches: tuple[int, ...] = BATCHES, pid: int = 1) -> list[Level]:
    return [
        Level(number, batches[number], pid, (target,) * count + ("/dev/null",)) for number, count in enumerate(counts)
    ]


@pytest.mark.parametrize(
    "counts", [(1, 1, 1, 1), (1, 5, 5, 5), (5, 4, 4, 4), (1, 2, 2, 3), (0, 9, 0, 9), (1, 9), (1, 2, 3), (1, 16)]
)
def test_what_does_not_grow_in_every_round_is_no_leak(counts: tuple[int, ...]) -> None:
    assert leaks.in_main(Usage(main=levels(*counts))).leaks == ()


@pytest.mark.parametrize(
    ("counts", "per", "rate"),
    [
        ((8, 24, 48, 56), "batch", 1.0),
        ((1, 2, 3, 4), "epoch", 1.0),
        ((0, 3, 6), "epoch", 3.0),
        ((8, 24), "batch", 1.0),
    ],
)
def test_a_leak_has_the_rhythm_of_batches_or_epochs(counts: tuple[int, ...], per: str, rate: float) -> None:
    [leak] = leaks.in_main(Usage(main=levels(*counts))).leaks
    assert (leak.where, leak.sort, leak.per, leak.rate, leak.count) == (
        "the main process", "pipe", per, rate, counts[-1] - counts[0],
    )  # fmt: skip


def test_growth_that_goes_on_while_the_loader_rests_is_unclear() -> None:
    found = leaks.in_main(Usage(main=levels(8, 24, 48, 56), idle=("pipe:[9]",)))
    assert (found.leaks, len(found.unclear)) == ((), 1)


def test_workers_of_one_epoch_are_compared_by_its_length() -> None:
    seen = [*levels(4, 8, 12, 4, batches=(4, 8, 12, 4)), *levels(3, 7, 11, 3, batches=(4, 8, 12, 4), pid=2)]
    [leak] = leaks.in_workers(Usage(workers=seen, replayed=True), persistent=False).leaks
    assert (leak.where, leak.per, leak.rate) == ("a worker", "batch", 1.0)
    steady = levels(4, 4, 5, 4, batches=(4, 8, 12, 4))
    assert leaks.in_workers(Usage(workers=steady, replayed=True), persistent=False).leaks == ()


def test_workers_that_persist_are_compared_with_themselves() -> None:
    seen = [*levels(1, 2, 3, 4, batches=(4, 12, 24, 28)), *levels(1, 1, 1, 1, batches=(4, 12, 24, 28), pid=2)]
    [leak] = leaks.in_workers(Usage(workers=seen, replayed=True), persistent=True).leaks
    assert (leak.per, leak.count) == ("epoch", 3)


def test_a_stream_that_opens_ever_new_files_may_fill_a_cache() -> None:
    batches = (4, 8, 12, 4)
    seen = [
        Level(number, batches[number], 1, tuple(f"/shard{at}" for at in range(count)))
        for number, count in enumerate((4, 8, 12, 4))
    ]
    found = leaks.in_workers(Usage(workers=seen, replayed=False), persistent=False)
    assert (found.leaks, len(found.unclear)) == ((), 1)
    assert leaks.in_workers(Usage(workers=seen, replayed=True), persistent=False).count == 8


def test_names_grow_with_the_rounds_or_with_the_life_of_a_worker() -> None:
    def named(*counts: int, batches: tuple[int, ...]) -> list[Level]:
        return [
            Level(number, batches[number], 1, (), tuple(map(str, range(count)))) for number, count in enumerate(counts)
        ]

    stay = Usage(main=named(8, 24, 48, 56, batches=BATCHES))
    assert leaks.by_name(stay, persistent=False).count == 48
    alive = Usage(main=named(0, 0, 0, 0, batches=BATCHES), workers=named(4, 8, 12, 4, batches=(4, 8, 12, 4)))
    assert leaks.by_name(alive, persistent=False).count == 8
    assert leaks.by_name(Usage(main=named(2, 2, 2, 2, batches=BATCHES)), persistent=False).count == 0


def test_what_the_round_before_has_left_for_a_moment_is_no_part_of_the_next() -> None:
    late = [
        Level(number, batches, number, (), tuple(map(str, range(count))))
        for number, (batches, count) in enumerate(((4, 16), (8, 48), (12, 80), (4, 64)))
    ]
    found = leaks.by_name(Usage(main=[Level(0, 8, 1, ())], workers=late), persistent=False)
    assert found.count == 64
