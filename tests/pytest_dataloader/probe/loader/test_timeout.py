"""A bound on waiting."""

from __future__ import annotations

import signal
import threading
import time
from typing import Any

import pytest

from pytest_dataloader.probe.loader.timeout import Hang, time_limit


def test_waiting_too_long_is_a_hang() -> None:
    with pytest.raises(Hang), time_limit(0.05):
        time.sleep(30)


def test_every_sign_of_life_renews_the_patience() -> None:
    with time_limit(1.0) as alive:
        for _ in range(15):
            time.sleep(0.1)
            alive()


def test_the_timer_is_free_afterwards() -> None:
    with time_limit(0.2):
        pass
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
    assert signal.getsignal(signal.SIGALRM) == signal.SIG_DFL
    time.sleep(0.3)


def test_somebody_elses_timer_is_left_alone() -> None:
    def theirs(_signal: int, _frame: Any) -> None:
        raise AssertionError("too early")

    previous = signal.signal(signal.SIGALRM, theirs)
    try:
        signal.setitimer(signal.ITIMER_REAL, 30)
        with time_limit(0.01) as alive:
            alive()
            time.sleep(0.05)
        assert signal.getsignal(signal.SIGALRM) is theirs
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 20
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def test_other_threads_wait_unbounded_and_unharmed() -> None:
    done = []

    def work() -> None:
        with time_limit(0.01) as alive:
            time.sleep(0.05)
            alive()
            done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done
