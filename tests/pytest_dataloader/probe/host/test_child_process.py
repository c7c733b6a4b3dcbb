"""Forked children: what they may not disturb, and that they end."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_dataloader.probe.host import process_tree, waits
from pytest_dataloader.probe.host.child_process import Child, ask

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def test_a_child_answers_and_is_gone() -> None:
    with Child.fork(lambda child: child.tell(b"here")) as child:
        assert child.hear(10.0) == b"here"
        pid = child.pid
    assert not Path(f"/proc/{pid}").exists()


def test_a_child_that_waits_for_a_lock_of_its_parent_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waits, "DEADLOCK_SECONDS", 0.5)
    lock = threading.Lock()
    with lock:
        begun = time.monotonic()
        assert ask(lock.acquire, 60.0) is None
    assert time.monotonic() - begun < 50
    assert ask(lambda: time.sleep(1.5) or "late", 60.0) == "late"  # type: ignore[func-returns-value]  # the text is it


def test_what_a_child_has_started_is_gone_with_it() -> None:
    def start(child: Child) -> None:
        started = os.fork()
        if not started:
            time.sleep(90)
        child.tell(str(started).encode())

    with Child.fork(start) as child:
        started = int(child.hear(60.0) or 0)
        assert not process_tree.has_ended(started)
    process_tree.wait_for_end([started], 60.0)
    assert process_tree.has_ended(started)


@pytest.mark.parametrize("of_a_worker", [False, True])
def test_a_segment_that_it_was_making_is_gone_with_it(of_a_worker: bool) -> None:
    def make(child: Child) -> None:
        if of_a_worker and (worker := os.fork()):
            os.waitpid(worker, 0)
        segment = Path(f"/dev/shm/torch_{os.getpid()}_2_2")
        segment.touch()
        child.tell(str(segment).encode())
        time.sleep(90)

    with Child.fork(make) as child:
        segment = Path((child.hear(60.0) or b"").decode())
        assert segment.exists()
        assert (f"_{child.pid}_" in segment.name) is not of_a_worker
    assert not segment.exists()


def test_what_a_function_returns_comes_back() -> None:
    assert ask(lambda: {"pid": os.getpid()}, 10.0) != {"pid": os.getpid()}


@pytest.mark.parametrize(
    "function", [lambda: time.sleep(60), lambda: 1 / 0, lambda: os._exit(3), lambda: sys.exit(0), lambda: lambda: None]
)
def test_a_child_that_hangs_fails_or_ends_gives_no_answer(function: Callable[[], object]) -> None:
    assert ask(function, 0.5) is None


def is_killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def raises() -> None:
    raise TypeError("no dataset")


@pytest.mark.parametrize(
    ("run", "end"),
    [
        (raises, "raised TypeError: no dataset"),
        (lambda: sys.exit(3), "raised SystemExit: 3"),
        (is_killed, "was killed by SIGKILL"),
        (lambda: os._exit(3), "exited"),
        (lambda: time.sleep(60), ""),
    ],
)
def test_a_child_that_ended_is_told_from_one_that_is_slow(run: Callable[[], object], end: str) -> None:
    with Child.fork(lambda _child: run()) as child:  # type: ignore[arg-type]  # what it returns is dropped
        assert child.hear(10.0 if end else 0.2) is None
        assert child.end() == end


def test_a_message_longer_than_a_pipe_arrives_whole() -> None:
    assert ask(lambda: b"x" * 3_000_000, 10.0) == b"x" * 3_000_000


def test_nothing_that_a_child_prints_is_seen(capfd: pytest.CaptureFixture[str]) -> None:
    def noise() -> int:
        print("python")
        sys.stderr.write("error")
        os.write(1, b"descriptor 1")
        os.system("echo shell >&2")
        return 1

    assert ask(noise, 10.0) == 1
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_reading_in_a_child_leaves_the_position_of_an_open_file_alone() -> None:
    with tempfile.TemporaryFile() as file:
        file.write(b"0123456789")
        file.flush()
        file.seek(3)
        # Unbuffered, so that the position is the kernel's, which a plain fork would share.
        number = file.fileno()
        assert ask(lambda: os.read(number, 4), 10.0) == b"3456"
        assert os.lseek(number, 0, os.SEEK_CUR) == 3


def test_no_exit_handler_runs_in_a_child(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    atexit.register(mark.touch)
    try:
        with Child.fork(lambda _child: sys.exit(0)):
            time.sleep(0.1)
    finally:
        atexit.unregister(mark.touch)
    assert not mark.exists()


def test_a_child_that_forks_is_noticed() -> None:
    def fork_and_stay(child: Child) -> None:
        if os.fork() == 0:
            time.sleep(2)
            os._exit(0)
        child.tell(b"forked")

    with Child.fork(fork_and_stay) as child:
        assert child.hear(10.0) == b"forked"
        assert child.has_children()
    with Child.fork(lambda child: child.tell(b"alone")) as child:
        assert child.hear(10.0) == b"alone"
        assert not child.has_children()


def test_no_descriptor_is_left() -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        ask(os.getpid, 10.0)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
