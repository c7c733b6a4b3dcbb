"""What is said alike of descriptors and of shared memory: what a stretch of code left behind, and how to remove it."""

from __future__ import annotations

import pytest

from pytest_dataloader.advice.resources import leftovers, removal
from pytest_dataloader.probe.host.process_tree import WORKER, ProcessInfo
from pytest_dataloader.probe.host.segments import Segment
from pytest_dataloader.probe.resources.leftovers import Leftovers


def workers(count: int) -> tuple[ProcessInfo, ...]:
    return tuple(ProcessInfo(10 + number, 1, 1, WORKER, "S") for number in range(count))


def segments(count: int) -> tuple[Segment, ...]:
    return tuple(Segment(f"torch_7_1_{number}", 100 + number, 4096, linked=True) for number in range(count))


def files(count: int) -> tuple[tuple[int, str], ...]:
    return tuple((3 + number, f"/data/{number}.bin") for number in range(count))


OFFER = "remove them once no process uses them: rm"
TOLD: dict[str, tuple[Leftovers, list[str]]] = {
    "nothing": (Leftovers(), []),
    "a worker": (Leftovers(workers(1)), ["1 worker of a DataLoader still running (pid 10)"]),
    "more workers than are named": (
        Leftovers(workers(6)), ["6 workers of a DataLoader still running (pid 10, 11, 12, 13, 14)"]
    ),
    "a segment": (
        Leftovers(names=segments(1)), [f"1 segment in /dev/shm, 4.1 kB: {OFFER} /dev/shm/torch_7_1_0"]
    ),
    "two segments": (
        Leftovers(names=segments(2)),
        [f"2 segments in /dev/shm, 8.2 kB: {OFFER} /dev/shm/torch_7_1_0 /dev/shm/torch_7_1_1"],
    ),
    "a file": (Leftovers(targets=files(1)), ["1 open descriptor, file: /data/0.bin (3)"]),
    "more files than are named": (
        Leftovers(targets=files(6)),
        [
            "6 open descriptors, file: /data/0.bin (3), /data/1.bin (4), /data/2.bin (5), /data/3.bin (6), "
            "/data/4.bin (7)"
        ],
    ),
    "descriptors of several sorts": (
        Leftovers(targets=((3, "pipe:[9]"), (4, "/a"), (5, "pipe:[9]"))),
        ["2 open descriptors, pipe: pipe:[9] (3), pipe:[9] (5)", "1 open descriptor, file: /a (4)"],
    ),
    "everything": (
        Leftovers(workers(1), segments(1), files(1)),
        [
            "1 worker of a DataLoader still running (pid 10)",
            f"1 segment in /dev/shm, 4.1 kB: {OFFER} /dev/shm/torch_7_1_0",
            "1 open descriptor, file: /data/0.bin (3)",
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("left", "told"), TOLD.values(), ids=TOLD)
def test_each_sort_of_thing_that_is_left_is_told_with_names(left: Leftovers, told: list[str]) -> None:
    assert leftovers(left) == told


def test_no_more_than_fifty_names_are_offered_for_removal() -> None:
    names = [segment.name for segment in segments(51)]
    assert removal(names[:50]).text.endswith(" /dev/shm/torch_7_1_49")
    assert removal(names).text.endswith(" /dev/shm/torch_7_1_49 (and 1 more, in the evidence's names)")
