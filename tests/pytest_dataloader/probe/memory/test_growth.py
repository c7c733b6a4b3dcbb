"""What the direct test's figures mean, by tables: shares, epochs, paths, leaks and caches."""

from __future__ import annotations

from array import array
from dataclasses import replace
from itertools import pairwise

import pytest

from pytest_dataloader.probe.host.allocator import Allocated
from pytest_dataloader.probe.loader.positions import Plan
from pytest_dataloader.probe.loader.referents import SCALED
from pytest_dataloader.probe.memory.copy_on_access import CopiedShare, DirectTest, Scattered, copied_share, wilson_low
from pytest_dataloader.probe.memory.exposure import Exposure
from pytest_dataloader.probe.memory.growth import EpochShape, accumulation_of, epoch_share, finest_path, is_copied
from pytest_dataloader.probe.memory.objects import Walk
from pytest_dataloader.probe.memory.sample_reader import ReaderReport

MIB = 1 << 20
NAMES = ("warm", "first", "second", "again")


@pytest.mark.parametrize(
    ("hits", "count", "low"), [(0, 0, 0.0), (0, 100, 0.0), (100, 100, 0.917), (50, 100, 0.355), (9, 768, 0.0045)]
)
def test_a_share_is_as_certain_as_its_sample_is_large(hits: int, count: int, low: float) -> None:
    assert wilson_low(hits, count) == pytest.approx(low, rel=0.02, abs=1e-9)


@pytest.mark.parametrize(
    ("per_sample", "workers", "batch", "shuffled", "share"),
    [
        (112, 1, 32, True, 1.0),
        (112, 8, 32, True, 0.992),
        (4096, 4, 32, True, 0.25),  # a page to a sample: each goes to one worker
        (4096, 4, 32, False, 0.25),
        (112, 4, 64, False, 0.389),  # 36 samples on a page, 64 in a batch
        (32, 4, 8, False, 1.0),  # 128 samples on a page, so each page belongs to many batches
        (1 << 20, 2, 1, True, 0.5),
    ],
)
def test_how_much_of_an_attribute_one_worker_touches(
    per_sample: float, workers: int, batch: int, shuffled: bool, share: float
) -> None:
    assert epoch_share(per_sample, EpochShape(100_000, workers, batch, shuffled)) == pytest.approx(share, abs=0.002)


@pytest.mark.parametrize(
    ("attribute", "exposed", "path"),
    [
        ("dataset.rows", {"dataset.rows[*]": 112}, "dataset.rows"),
        ("dataset.rows", {"dataset.rows[*]": 64, "dataset.rows[*][0]": 112}, "dataset.rows"),
        ("dataset.rows", {"dataset.rows[*]": 64, "dataset.rows[*]['path']": 112}, "dataset.rows[*]['path']"),
        ("dataset.rows", {"dataset.rows[*]": 64, "dataset.rows[*].path": 112}, "dataset.rows[*].path"),
        ("dataset.rows", {"dataset.rows[*]": 64, "dataset.rows[*].x": 32, "dataset.rows[*].y": 32}, "dataset.rows"),
        ("dataset.rows", {"dataset.rows.keys()": 112, "dataset.rows[*]": 32}, "dataset.rows"),
        ("dataset.rows", {"dataset.rows[*]['box'][*]": 200, "dataset.rows[*]": 64}, "dataset.rows[*]['box']"),
    ],
)
def test_the_finest_path_ends_in_a_name(attribute: str, exposed: dict[str, int], path: str) -> None:
    slots = [Exposure(where, "str", exposed=float(size)) for where, size in exposed.items()]
    assert finest_path(attribute, slots) == path


@pytest.mark.parametrize(
    ("exposed", "low", "scattered", "copied"),
    [
        (MIB * 10, 0.98, None, True),
        (MIB * 10, 0.09, None, False),
        (MIB * 10, 0.12, None, True),
        (MIB // 2, 0.12, None, False),
        (MIB // 2, 0.40, None, True),
        (MIB // 20, 0.98, None, False),
        (MIB * 300, 0.01, Scattered(450, 0, 32768, 491.0), True),
        (MIB * 300, 0.01, Scattered(450, 100, 32768, 491.0), False),
        (MIB * 300, 0.01, Scattered(60, 0, 32768, 491.0), False),
        (MIB * 300, 0.01, Scattered(15, 0, 32768, 20.0), False),
    ],
)
def test_when_objects_count_as_copied(exposed: int, low: float, scattered: Scattered | None, copied: bool) -> None:
    slot = Exposure("dataset.rows[*]", "str", exposed=float(exposed))
    assert is_copied(slot, CopiedShare(low, 0.0, 768, low), scattered) is copied


def test_positions_read_are_judged_apart_from_the_rest() -> None:
    slot = Exposure("dataset.rows[*]", "str", pages=array("Q", range(40)), ranks=array("q", [*range(20), *[-1] * 20]))
    reader = {page: page < 10 for page in range(40)}
    control = dict.fromkeys(range(40), False)
    share = copied_share(slot, 10, reader, control)
    assert (share.reader, share.control, share.count) == (1.0, 0.0, 10)


def test_positions_scaled_to_a_longer_container_are_judged_apart() -> None:
    ranks = array("q", [*range(20), *range(SCALED, SCALED + 20)])
    slot = Exposure("dataset.frames[*]", "str", pages=array("Q", range(40)), ranks=ranks)
    share = copied_share(slot, 20, {page: page >= 20 for page in range(40)}, dict.fromkeys(range(40), False))
    assert (share.reader, share.count) == (1.0, 20)


def test_pages_that_are_not_in_memory_are_left_out() -> None:
    slot = Exposure("dataset.rows[*]", "str", pages=array("Q", range(20)), ranks=array("q", range(20)))
    share = copied_share(slot, 20, dict.fromkeys(range(20), None), dict.fromkeys(range(20), False))
    assert share.count == 0


def windows(
    blocks: tuple[int, ...], malloc: tuple[int, ...], restarted: Allocated | None, iterable: bool
) -> DirectTest:
    found = DirectTest(Plan(iterable=iterable), Walk([], [], {}, {}, {}, set(), True, 0.0))
    for name, size, bytes_ in zip(NAMES, blocks, malloc, strict=True):
        last = restarted if name == "again" else None
        found.windows[name] = ReaderReport(name, 1000, 0, 30, 0, "", 0.1, Allocated(size, bytes_), last, ())
    return found


@pytest.mark.parametrize(
    ("blocks", "malloc", "kind"),
    [
        ((0, 60, 110, 170), (0, 0, 0, 0), "none"),
        ((0, 1000, 2000, 3000), (0, 0, 0, 0), "leak"),
        ((0, 1000, 2000, 2050), (0, 0, 0, 0), "cache"),
        ((0, 1000, 1010, 1020), (0, 0, 0, 0), "none"),  # full after the first window
        ((0, 0, 0, 0), (0, 400_000, 800_000, 1_200_000), "leak"),
        ((0, 0, 0, 0), (0, 400_000, 800_000, 800_000), "cache"),
        ((0, 0, 0, 0), (0, 80_000, 160_000, 260_000), "leak"),  # 90 bytes a sample: a batch that is kept
        ((0, 0, 0, 0), (0, 30_000, 60_000, 90_000), "none"),
        ((-1, -1, -1, -1), (0, 400_000, 800_000, 1_200_000), "leak"),  # PYTHONMALLOC=malloc tells no blocks
        ((0, 1000, 2000, 3000), (-1, -1, -1, -1), "leak"),  # musl tells no bytes
        ((-1, -1, -1, -1), (-1, -1, -1, -1), "none"),
        ((0, 1000, 500, 600), (0, 0, 0, 0), "none"),
    ],
)
def test_a_leak_grows_again_and_a_cache_does_not(blocks: tuple[int, ...], malloc: tuple[int, ...], kind: str) -> None:
    assert accumulation_of(windows(blocks, malloc, None, iterable=False)).kind == kind


@pytest.mark.parametrize(
    ("blocks", "restarted", "kind"),
    [
        ((0, 1000, 2000, 2000), 0, "none"),  # a shuffle buffer goes with its iterator
        ((0, 1000, 2000, 2000), 2000, "cache"),
        ((0, 1000, 2000, 3000), 2000, "leak"),
    ],
)
def test_what_goes_with_the_iterator_is_a_buffer(blocks: tuple[int, ...], restarted: int, kind: str) -> None:
    found = windows(blocks, (0, 0, 0, 0), Allocated(restarted, 0), iterable=True)
    assert accumulation_of(found).kind == kind


@pytest.mark.parametrize(
    ("elements", "malloc", "kind"),
    [
        ((16, 199, 200, 200), (0, 37_000_000, 37_200_000, 37_200_000), "cache"),
        ((16, 40, 40, 40), (0, 37_000_000, 37_000_000, 37_000_000), "none"),  # a few readers that are kept open
        ((16, 199, 200, 200), (0, 4_000_000, 4_100_000, 4_100_000), "none"),
        ((16, 199, 200, 200), (0, 37_000_000, 37_000_000, 42_000_000), "none"),
        ((16, 199, 200, 200), (-1, -1, -1, -1), "none"),
    ],
)
def test_a_container_that_is_full_of_chunks_is_a_cache(
    elements: tuple[int, ...], malloc: tuple[int, ...], kind: str
) -> None:
    found = windows((0, 0, 0, 0), malloc, None, iterable=False)
    for name, count in zip(NAMES, elements, strict=True):
        found.windows[name] = replace(found.windows[name], growth=(("dataset.kept", count), ("dataset.seen", 1)))
    heap = accumulation_of(found)
    assert heap.kind == kind
    if kind == "cache":
        assert (heap.attribute, heap.most, heap.by_element) == ("dataset.kept", 200, True)
        assert heap.bytes_per_sample == pytest.approx(37_200_000 / 184)


def test_a_leak_names_the_container_that_grew() -> None:
    found = windows((0, 1000, 2000, 3000), (0, 0, 0, 0), None, iterable=False)
    for (_, before), (name, after) in pairwise(found.windows.items()):
        del before
        grown = (("dataset.cache", 500), ("dataset.log", 1000 * NAMES.index(name)))
        object.__setattr__(after, "growth", grown)
    assert accumulation_of(found).attribute == "dataset.log"
