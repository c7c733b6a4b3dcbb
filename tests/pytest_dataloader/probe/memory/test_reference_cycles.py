"""What garbage collections say of a worker's cycles."""

from __future__ import annotations

import gc
from dataclasses import replace
from typing import Any

import pytest

from pytest_dataloader.probe.memory.reference_cycles import (
    NO_CYCLES,
    Collected,
    Collector,
    cycles_of,
    garbage_now,
    types_of,
)

READ = Collected(
    samples=1000, batches=40, objects=2000, freed_bytes=100_000_000, most_bytes=36_000_000, automatic=2, interval=700,
    reachable_bytes=5_000_000,
)  # fmt: skip
SLOW = replace(READ, samples=40, objects=80, freed_bytes=4_000_000, most_bytes=4_000_000, automatic=0)
WINDOWS: dict[str, tuple[list[Collected], float, tuple[int, float, int]]] = {
    "seen at its peak": ([READ] * 3, 2000, (36_000_000, 100_000.0, 350)),
    "predicted of a few slow samples": ([SLOW] * 3, 2000, (35_000_000, 100_000.0, 350)),
    "an epoch is shorter than the collector's interval": ([SLOW] * 3, 100, (10_000_000, 100_000.0, 350)),
    "an epoch of unknown length": ([SLOW] * 3, 0, (35_000_000, 100_000.0, 350)),
    "the collector is off": ([replace(SLOW, interval=0)] * 3, 2000, (200_000_000, 100_000.0, 0)),
    "the collector is off for an unknown epoch": ([replace(SLOW, interval=0)] * 3, 0, (4_000_000, 100_000.0, 0)),
    "a window without": ([READ, READ, replace(READ, objects=39)], 2000, (0, 0.0, 0)),
    "a window of no samples": ([READ, replace(READ, samples=0, batches=0), READ], 2000, (0, 0.0, 0)),
    "no windows": ([], 2000, (0, 0.0, 0)),
}


@pytest.mark.parametrize(("windows", "samples", "told"), WINDOWS.values(), ids=WINDOWS)
def test_the_peak_is_seen_or_follows_from_each_sample(
    windows: list[Collected], samples: float, told: tuple[int, float, int]
) -> None:
    found = cycles_of(windows, samples)
    assert (found.peak_bytes, found.bytes_per_sample, found.samples_between_collections) == told
    assert found.reachable_bytes == (5_000_000 if told[0] else 0)
    assert (found == NO_CYCLES) == (not told[0])


class Ring:
    def __init__(self, size: int) -> None:
        self.content = bytearray(size)
        self.ring = self


def test_what_each_collection_gives_back_is_counted() -> None:
    gc.collect()
    collector = Collector()
    try:
        for _ in range(10):
            Ring(1_000_000)
        told = collector.collect(samples=10, batches=2)
        again = collector.collect(samples=0, batches=0)
    finally:
        gc.callbacks.remove(collector._hear)
    assert told.freed_bytes == pytest.approx(10_000_000, rel=0.1)
    assert (told.samples, told.batches, told.objects >= 10) == (10, 2, True)
    assert again.freed_bytes < 100_000


def test_types_of_the_language_are_told_where_there_are_no_others() -> None:
    ring: list[Any] = []
    ring.append(ring)
    assert types_of([ring]) == ("list",)
    assert types_of([ring, ring, Ring(1)]) == ("Ring",)


def test_garbage_is_named_and_given_back() -> None:
    gc.collect()
    Ring(1)
    assert "Ring" in garbage_now()
    assert "Ring" not in garbage_now()
    assert not gc.garbage
