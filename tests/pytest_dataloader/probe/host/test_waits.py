"""What real processes wait for."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

from pytest_dataloader.probe.host import process_tree, waits

if TYPE_CHECKING:
    from collections.abc import Callable

LOCK = "import threading; lock = threading.Lock(); lock.acquire(); lock.acquire()"
HELPED = "import threading; threading.Thread(target={}, daemon=True).start(); threading.Event().wait()"


def look_at(code: str, done: Callable[[waits.ProcessActivity], bool]) -> waits.ProcessActivity:
    """The first look at a process that runs ``code`` which is as expected, or the last one."""
    with subprocess.Popen([sys.executable, "-c", code]) as process:
        try:
            deadline = time.monotonic() + 20
            while not done(seen := waits.process_activity(process.pid)) and time.monotonic() < deadline:
                time.sleep(0.05)
        finally:
            process.kill()
    return seen


@pytest.mark.parametrize(
    "code",
    [
        LOCK,
        "import threading; threading.Event().wait()",
        "import queue; queue.Queue().get()",
        HELPED.format("threading.Event().wait"),
    ],
)
def test_a_process_that_nobody_can_wake_is_deadlocked(code: str) -> None:
    assert look_at(code, lambda seen: seen.deadlocked).deadlocked


@pytest.mark.parametrize(
    "code",
    [
        "import os; os.read(os.pipe()[0], 1)",
        "import multiprocessing as m; lock = m.Lock(); lock.acquire(); lock.acquire()",
        "import threading; threading.Event().wait(500)",
        "import time; time.sleep(500)",
        "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); s.accept()",
        f"import os; {HELPED.format('lambda: os.read(os.pipe()[0], 1)')}",
        f"import time; {HELPED.format('lambda: time.sleep(500)')}",
    ],
)
def test_a_process_that_something_may_wake_is_not(code: str) -> None:
    seen = look_at(
        code, lambda seen: seen.state == "S" and {wait.kind for wait in seen.waits} & {"else", "sleep"} != set()
    )
    assert seen.state == "S"
    assert not seen.deadlocked


def test_a_helper_that_hands_out_descriptors_wakes_nobody() -> None:
    code = (
        "import os, threading\nfrom multiprocessing import resource_sharer\n"
        "shared = resource_sharer.DupFd(os.open(os.devnull, 0))\n"
        "threading.Event().wait()"
    )
    seen = look_at(code, lambda seen: seen.deadlocked)
    assert seen.deadlocked
    assert [wait.kind for wait in seen.waits] == ["lock", "service"]


def test_a_sleep_tells_how_long_it_goes_on() -> None:
    for code in ("import time; time.sleep(500)", "import threading; threading.Event().wait(500)"):
        seen = look_at(code, lambda seen: seen.asleep_seconds is not None)
        assert seen.asleep_seconds is not None
        assert 400 < seen.asleep_seconds <= 500


def test_a_process_at_work_uses_the_cpu() -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        try:
            first = waits.process_activity(process.pid)
            deadline = time.monotonic() + 20
            while (seen := waits.process_activity(process.pid)).busy_ns < first.busy_ns + 100_000_000:
                assert time.monotonic() < deadline
                time.sleep(0.05)
        finally:
            process.kill()
    assert not seen.deadlocked


def test_a_thread_at_work_is_no_rest() -> None:
    stop = threading.Event()
    at_work = threading.Thread(target=lambda: any(iter(stop.is_set, True)))
    this = threading.get_native_id()
    at_work.start()
    try:
        deadline = time.monotonic() + 20
        while waits.at_rest(os.getpid(), without=this):  # it waits for the interpreter while this thread runs
            assert time.monotonic() < deadline
        assert waits.at_rest(os.getpid(), without=at_work.native_id) is False  # this thread looks
    finally:
        stop.set()
        at_work.join()
    with subprocess.Popen([sys.executable, "-c", LOCK]) as process:
        deadline = time.monotonic() + 20
        while not (waits.process_activity(process.pid).deadlocked and waits.at_rest(process.pid)):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.kill()


def test_the_dead_are_told_from_the_living() -> None:
    assert process_tree.state_of(os.getpid()) in ("R", "S")
    process = subprocess.Popen([sys.executable, "-c", ""])
    deadline = time.monotonic() + 20
    while process_tree.state_of(process.pid) != "Z" and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not waits.process_activity(process.pid).alive
    process.wait()
    assert process_tree.state_of(process.pid) == ""
    assert waits.process_activity(process.pid) == waits.ProcessActivity("", 0, 0, ())
