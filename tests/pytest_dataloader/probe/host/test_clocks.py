"""Clocks of this thread and of other processes."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from pytest_dataloader.probe.host import clocks

pytestmark = pytest.mark.xdist_group("cpu")

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="/proc and CPU clocks of other processes")


@pytest.mark.parametrize(
    ("line", "delay"),
    [
        ("310670450 243083 16\n", 243083),
        ("0 0 0\n", None),
        ("5 7\n", None),
        ("", None),
        ("a b c\n", None),
    ],
)
def test_run_queue_delay_is_read_or_unknown(line: str, delay: int | None) -> None:
    assert clocks.read_delay_ns(line) == delay


@pytest.mark.parametrize(
    ("line", "cpus"),
    [
        ("150000 100000", 1.5),
        ("max 100000", float("inf")),
        ("-1 100000", float("inf")),
        ("", float("inf")),
        ("5 0", float("inf")),
    ],
)
def test_cpu_quota_is_read(line: str, cpus: float) -> None:
    assert clocks.read_quota(line) == cpus


def test_some_cpu_is_allowed() -> None:
    assert clocks.cpus_allowed() > 0


@LINUX
def test_the_cpu_time_of_another_process_is_read_while_it_lives() -> None:
    spin = "while time.process_time() < 0.3: pass"
    loop = f"import sys, time\n{spin}\nprint(time.process_time(), flush=True)\nsys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", loop], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        told = float(child.stdout.readline())
        seen = clocks.cpu_of_ns(child.pid)
        assert seen is not None
        assert told <= seen / 1e9 < told + 0.2
        reaped = clocks.reaped_cpu_ns()
        child.communicate()
    assert clocks.reaped_cpu_ns() - reaped >= 0.3e9
    assert clocks.cpu_of_ns(child.pid) is None
    assert clocks.delay_of_ns(child.pid) is None


@LINUX
def test_waiting_for_a_cpu_shows_as_delay_of_this_thread() -> None:
    import os

    before = clocks.thread_delay_ns()
    if before is None:
        pytest.skip("the kernel keeps no account of run-queue delays")
    allowed = os.sched_getaffinity(0)
    cpu = min(allowed)
    os.sched_setaffinity(0, {cpu})
    try:
        with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as rival:  # inherits the one CPU
            try:
                stop = time.thread_time() + 0.3
                while time.thread_time() < stop:
                    pass
            finally:
                rival.kill()
    finally:
        os.sched_setaffinity(0, allowed)
    after = clocks.thread_delay_ns()
    assert after is not None
    assert after - before > 0.05e9


def test_a_kept_reading_that_outlives_its_module_is_closed_without_a_word() -> None:
    # What is never freed has its globals set to None at exit, the module imported last first.
    program = """
import ctypes, json
from pytest_dataloader.probe.host import clocks

for module in json, clocks:
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(module))
json.kept = clocks.read_kept_delay_ns
clocks.read_kept_delay_ns()
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stderr == ""


def test_the_kernel_costs_cpu_time() -> None:
    assert 0 < clocks.kernel_ns() < 50_000_000


def test_the_wall_clock_is_told_as_time_since_1970() -> None:
    before = time.time_ns()
    here = clocks.wall_ns() + clocks.unix_offset_ns()
    assert before - 1_000_000 < here < time.time_ns() + 1_000_000
