"""Work in processes that may die."""

from __future__ import annotations

import os
import resource
import signal
import time
from pathlib import Path

import pytest
from dl_lint.engine import processes
from dl_lint.engine.processes import Died, spread


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


def square(number: int) -> bytes:
    return str(number * number).encode()


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_every_item_is_answered_once_whatever_its_size(jobs: int) -> None:
    sizes = [7, 0, 900, 3, 3, 50_000, 1]
    assert dict(spread(square, sizes, jobs)) == {number: square(number) for number in range(len(sizes))}


def test_answers_larger_than_a_pipe_come_whole() -> None:
    answers = dict(spread(lambda number: bytes([number]) * 3_000_000, [1, 1, 1], 2))
    assert answers == {number: bytes([number]) * 3_000_000 for number in range(3)}


def test_no_items_start_no_process() -> None:
    assert list(spread(square, [], 4)) == []


def test_a_death_costs_one_item_and_no_other() -> None:
    def work(number: int) -> bytes:
        if number in (2, 5):
            os.kill(os.getpid(), signal.SIGSEGV)
        if number == 7:
            raise ValueError(number)
        return square(number)

    answers = dict(spread(work, [1] * 10, 2))
    died = {number: answer for number, answer in answers.items() if isinstance(answer, Died)}
    assert died == {2: Died(signal.SIGSEGV), 5: Died(signal.SIGSEGV), 7: Died(0)}
    assert len(answers) == 10
    assert str(died[2]) == "the parser broke down on it (Segmentation fault)"
    assert str(died[7]) == "the parser broke down on it (its process ended early)"


def test_an_item_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "CPU_SECONDS", 0)

    def work(number: int) -> bytes:
        while number == 1:
            pass
        return square(number)

    assert dict(spread(work, [1, 1, 1], 1)) == {0: b"0", 1: Died(signal.SIGXCPU), 2: b"4"}


@pytest.mark.slow
def test_the_time_of_earlier_items_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "CPU_SECONDS", 1)

    def work(number: int) -> bytes:
        end = time.process_time() + 0.6
        while time.process_time() < end:
            pass
        return square(number)

    assert dict(spread(work, [1, 1, 1, 1], 1)) == {number: square(number) for number in range(4)}


def test_leaving_early_leaves_no_process_and_no_descriptor() -> None:
    before, open_before = children(), len([*Path("/proc/self/fd").iterdir()])

    def work(number: int) -> bytes:
        if number:
            time.sleep(60)
        return b""

    answers = spread(work, [3, 2, 1], 3)
    assert next(answers) == (0, b"")
    answers.close()
    assert children() == before
    assert len([*Path("/proc/self/fd").iterdir()]) == open_before


def test_a_process_leaves_no_core_file() -> None:
    [(_, answer)] = spread(lambda _: repr(resource.getrlimit(resource.RLIMIT_CORE)[0]).encode(), [1], 1)
    assert answer == b"0"
