"""The process tree: processes below this one, and those that multiprocessing started, by every start method."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import time
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from pytest_dataloader.probe.host import process_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc")


def rest() -> None:
    time.sleep(60)


@pytest.fixture
def child() -> Iterator[BaseProcess]:
    process = multiprocessing.get_context("fork").Process(target=rest, daemon=True)
    yield process
    if process.is_alive():
        process.kill()
    process.join()
    process.close()


def test_a_name_may_hold_anything() -> None:
    info = process_tree.parse_stat("42 (a) b (c) S 7 42 42 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 12345 1 1")
    assert info == process_tree.ProcessInfo(42, 12345, 7, "a) b (c", "S")


@pytest.mark.parametrize("text", ["", "42", "42 (name) S 7", "x (name) S 7 42"])
def test_what_is_no_process_is_none(text: str) -> None:
    assert process_tree.parse_stat(text) is None


def test_descendants_are_found_below_children() -> None:
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(60)'])"
    with subprocess.Popen([sys.executable, "-c", code]) as parent:
        deadline = time.monotonic() + 20
        grandchildren: list[process_tree.ProcessInfo] = []
        while not grandchildren and time.monotonic() < deadline:  # beside other children of the run, a fork server say
            below = {info.pid: info for info in process_tree.descendants()}
            grandchildren = [info for info in below.values() if info.parent == parent.pid]
        [grandchild] = grandchildren
        assert below[parent.pid].parent == os.getpid()
        os.kill(grandchild.pid, 9)
    assert not process_tree.is_alive(grandchild)


def test_a_process_registry_remembers_who_is_gone(child: BaseProcess) -> None:
    with process_tree.keep_process_registry() as process_registry:
        child.start()
        [info] = process_registry.alive
        assert (info.pid, info.parent) == (child.pid, os.getpid())
        assert process_tree.is_alive(info)
        child.kill()
        child.join()
        assert process_registry.alive == ()
        assert process_registry.pids == {info.pid}
    assert not process_tree.is_alive(info)


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_process_registry_sees_other_start_methods(method: str) -> None:
    context: Any = multiprocessing.get_context(method)
    process = context.Process(target=os.getpid)
    with process_tree.keep_process_registry() as process_registry:
        process.start()
    process.join()
    assert process_registry.pids == {process.pid}


def test_a_process_registry_ends_with_its_block(child: BaseProcess) -> None:
    before = BaseProcess.start
    with process_tree.keep_process_registry() as outer:
        with process_tree.keep_process_registry() as inner:
            pass
        child.start()
    assert BaseProcess.start is before
    assert (len(outer.seen), len(inner.seen)) == (1, 0)


def test_the_pid_of_another_process_is_told_apart(child: BaseProcess) -> None:
    child.start()
    assert child.pid is not None
    info = process_tree.read_process(child.pid)
    assert info is not None
    assert not process_tree.is_alive(
        process_tree.ProcessInfo(info.pid, info.started - 1, info.parent, info.name, info.state)
    )


def test_memory_in_ram_is_that_of_the_process(child: BaseProcess) -> None:
    child.start()
    assert child.pid is not None
    assert process_tree.resident_bytes(os.getpid()) == pytest.approx(psutil.Process().memory_info().rss, rel=0.1)
    # A fork begins with what it has touched of its parent's memory: less than its parent.
    assert 0 < (process_tree.resident_bytes(child.pid) or 0) < 0.9 * psutil.Process().memory_info().rss
    child.kill()
    child.join()
    assert process_tree.resident_bytes(child.pid) is None
