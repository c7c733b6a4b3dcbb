"""Segments and descriptors: whose they are, and which are left out."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
from multiprocessing import shared_memory
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch

from pytest_dataloader.probe.host import descriptors, segments
from pytest_dataloader.probe.loader.replay import Replay
from pytest_dataloader.probe.resources import payload
from pytest_dataloader.probe.resources.forecast import Shape
from pytest_dataloader.probe.resources.segment_registry import keep_segment_registry

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.xdist_group("system")

linux = pytest.mark.skipif(sys.platform != "linux", reason="/proc and /dev/shm")


@pytest.fixture
def segment() -> Iterator[shared_memory.SharedMemory]:
    made = shared_memory.SharedMemory(create=True, size=5000)
    yield made
    made.close()
    made.unlink()


MAP = "7f0000000000-7f0000002000 rw-s 00000000 00:1a 77  /dev/shm/{}"


def test_a_line_of_maps_is_read() -> None:
    seen = segments.parse_map(MAP.format("torch_12_345_6 (deleted)"))
    assert seen == segments.Segment("torch_12_345_6", 77, 8192, linked=False)
    assert seen.maker == 12
    named = segments.parse_map(MAP.format("psm_1"))
    assert (named.maker, named.linked) == (None, True) if named else False


@pytest.mark.parametrize(
    "line", [MAP.format("sem.mp-1"), MAP.replace("/dev/shm/", "/lib/"), "7f00-7f01 rw-p 0 0:0 0", ""]
)
def test_other_mappings_are_left_out(line: str) -> None:
    assert segments.parse_map(line) is None


def test_a_segment_that_several_processes_hold_counts_once() -> None:
    seen = segments.parse_map(MAP.format("psm_1"))
    unlinked = segments.parse_map(MAP.format("psm_1 (deleted)"))
    assert seen is not None
    assert unlinked is not None
    assert segments.total_bytes({seen, unlinked}) == 8192


@linux
def test_a_segment_is_held_until_it_is_closed(segment: shared_memory.SharedMemory) -> None:
    [held] = [each for each in segments.open_segments() if each.name == segment.name]
    assert (held.bytes, held.linked, held.path) == (8192, True, f"/dev/shm/{segment.name}")
    assert held.inode in {each.inode for each in segments.open_segments(mapped=True)}


@linux
def test_names_are_removed_once_their_maker_has_ended_but_for_what_is_mapped_here() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        left, mapped, longer = (Path(f"/dev/shm/torch_{process.pid}{end}") for end in ("_1_1", "_1_2", "0_1_1"))
        for path in (left, mapped, longer):
            path.write_bytes(bytes(4096))
        segments.unlink_of([process.pid, os.getpid()])
        assert left.exists()  # its maker may hand it over yet
        process.kill()
    with mapped.open("r+b") as file:
        held = mmap.mmap(file.fileno(), 4096)
    try:
        segments.unlink_of([process.pid])
        assert [path.exists() for path in (left, mapped, longer)] == [False, True, True]
        held.close()
        segments.unlink_of([process.pid])
        assert not mapped.exists()
    finally:
        for path in (left, mapped, longer):
            path.unlink(missing_ok=True)


@linux
def test_only_names_with_known_makers_are_ours(segment: shared_memory.SharedMemory) -> None:
    ours, other = Path(f"/dev/shm/torch_{os.getpid()}_1_1"), Path("/dev/shm/torch_1_1_1")
    for path in (ours, other):
        path.write_bytes(b"x")
    try:
        assert {each.name for each in segments.named({os.getpid()})} == {ours.name}
        assert {each.name for each in segments.named((), {segment.name})} == {segment.name}
        assert {ours.name, other.name} <= {each.name for each in segments.named(None)}
    finally:
        ours.unlink()
        other.unlink()


@linux
def test_what_is_created_is_written_down_here_and_in_forked_processes() -> None:
    with keep_segment_registry() as registry:
        first = shared_memory.SharedMemory(create=True, size=10)
        pid = os.fork()
        if not pid:
            os._exit(0 if shared_memory.SharedMemory(name=first.name) and _create() else 1)
        os.waitpid(pid, 0)
        first.close()
        first.unlink()
        names = registry.names
    assert len(names) == 2
    assert first.name in names
    before = shared_memory.SharedMemory.__init__
    assert "noted" not in before.__qualname__


def _create() -> bool:
    made = shared_memory.SharedMemory(create=True, size=10)
    made.close()
    made.unlink()
    return True


@linux
def test_what_a_spawned_process_creates_is_written_down_too() -> None:
    code = "import pickle, sys; pickle.loads(bytes.fromhex(sys.argv[1]))(0); from multiprocessing import shared_memory as s; m = s.SharedMemory(create=True, size=1); m.close(); m.unlink()"  # noqa: E501  # a script
    with keep_segment_registry() as registry:
        import pickle

        start = pickle.dumps(registry.told_to_workers(None)).hex()
        subprocess.run([sys.executable, "-c", code, start], check=True)
        assert len(registry.names) == 1


@linux
def test_descriptors_are_counted_without_the_listing_itself() -> None:
    before = descriptors.count_descriptors()
    reading, writing = os.pipe()
    try:
        assert before is not None
        assert descriptors.count_descriptors() == before + 2
        seen = descriptors.links()
        assert seen[reading] == seen[writing]
        assert descriptors.shared_with(seen, [[seen[reading]]]) >= {reading, writing}
    finally:
        os.close(reading)
        os.close(writing)
    assert descriptors.count_descriptors(2**22 - 1) is None


def test_tensors_of_one_storage_weigh_once_and_arrays_nothing() -> None:
    whole: Any = torch.zeros(1000, 4)
    seen = payload.weigh_batch(
        {"rows": list(whole), "more": whole.t(), "empty": torch.zeros(0), "label": torch.zeros(1)}
    )
    assert (seen.storages, seen.bytes) == (2, 16384 + 4096)
    assert payload.weigh_batch([whole.numpy(), "text", 1]).storages == 0
    assert payload.weigh_batch(torch.eye(3).to_sparse()).storages == 2
    assert payload.weigh_batch([whole[:10], whole[5:20].clone()]).unshown_bytes == 16000 - 160


def test_a_shape_is_worth_what_the_formulas_say() -> None:
    shape = Shape(before=10, storages=5, batch_bytes=100, workers=3, prefetch_factor=2)
    need = shape.need()
    assert (need.main_least, need.main) == (10 + 2 + 12 + 5, 10 + 2 + 12 + 5 * 6)
    assert need.worker == 10 + 3 + 12 + 5 * 3 + 1
    assert (need.segments, need.segment_bytes) == (35, 700)
    unordered = Shape(10, 5, 100, 3, 2, in_order=False).need()
    assert unordered.main == 10 + 2 + 12 + 5 * 2
    by_file = Shape(10, 5, 100, 3, 2, by_descriptor=False).need()
    assert (by_file.main, by_file.segments) == (24, 35)
    assert Shape(10, 5, 100, 0, 2).need().segments == 0


def test_a_replay_reads_the_same_samples_in_every_epoch() -> None:
    drawn = iter(range(100))

    class Shuffled:
        def __iter__(self) -> Iterator[int]:
            return iter([next(drawn) for _ in range(5)])

    short = Replay(Shuffled(), 3)
    assert (len(short), list(short)) == (3, [0, 1, 2])
    short.times = 2
    assert (len(short), list(short)) == (6, [0, 1, 2, 0, 1, 2])
    assert next(drawn) == 10, "the sampler itself is asked in every epoch"
