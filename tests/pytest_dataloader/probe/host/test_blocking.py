"""What a thread is blocked in: by what the kernel tells, and of real processes."""

from __future__ import annotations

import multiprocessing
import os
import platform
import selectors
import socket
import subprocess
import threading
import time
from typing import TYPE_CHECKING

import pytest

from pytest_dataloader.probe.host import descriptors
from pytest_dataloader.probe.host.blocking import BlockedIn, classify, process_blocked_in
from pytest_dataloader.probe.host.child_process import Child
from pytest_dataloader.probe.host.system_calls import parse

if TYPE_CHECKING:
    from collections.abc import Callable

TARGETS = {
    3: "pipe:[1]", 4: "socket:[2]", 5: "/data/train.bin", 6: "unix:[3]", 7: "anon_inode:[eventpoll]", 8: "child:[4]",
}  # fmt: skip


@pytest.mark.skipif(platform.machine() != "x86_64", reason="numbers of system calls")
@pytest.mark.parametrize(
    ("state", "syscall", "wchan", "kind"),
    [
        ("R", "running", "0", "cpu"),
        ("S", "running", "0", "cpu"),
        ("D", "0 0x5 0x0 0x0 0x0 0x0 0x0 0x0 0x0", "io_schedule", "disk"),
        ("S", "0 0x5 0x0 0x0 0x0 0x0 0x0 0x0 0x0", "x", "disk"),
        ("S", "0 0x3 0x0 0x0 0x0 0x0 0x0 0x0 0x0", "x", "pipe"),
        ("S", "45 0x4 0x0 0x0 0x0 0x0 0x0 0x0 0x0", "x", "socket"),
        ("S", "45 0x6 0x0 0x0 0x0 0x0 0x0 0x0 0x0", "x", "pipe"),
        ("S", "0 0x7 0x0 0x0 0x0 0x0 0x0 0x0 0x0", "x", "other"),
        ("S", "7 0x1003 0x1 0x1388 0x0 0x0 0x0 0x0 0x0", "x", "pipe"),
        ("S", "7 0x1004 0x1 0x1388 0x0 0x0 0x0 0x0 0x0", "x", "socket"),
        ("S", "7 0x0 0x1 0x1388 0x0 0x0 0x0 0x0 0x0", "x", "pipe"),  # where memory may not be read
        ("S", "202 0x9 0x80 0x0 0x0 0x0 0x0 0x0 0x0", "x", "lock"),
        ("S", "202 0x9 0x0 0x0 0x0 0x0 0x0 0x0 0x0", "x", "lock"),
        ("S", "0 0x8 0x0 0x0 0x0 0x0 0x0 0x0 0x0", "x", "child"),
        ("S", "42 0x4 0x0 0x0 0x0 0x0 0x0 0x0 0x0", "x", "socket"),
        ("S", "232 0x4 0x0 0x0 0x0 0x0 0x0 0x0 0x0", "x", "socket"),
        ("S", "232 0x7 0x0 0x0 0x0 0x0 0x0 0x0 0x0", "x", "other"),
        ("S", "230 0x1 0x1 0x0 0x0 0x0 0x0 0x0 0x0", "x", "sleep"),
        ("S", "61 0x1 0x1 0x0 0x0 0x0 0x0 0x0 0x0", "x", "child"),
        ("S", "62 0x1 0x1 0x0 0x0 0x0 0x0 0x0 0x0", "x", "other"),
        ("S", "", "futex_wait_queue", "lock"),  # where tracing is not allowed
        ("S", "", "pipe_read", "pipe"),
        ("S", "", "poll_schedule_timeout.constprop.0", "pipe"),
        ("S", "", "hrtimer_nanosleep", "sleep"),
        ("S", "", "", "other"),
        ("Z", "", "", "gone"),
        ("", "", "", "gone"),
    ],
)
def test_the_kernel_tells_what_a_thread_is_blocked_in(state: str, syscall: str, wchan: str, kind: BlockedIn) -> None:
    def int_at(address: int) -> int | None:
        return address - 0x1000 if address else None

    assert classify(state, parse(syscall), wchan, lambda number: TARGETS.get(number, ""), int_at) == kind


def _lock() -> None:
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def _shared_lock() -> None:
    lock = multiprocessing.Lock()
    lock.acquire()
    lock.acquire()


def _for_a_thread() -> None:
    threading.Thread(target=_network).start()
    _lock()


def _network() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as connection:
        connection.recv(1)


def _epoll() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as connection,
        selectors.EpollSelector() as selector,
    ):
        selector.register(connection, selectors.EVENT_READ)
        selector.select()


def _socket() -> None:
    ends = socket.socketpair()
    ends[0].recv(1)


def _compute() -> None:
    while True:
        pass


@pytest.mark.parametrize(
    ("do", "kind"),
    [
        (_lock, "lock"),
        (_shared_lock, "lock"),
        (_for_a_thread, "socket"),
        (_network, "socket"),
        (_epoll, "socket"),
        (lambda: subprocess.run(["sleep", "60"], check=False), "child"),
        (lambda: subprocess.run(["sleep", "60"], check=False, capture_output=True), "child"),
        (_socket, "pipe"),
        (lambda: os.read(os.pipe()[0], 1), "child"),
        (lambda: time.sleep(60), "sleep"),
        (_compute, "cpu"),
    ],
)
def test_a_real_process_is_seen(do: Callable[[], object], kind: BlockedIn) -> None:
    def run(child: Child) -> None:
        child.tell(b"")
        do()

    with Child.fork(run) as child:
        child.hear(10)
        deadline = time.monotonic() + 10
        while (seen := process_blocked_in(child.pid, ())) != kind and time.monotonic() < deadline:
            time.sleep(0.01)
        assert seen == kind
    assert process_blocked_in(child.pid) == "gone"


def test_a_pipe_between_processes_is_no_child() -> None:
    reading, writing = os.pipe()

    def run(child: Child) -> None:
        child.tell(b"")
        os.read(reading, 1)

    with Child.fork(run) as child:
        child.hear(10)
        queues = {descriptors.links()[reading]}
        deadline = time.monotonic() + 10
        while (seen := process_blocked_in(child.pid, queues)) != "pipe" and time.monotonic() < deadline:
            time.sleep(0.01)
        assert (seen, process_blocked_in(child.pid, ())) == ("pipe", "child")
    os.close(reading)
    os.close(writing)
