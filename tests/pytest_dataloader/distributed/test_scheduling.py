"""One worker of pytest-xdist measures: in real runs, and in every order in which workers can be done, or die."""

from __future__ import annotations

import itertools
from collections import deque
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from pytest_dataloader.collection import is_measured
from tests.pytest_dataloader.conftest import WITHOUT
from tests.variants import named

if TYPE_CHECKING:
    from tests.pytest_dataloader.conftest import Project

LOADERS = """
import os, signal, time
from pathlib import Path
import proj.data

def note(name):
    with open("built.txt", "a") as file:
        file.write(f"{name} {os.getpid()}\\n")

def make():
    note("made")
    return proj.data.make()

def broken():
    note("broken")
    raise ValueError("no samples")

def fatal():
    note("fatal")
    if not Path("died").exists():
        Path("died").touch()
        while not Path("plain").exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGKILL)
    return proj.data.make()
"""
PLAIN = """
import pytest
from pathlib import Path

@pytest.mark.parametrize("number", range(6))
def test_plain(number):
    Path("plain").touch()
"""
CHECKS = ("fds", "order")
MODES = ("load", "loadgroup", "loadscope", "loadfile", "worksteal")


@pytest.fixture
def declared(project: Project) -> Project:
    project.path.joinpath("proj", "noted.py").write_text(LOADERS)
    project.path.joinpath("test_it.py").write_text(PLAIN)
    keys = {name: f'loader = "proj.noted:{name}"\nchecks = {list(CHECKS)}' for name in ("make", "broken", "fatal")}
    project.declare(made=keys["make"], broken=keys["broken"], again=keys["make"], fatal=keys["fatal"])
    return project


def ids(*names: str) -> list[str]:
    return [f"pyproject.toml::{name}::{check}" for name in names for check in CHECKS]


@pytest.mark.parametrize("dist", named(MODES, ["loadgroup"]))
def test_one_worker_builds_each_loader_once_and_a_broken_one_is_one_failure(declared: Project, dist: str) -> None:
    done = declared.bench("-n2", f"--dist={dist}", "-v", "-p", "no:cacheprovider", "--deselect=pyproject.toml::fatal")
    done.assert_outcomes(passed=2 * len(CHECKS) + 6, skipped=len(CHECKS) - 1, errors=1)
    built = declared.path.joinpath("built.txt").read_text().split()
    assert (built[::2], len(set(built[1::2]))) == (["made", "broken", "made"], 1)
    told = [line.split() for line in done.outlines if line.startswith("[gw") and "pyproject.toml::" in line]
    assert len({words[0] for words in told}) == 1
    assert {words[-1] for words in told} == set(ids("made", "broken", "again"))  # as they are without pytest-xdist
    assert {loader["nodeid"] for loader in declared.loaders.values()} == {
        "pyproject.toml::again",
        "pyproject.toml::broken",
        "pyproject.toml::made",
    }


def test_a_worker_that_dies_in_a_check_is_one_failure_and_another_goes_on(declared: Project) -> None:
    done = declared.bench("-n2", "-p", "no:cacheprovider", "--deselect=pyproject.toml::broken")
    done.assert_outcomes(passed=3 * len(CHECKS) - 1 + 6, failed=1)
    done.stdout.fnmatch_lines(["worker 'gw*' crashed while running 'pyproject.toml::fatal::fds'"])
    built = declared.path.joinpath("built.txt").read_text().split()
    assert sorted(built[::2]) == ["fatal", "fatal", "made", "made"]


OWN = """
from xdist.scheduler import LoadScheduling
class Own(LoadScheduling): pass
def pytest_xdist_make_scheduler(config, log): return Own(config, log)
"""


@pytest.mark.parametrize(
    ("conftest", "arguments", "expected"),
    [
        ("", ("--dataloader-bench", "--dist=load"), "TargetScheduling"),
        ("", ("--dataloader-bench", "--dist=each"), "EachScheduling"),
        ("", ("--dist=load",), "LoadScheduling"),
        (OWN, ("--dataloader-bench", "--dist=load"), "Own"),
    ],
)
def test_a_scheduler_of_the_user_is_left_alone(
    pytester: pytest.Pytester, conftest: str, arguments: tuple[str, ...], expected: str
) -> None:
    pytester.makeconftest(conftest)
    assert type(scheduler(configure(pytester, *arguments))).__name__ == expected


def configure(pytester: pytest.Pytester, *arguments: str) -> pytest.Config:
    return pytester.parseconfigure(*WITHOUT, "--tx=2*popen", *arguments)


def scheduler(config: pytest.Config) -> Any:
    return config.hook.pytest_xdist_make_scheduler(config=config, log=None)


class Worker:
    """Does what it is sent as a worker of pytest-xdist does: each item once it has the next one, or knows of none."""

    def __init__(self, name: str) -> None:
        self.gateway = SimpleNamespace(id=name)
        self.shutting_down = False
        self.queue = deque[int]()
        self.stolen: list[int] | None = None

    def send_runtest_some(self, indices: list[int]) -> None:
        assert not self.shutting_down
        self.queue.extend(indices)

    def send_steal(self, indices: list[int]) -> None:
        waiting = set(list(self.queue)[2:])
        self.stolen = indices if waiting.issuperset(indices) else []
        for index in self.stolen:
            self.queue.remove(index)

    def shutdown(self) -> None:
        self.shutting_down = True

    @property
    def is_ready(self) -> bool:
        return len(self.queue) > (0 if self.shutting_down else 1)


class Run:
    """The loop of a controller with two workers."""

    def __init__(self, scheduler: Any, *collections: list[str]) -> None:
        self.scheduler = scheduler
        self.collection = collections[0]
        self.did: list[tuple[str, str]] = []
        self.workers = [Worker("gw0"), Worker("gw1")]
        for worker in self.workers:
            scheduler.add_node(worker)
        for worker, collection in zip(self.workers, collections, strict=True):
            self._collected(worker, collection)

    def _collected(self, worker: Worker, collection: list[str]) -> None:
        self.scheduler.add_node_collection(worker, collection)
        if self.scheduler.collection_is_completed:
            self.scheduler.schedule()
        self._answer()

    def _answer(self) -> bool:
        for worker in self.workers:
            if worker.stolen is not None:
                stolen, worker.stolen = worker.stolen, None
                self.scheduler.remove_pending_tests_from_node(worker, stolen)
        if self.scheduler.tests_finished:
            for worker in self.scheduler.nodes:
                worker.shutdown()
            return True
        return False

    def finish(self, first: str, fatal: str = "", *, repeat: bool = False) -> None:
        """Have the worker ``first`` do all that it can before others do anything, and one die in the item ``fatal``."""
        while ready := sorted((each for each in self.workers if each.is_ready), key=lambda it: it.gateway.id != first):
            worker = ready[0]
            index = worker.queue[0]
            if self.collection[index] == fatal:
                fatal = ""
                self._die(worker, index, repeat=repeat)
            else:
                worker.queue.popleft()
                self.did.append((worker.gateway.id, self.collection[index]))
                self.scheduler.mark_test_complete(worker, index, 0.2)
                self._answer()
        assert not any(worker.queue for worker in self.workers), "a worker waits for ever"

    def _die(self, worker: Worker, index: int, *, repeat: bool) -> None:
        self.workers.remove(worker)
        crashed = self.scheduler.remove_node(worker)
        assert crashed == self.collection[index]
        if repeat:
            self.scheduler.mark_test_pending(crashed)
        if not self._answer():
            self.workers.append(Worker("gw2"))
            self.scheduler.add_node(self.workers[-1])
            self._collected(self.workers[-1], self.collection)


MEASURED = [f"pyproject.toml::{name}::{check}" for name in ("train", "val") for check in CHECKS]


def collection(others: int) -> list[str]:
    """Tests of three files, and what is measured."""
    return [f"test_{number % 3}.py::test_{number}" for number in range(others)] + MEASURED


def measuring(run: Run) -> list[str]:
    """The workers that measured, each where it began."""
    return list(dict.fromkeys(worker for worker, nodeid in run.did if is_measured(nodeid)))


@pytest.mark.parametrize("dist", MODES)
def test_each_item_runs_once_whichever_worker_is_slow_and_wherever_one_dies(
    pytester: pytest.Pytester, dist: str
) -> None:
    config = configure(pytester, "--dataloader-bench", f"--dist={dist}")
    for others, first, fatal in itertools.product((0, 1, 2, 3, 6, 40), ("gw0", "gw1"), ("", *MEASURED)):
        run = Run(scheduler(config), *2 * [collection(others)])
        run.finish(first, fatal)
        assert sorted(nodeid for _, nodeid in run.did) == sorted(set(run.collection) - {fatal})
        assert len(measuring(run)) == (1 if fatal in ("", MEASURED[0], MEASURED[-1]) else 2)
        assert [nodeid for _, nodeid in run.did if is_measured(nodeid)] == [it for it in MEASURED if it != fatal]


def test_a_plugin_can_have_an_item_repeated_that_its_worker_died_in(pytester: pytest.Pytester) -> None:
    config = configure(pytester, "--dataloader-bench", "--dist=load")
    for fatal in MEASURED:
        run = Run(scheduler(config), *2 * [collection(6)])
        run.finish("gw0", fatal, repeat=True)
        assert sorted(nodeid for _, nodeid in run.did) == sorted(run.collection)


@pytest.mark.parametrize("dist", MODES)
def test_nothing_is_measured_where_workers_collect_different_targets(pytester: pytest.Pytester, dist: str) -> None:
    config = configure(pytester, "--dataloader-bench", f"--dist={dist}")
    run = Run(scheduler(config), collection(6), [*collection(6)[:-2], MEASURED[-1]])
    run.finish("gw0")
    assert not run.did
    [told] = config.pluginmanager.getplugin("terminalreporter").stats["error"]
    assert "Different tests were collected between gw0 and gw1" in str(told.longrepr)
