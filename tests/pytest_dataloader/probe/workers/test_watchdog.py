"""What a watch calls a silence, and when that is a hang, too long to tell, or worth waiting for."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from pytest_dataloader.probe.host.waits import ProcessActivity, Wait
from pytest_dataloader.probe.workers.status_slots import StatusSlots
from pytest_dataloader.probe.workers.watchdog import Finding, Silence, Watchdog, is_underway, judge_silence

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import FrameType

QUIET = Silence(seconds=30, busy_seconds=0.01, switches=3)
BUSY = Silence(seconds=30, busy_seconds=29)


def longer(silence: Silence, seconds: float, **more: float) -> Silence:
    share = silence.busy_seconds / silence.seconds
    return replace(silence, seconds=seconds, busy_seconds=share * seconds, **more)  # type: ignore[arg-type]  # floats all


@pytest.mark.parametrize(
    ("silence", "longest", "expected"),
    [
        (longer(QUIET, 3.1, deadlocked_seconds=3.0), None, "hang"),
        (longer(QUIET, 3.1, deadlocked_seconds=2.9), 0.01, None),
        (longer(QUIET, 4, asleep_seconds=3600), None, "hang"),
        (longer(QUIET, 4, asleep_seconds=290), 0.01, None),
        (longer(QUIET, 59), 0.01, None),
        (longer(QUIET, 61), 0.01, "hang"),
        (longer(QUIET, 61), None, None),
        (longer(QUIET, 61), 7.0, None),
        (longer(QUIET, 71), 7.0, "hang"),
        (longer(QUIET, 121), None, "hang"),
        (Silence(121, 0.01, switches=3, on_disk=True), None, None),
        (Silence(121, 0.01, switches=1, asleep_seconds=100), None, None),
        (Silence(181, 0.01, switches=1, asleep_seconds=100), None, "unclear"),
        (Silence(121, 0.05, switches=240, asleep_seconds=0.4), None, "hang"),
        (Silence(121, 0.05, switches=12_100), None, None),
        (Silence(181, 0.05, switches=18_100), None, "unclear"),
        (longer(BUSY, 121), None, None),
        (longer(BUSY, 181), None, "unclear"),
        (longer(BUSY, 181), 3.0, "unclear"),
        (longer(BUSY, 181), 1.0, "hang"),
        (longer(BUSY, 181), 20.0, None),
    ],
)
def test_the_clock_decides_last(silence: Silence, longest: float | None, expected: str | None) -> None:
    found = judge_silence(silence, longest)
    assert (found[0] if found else None) == expected


def test_a_temporary_file_is_finished_before_anything_is_interrupted(tmp_path: Path) -> None:
    seen: list[FrameType] = []

    class Place:
        def __fspath__(self) -> str:
            seen.append(sys._getframe())
            return str(tmp_path)

    with tempfile.NamedTemporaryFile(dir=Place()):
        pass
    assert seen
    assert all(is_underway(frame) for frame in seen)
    assert not is_underway(sys._getframe())


IDLE = ProcessActivity("S", 0, 0, (Wait("else"),))
LOCKED = ProcessActivity("S", 0, 0, (Wait("lock"), Wait("service")))
SLEEPING = ProcessActivity("S", 0, 0, (Wait("sleep", 3600.0),))
READING = ProcessActivity("D", 0, 0, (Wait("else"),))
MAIN, OTHER = 7, 8
"""Pids of two workers; the first one's batch is next."""


LOOK = 0.125
"""Seconds from look to look; exact in binary."""


class Scene:
    """A wait for the batch of worker 1, beside worker 0, by a clock that a test moves on."""

    def __init__(self, folder: Path) -> None:
        self.now = 1000.0
        self.pids = {0: OTHER, 1: MAIN}
        self.looks: dict[int, Callable[[], ProcessActivity]] = {MAIN: lambda: IDLE, OTHER: lambda: IDLE}
        self.asked: list[tuple[int, int | None]] = []
        self.pending: dict[int, tuple[int, ...]] = {4: (1,), 5: (0,)}
        self.watchdog = Watchdog(StatusSlots(folder, 2), self.look, lambda: self.now)
        self.watchdog.iterator = SimpleNamespace(_task_info=self.pending)

    def look(self, pid: int, *, without: int | None = None) -> ProcessActivity:
        self.asked.append((pid, without))
        return self.looks[pid]()

    def wait(self, seconds: float) -> Finding | None:
        """What the watch finds in so long, looking again and again; the clock stays where it finds something."""
        end = self.now + seconds
        while self.now < end:
            self.now += LOOK
            if (found := self.watchdog._listen(self.pids)) is not None:
                return found
        return None


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    scene = Scene(tmp_path)
    with scene.watchdog.waiting():  # which notes when it began
        return scene


def test_nobody_is_looked_at_before_a_second_is_over(scene: Scene) -> None:
    assert scene.wait(1 - LOOK) is None
    assert scene.asked == []
    scene.wait(LOOK)
    assert scene.asked == [(OTHER, None), (MAIN, None)]


def test_the_worker_whose_batch_is_next_is_suspected_and_the_other_not(scene: Scene) -> None:
    scene.looks[OTHER] = lambda: LOCKED
    assert scene.wait(50) is None
    scene.looks[MAIN] = lambda: LOCKED
    found = scene.wait(3 + LOOK)
    assert found is not None
    assert (found.kind, found.worker, found.stack) == ("hang", 1, ())
    assert found.waited_seconds == 53 + LOOK


def test_a_worker_that_is_seen_in_a_deadlock_for_three_seconds_hangs(scene: Scene) -> None:
    scene.looks[MAIN] = lambda: LOCKED
    assert scene.wait(4.0) is None  # one second without a look, one look to compare with, three seconds in it
    found = scene.wait(LOOK)
    assert found == Finding("hang", 1, "deadlock, each of its threads waits for a lock", 4 + LOOK)


def test_a_deadlock_that_opened_once_begins_anew(scene: Scene) -> None:
    scene.looks[MAIN] = lambda: LOCKED
    scene.wait(3.0)
    scene.looks[MAIN] = lambda: IDLE
    scene.wait(LOOK)
    scene.looks[MAIN] = lambda: LOCKED
    assert scene.wait(3.0) is None
    assert scene.wait(LOOK) is not None


SIGNS: dict[str, Callable[[Scene], None]] = {
    "a batch was delivered": lambda scene: setattr(scene.watchdog, "delivered", 1),
    "a sample of the batch was read": lambda scene: note_position(scene.watchdog.slots, 4),
    "a sample of another worker's batch was read": lambda scene: note_position(scene.watchdog.slots, 5),
    "a batch came from another worker": lambda scene: scene.pending.update({5: (0, 1)}),
    "a worker began": lambda scene: note_state(scene.watchdog.slots, 0),
}
"""Of progress."""


def note_position(slots: StatusSlots, task: int) -> None:
    slots._memory[4 * task] += 1


def note_state(slots: StatusSlots, worker: int) -> None:
    slots._memory[slots._at(worker)] += 1


@pytest.mark.parametrize("sign", SIGNS.values(), ids=SIGNS)
def test_a_sign_of_progress_begins_the_silence_anew(scene: Scene, sign: Callable[[Scene], None]) -> None:
    scene.watchdog.longest = 0.01
    assert scene.wait(60 - LOOK) is None
    sign(scene)
    assert scene.wait(60.0) is None
    found = scene.wait(2 * LOOK)
    assert found is not None
    assert (found.kind, found.waited_seconds) == ("hang", 60)


def test_a_silence_is_as_long_as_the_wait_where_nothing_ever_moves(scene: Scene) -> None:
    scene.watchdog.longest = 0.01
    assert scene.wait(60 - LOOK) is None
    assert scene.wait(LOOK) == Finding("hang", 1, "it waited for 60 s and did nothing else", 60.0)


def test_the_work_of_any_worker_counts_and_that_before_the_silence_does_not(scene: Scene) -> None:
    def at_work() -> ProcessActivity:
        return replace(IDLE, busy_ns=10**12 + int(1e9 * scene.now))

    scene.watchdog.longest = 20.0  # so that 180 s are not yet too long
    scene.looks[MAIN] = lambda: replace(IDLE, busy_ns=10**12, switches=10**6)
    scene.looks[OTHER] = at_work
    assert scene.wait(199.0) is None
    scene.looks[OTHER] = lambda: replace(IDLE, busy_ns=10**12)
    assert scene.wait(2.0) is not None


def test_a_worker_that_changes_to_and_fro_is_at_work(scene: Scene) -> None:
    scene.watchdog.longest = 0.01
    scene.looks[OTHER] = lambda: replace(IDLE, switches=int(100 * scene.now))
    assert scene.wait(100.0) is None


def test_a_worker_that_waits_for_a_disk_is_at_work(scene: Scene) -> None:
    scene.watchdog.longest = 0.01
    scene.looks[MAIN] = lambda: READING
    assert scene.wait(100.0) is None
    scene.looks[MAIN] = lambda: IDLE
    assert scene.wait(LOOK) is not None


def test_a_sleep_counts_once_it_has_lasted_three_seconds(scene: Scene) -> None:
    scene.looks[MAIN] = lambda: SLEEPING
    assert scene.wait(4.0) is None
    scene.looks[MAIN] = lambda: IDLE
    scene.wait(LOOK)
    scene.looks[MAIN] = lambda: SLEEPING
    assert scene.wait(3.0) is None
    assert scene.wait(LOOK) == Finding("hang", 1, "it sleeps for another 3,600 s", 7 + 2 * LOOK)


def test_the_only_worker_is_suspected_although_no_batch_was_asked_of_it(scene: Scene) -> None:
    scene.pending.clear()
    scene.pids = {0: OTHER}
    scene.looks[OTHER] = lambda: LOCKED
    found = scene.wait(4 + LOOK)
    assert found is not None
    assert found.worker == 0


@pytest.mark.parametrize("pids", [{}, {0: OTHER, 1: MAIN}], ids=["no workers", "two of which none has a batch to make"])
def test_where_nobody_owes_a_batch_this_process_is_suspected_without_the_watch(
    scene: Scene, pids: dict[int, int]
) -> None:
    scene.pending.clear()
    scene.pids = pids
    scene.looks[os.getpid()] = lambda: LOCKED
    found = scene.wait(4 + LOOK)
    assert found is not None
    assert (found.kind, found.worker) == ("hang", None)
    assert any("test_watchdog.py" in frame for frame in found.stack)
    assert (os.getpid(), threading.get_native_id()) in scene.asked
