"""Ctrl-C and SIGTERM as exceptions: in the process that asked, where they arrive, and not over somebody's handler."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
import weakref
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from pytest_dataloader.probe.host import interruption
from pytest_dataloader.probe.host.child_process import Child
from pytest_dataloader.probe.host.interruption import (
    Terminated,
    finishing,
    forget_signals,
    raise_on_signals,
    raise_received,
    would_be_lost,
)
from pytest_dataloader.probe.loader.timeout import Hang, time_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import FrameType


@pytest.fixture(autouse=True)
def default_actions() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)}
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def in_del(number: int) -> None:
    """Send the signal to oneself in a finalizer."""

    class Sending:
        def __del__(self) -> None:
            os.kill(os.getpid(), number)

    Sending()


def send_after_fork(number: int) -> None:
    """Have the next fork run a hook that sends it, where one that arrived during the fork is handled."""
    asked = [number]

    def hook() -> None:
        while asked:
            os.kill(os.getpid(), asked.pop())

    os.register_at_fork(after_in_parent=hook)


def in_fork_hook(number: int) -> None:
    send_after_fork(number)
    child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(0,))
    child.start()
    child.join()


def in_hook_of_our_own_fork(number: int) -> None:
    send_after_fork(number)
    with Child.fork(Child.sleep):
        pass


def test_the_first_sigterm_is_raised_and_further_ones_pass() -> None:
    put_back = raise_on_signals("why")
    with pytest.raises(Terminated, match=r"^why$"):
        os.kill(os.getpid(), signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGTERM)
    put_back()
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    assert signal.getsignal(signal.SIGINT) == signal.default_int_handler


@pytest.mark.parametrize(("number", "kind"), [(signal.SIGTERM, Terminated), (signal.SIGINT, KeyboardInterrupt)])
@pytest.mark.parametrize("send", [in_del, in_fork_hook, in_hook_of_our_own_fork])
def test_one_that_python_would_drop_is_raised_a_little_later(
    send: Callable[[int], None], number: signal.Signals, kind: type[BaseException]
) -> None:
    put_back = raise_on_signals("why")
    with pytest.raises(kind):  # noqa: PT012  # it arrives in the second
        send(number)
        time.sleep(20)
    put_back()


def in_weakref_callback(number: int) -> None:
    class Referent:
        pass

    referent = Referent()
    reference = weakref.ref(referent, lambda _: os.kill(os.getpid(), number))
    del referent
    assert reference() is None


def in_generator_that_nobody_ends(number: int) -> None:
    def waiting() -> Iterator[None]:
        try:
            yield
        finally:
            os.kill(os.getpid(), number)

    next(waiting())


def caught_by_the_users_code(number: int) -> None:
    with contextlib.suppress(BaseException):
        os.kill(os.getpid(), number)


@pytest.mark.parametrize(("number", "kind"), [(signal.SIGTERM, Terminated), (signal.SIGINT, KeyboardInterrupt)])
@pytest.mark.parametrize("send", [in_weakref_callback, in_generator_that_nobody_ends, caught_by_the_users_code])
def test_one_that_was_dropped_is_raised_when_asked_for(
    send: Callable[[int], None], number: signal.Signals, kind: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "unraisablehook", lambda _told: None)
    put_back = raise_on_signals("why")
    raise_received()
    send(number)
    with pytest.raises(kind):
        raise_received()
    forget_signals()
    raise_received()
    send(number)
    put_back()
    raise_received()


def test_one_that_is_delayed_is_raised_at_once_when_asked_for_and_not_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check may end before it comes again."""
    monkeypatch.setattr("pytest_dataloader.probe.host.interruption._LATER_SECONDS", 0.3)
    put_back = raise_on_signals("told to end")
    in_del(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        raise_received()
    time.sleep(0.6)
    put_back()


def test_one_that_workers_got_first_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    put_back = raise_on_signals("why")
    waited: list[float] = []
    monkeypatch.setattr("time.sleep", waited.append)
    raise_received(wait=True)
    assert len(waited) == 1
    monkeypatch.setattr("time.sleep", lambda _seconds: os.kill(os.getpid(), signal.SIGTERM))
    with pytest.raises(Terminated):
        raise_received(wait=True)
    put_back()


def test_what_writes_a_report_is_not_interrupted() -> None:
    put_back = raise_on_signals("why")
    with finishing():
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
    put_back()
    put_back = raise_on_signals("why")
    with pytest.raises(Terminated):
        os.kill(os.getpid(), signal.SIGTERM)
    put_back()


def test_the_death_of_a_child_raises_nothing_after_it() -> None:
    def of_torch(_number: int, _frame: object) -> None:
        raise RuntimeError

    signal.signal(signal.SIGCHLD, of_torch)
    put_back = raise_on_signals("why")
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
    os.kill(os.getpid(), signal.SIGCHLD)
    put_back()
    with pytest.raises(RuntimeError):
        os.kill(os.getpid(), signal.SIGCHLD)


def test_a_temporary_file_is_made_before_anything_is_interrupted(tmp_path: Path) -> None:
    seen: list[FrameType] = []

    class Place:
        def __fspath__(self) -> str:
            seen.append(sys._getframe())
            return str(tmp_path)

    with tempfile.TemporaryDirectory(dir=Place()):
        pass
    assert seen
    assert all(would_be_lost(frame) for frame in seen)
    assert not would_be_lost(sys._getframe())


def test_a_generator_that_has_only_just_begun_is_at_no_line_which_pytest_could_show() -> None:
    def numbers() -> Iterator[int]:
        yield 1

    no_line = SimpleNamespace(f_lineno=None, f_code=numbers.__code__, f_back=None)
    assert would_be_lost(cast("FrameType", no_line))


class Interrupting:
    """A lock of a queue, in whose taking a signal comes."""

    def __init__(self, lock: Any) -> None:
        self.lock, self.asked = lock, [signal.SIGINT]

    def __enter__(self) -> None:
        self.lock.__enter__()
        while self.asked:
            os.kill(os.getpid(), self.asked.pop())

    def __exit__(self, *error: object) -> None:
        self.lock.__exit__(*error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.lock, name)


def test_the_lock_of_a_queue_is_given_back_before_anything_is_interrupted() -> None:
    put_back = raise_on_signals("told to end")
    queue: Any = multiprocessing.get_context("fork").Queue()
    lock = queue._notempty
    queue._notempty = Interrupting(lock)
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012  # which of them it comes in is not known
        queue.put(1)
        time.sleep(10)
    put_back()
    assert lock.acquire(blocking=False)
    lock.release()
    assert queue.get(timeout=10) == 1
    queue.close()


def test_what_goes_on_for_ever_is_interrupted_all_the_same() -> None:
    put_back = raise_on_signals("told to end")
    queue: Any = multiprocessing.get_context("fork").Queue(maxsize=1)
    queue.put(1)
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        queue.put(2, timeout=60)
    put_back()
    queue.cancel_join_thread()
    queue.close()


def test_so_is_a_hang() -> None:
    class Slow:
        def __del__(self) -> None:
            time.sleep(0.2)

    with pytest.raises(Hang), time_limit(0.05):  # noqa: PT012  # it arrives in the second
        Slow()
        time.sleep(20)


def test_a_child_made_by_fork_ends_by_sigterm() -> None:
    raise_on_signals("why")
    child = os.fork()
    if not child:
        os.kill(os.getpid(), signal.SIGTERM)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGTERM


def test_a_handler_of_somebody_else_stays() -> None:
    def own(_number: int, _frame: object) -> None:
        return None

    signal.signal(signal.SIGTERM, own)
    put_back = raise_on_signals("why")
    assert signal.getsignal(signal.SIGTERM) is own
    put_back()
    assert signal.getsignal(signal.SIGTERM) is own


def test_so_does_one_that_was_set_since() -> None:
    def own(_number: int, _frame: object) -> None:
        return None

    put_back = raise_on_signals("why")
    signal.signal(signal.SIGTERM, own)
    put_back()
    assert signal.getsignal(signal.SIGTERM) is own


def test_another_thread_than_the_main_one_leaves_them() -> None:
    thread = threading.Thread(target=lambda: raise_on_signals("why"))
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_a_signal_whose_handler_another_one_has_torn_down_is_raised_later(monkeypatch: pytest.MonkeyPatch) -> None:
    def torn(_frame: FrameType | None) -> bool:
        monkeypatch.undo()
        raise RuntimeError("DataLoader worker (pid 3) is killed by signal: Terminated.")  # as torch's handler does

    put_back = raise_on_signals("why")
    monkeypatch.setattr(interruption, "would_be_lost", torn)
    with pytest.raises(RuntimeError, match="Terminated"):
        os.kill(os.getpid(), signal.SIGTERM)
    with pytest.raises(Terminated, match="why"):
        raise_received()
    put_back()


def test_nothing_is_left_once_handlers_are_put_back() -> None:
    def look(child: Child) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        open_before = sorted(os.listdir("/proc/self/fd"))  # noqa: PTH208  # names alone
        raise_on_signals("why")()
        left = sorted(os.listdir("/proc/self/fd")) != open_before or signal.set_wakeup_fd(-1) != -1  # noqa: PTH208
        child.tell(b"left" if left else b"nothing")

    with Child.fork(look) as child:
        assert child.hear(60.0) == b"nothing"


def test_a_signal_to_a_child_alone_is_none_of_ours() -> None:
    put_back = raise_on_signals("why")

    def wait(child: Child) -> None:
        signal.signal(signal.SIGTERM, lambda _number, _frame: child.tell(b"got it"))
        child.tell(b"ready")
        child.sleep()

    with Child.fork(wait) as child:
        assert child.hear(60.0) == b"ready"
        os.kill(child.pid, signal.SIGTERM)
        assert child.hear(60.0) == b"got it"
    raise_received()
    put_back()


def test_the_pipe_of_an_event_loop_stays_its_own() -> None:
    read, write = os.pipe()
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write)
    put_back = raise_on_signals("why")
    assert signal.set_wakeup_fd(write) == write
    put_back()
    assert signal.set_wakeup_fd(-1) == write
    os.close(read)
    os.close(write)
