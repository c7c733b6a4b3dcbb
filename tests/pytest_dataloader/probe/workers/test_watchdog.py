"""When a silence is a hang, when it is too long to tell, and when waiting makes sense."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pytest_dataloader.probe.workers.watchdog import Silence, conclude, is_underway

if TYPE_CHECKING:
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
    found = conclude(silence, longest)
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
