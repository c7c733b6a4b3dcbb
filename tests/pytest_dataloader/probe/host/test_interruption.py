"""Ctrl-C and SIGTERM as exceptions: in the process that asked, where they arrive, and not over somebody's handler."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from typing import TYPE_CHECKING

import pytest

from pytest_dataloader.probe.host.interruption import Terminated, raise_on_signals
from pytest_dataloader.probe.loader.timeout import Hang, time_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(autouse=True)
def default_actions() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
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


def in_fork_hook(number: int) -> None:
    """Send it in a hook that runs after a fork, where one that arrived during the fork is handled."""
    asked = [number]

    def hook() -> None:
        while asked:
            os.kill(os.getpid(), asked.pop())

    os.register_at_fork(after_in_parent=hook)
    child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(0,))
    child.start()
    child.join()


def test_the_first_sigterm_is_raised_and_further_ones_pass() -> None:
    put_back = raise_on_signals("why")
    with pytest.raises(Terminated, match=r"^why$"):
        os.kill(os.getpid(), signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGTERM)
    put_back()
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    assert signal.getsignal(signal.SIGINT) == signal.default_int_handler


@pytest.mark.parametrize(("number", "kind"), [(signal.SIGTERM, Terminated), (signal.SIGINT, KeyboardInterrupt)])
@pytest.mark.parametrize("send", [in_del, in_fork_hook])
def test_one_that_python_would_drop_is_raised_a_little_later(
    send: Callable[[int], None], number: signal.Signals, kind: type[BaseException]
) -> None:
    put_back = raise_on_signals("why")
    with pytest.raises(kind):  # noqa: PT012  # it arrives in the second
        send(number)
        time.sleep(20)
    put_back()


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


def test_another_thread_than_the_main_one_leaves_them() -> None:
    thread = threading.Thread(target=lambda: raise_on_signals("why"))
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
