"""How far looks say that batches are kept, and when that is a fault."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_dataloader.probe.memory.kept_batches import NO_KEPT_BATCHES, KeptBatches, Look, extent_of

MB = 10**6


def looks(*arrays: int, every: int = 16, size: int = 1000) -> list[Look]:
    """Looks some batches apart, each with so many arrays of so many bytes."""
    return [Look(1 + at * every, count, count * size) for at, count in enumerate(arrays)]


EXTENTS: dict[str, tuple[list[Look], int, int, tuple[str, float]]] = {
    "too few looks": (looks(1, 17), 100, 0, ("not seen", 0.0)),
    "nothing stays": (looks(3, 3, 3, 3), 100, 0, ("none", 0.0)),
    "a buffer that fills": (looks(1, 9, 9, 9), 100, 0, ("none", 0.0)),
    "numbers of each": (looks(1, 17, 33, size=200), 100, 0, ("none", 0.0)),
    "one in three": (looks(1, 6, 11, 16), 100, 0, ("none", 0.0)),
    "each, in a part of an epoch": (looks(1, 17, 33, 49), 100, 0, ("unknown", 1000.0)),
    "each, and no epoch is known": (looks(1, 17, 33, 49), 0, 0, ("unknown", 1000.0)),
    "two tensors of each": (looks(2, 34, 66), 100, 0, ("unknown", 2000.0)),
    "those of an epoch": (looks(1, 17, 33, 40, 40, 40), 40, 0, ("an epoch", 1000.0)),
    "each, over more than an epoch": (looks(1, 17, 33, 49, 65), 40, 1, ("unknown", 1000.0)),
    "each, over two epochs": (looks(1, 17, 33, 49, 65, 81), 40, 2, ("without end", 1000.0)),
    "each, in epochs of two": (looks(1, 17, 33, 49), 2, 24, ("without end", 1000.0)),
}


@pytest.mark.parametrize(("seen", "epoch", "ended", "told"), EXTENTS.values(), ids=EXTENTS)
def test_how_far_batches_are_kept(seen: list[Look], epoch: int, ended: int, told: tuple[str, float]) -> None:
    assert extent_of(seen, epoch, ended) == told


CYCLE = KeptBatches("an epoch", "itertools.cycle", 520, 250, 100_000.0, given_again=True, shuffles=True)
FAULTS = {
    "the shuffle is lost": (CYCLE, 10**12, True),
    "a cache of what comes in order": (replace(CYCLE, shuffles=False), 10**12, False),
    "a cache that just fits": (replace(CYCLE, shuffles=False), 25 * MB, False),
    "a cache that does not fit": (replace(CYCLE, shuffles=False), 25 * MB - 1, True),
    "kept until the epoch ends": (replace(CYCLE, given_again=False), 10**12, False),
    "little": (replace(CYCLE, bytes_per_batch=4000.0), 10**12, False),
    "without end": (replace(CYCLE, extent="without end", shuffles=False, given_again=False), 10**12, True),
    "little without end": (replace(CYCLE, extent="without end", bytes_per_batch=4000.0), 10**12, False),
    "as far as was seen": (replace(CYCLE, extent="unknown"), 10**12, False),
    "nothing": (NO_KEPT_BATCHES, 0, False),
}


@pytest.mark.parametrize(("kept", "available", "fault"), FAULTS.values(), ids=FAULTS)
def test_what_is_kept_is_a_fault_where_nobody_can_want_it(kept: KeptBatches, available: int, fault: bool) -> None:
    assert kept.is_fault(available) == fault
    assert kept.is_unclear == (kept.extent == "unknown")


def test_an_epoch_of_unknown_length_is_as_long_as_what_was_seen() -> None:
    assert CYCLE.bytes_known == CYCLE.bytes_per_epoch == 25 * MB
    assert replace(CYCLE, batches_in_epoch=0).bytes_known == 52 * MB
