"""Ranks of a job: real stores, real torchrun."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from pytest_dataloader import loaders
from pytest_dataloader.distributed.job import ENDED, LEFT, Job, RankAddress, place_in
from tests.pytest_dataloader.rendering import annotations_in, page

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    from tests.pytest_dataloader.preloaded import Server

ENVIRON = {
    "RANK": "1", "WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": "29500",
    "TORCHELASTIC_RUN_ID": "none", "TORCHELASTIC_RESTART_COUNT": "0", "TORCHELASTIC_USE_AGENT_STORE": "True",
}  # fmt: skip


def test_the_place_of_a_rank_is_read_from_the_launchers_environment() -> None:
    assert place_in(ENVIRON) == RankAddress(1, 4, 2, "localhost", 29500, "none-0")


@pytest.mark.parametrize(
    "changed",
    [
        {"RANK": None},
        {"WORLD_SIZE": "1"},
        {"MASTER_PORT": "many"},
        {"TORCHELASTIC_USE_AGENT_STORE": "False"},
        {"TORCHELASTIC_RUN_ID": None},
    ],
)  # fmt: skip
def test_without_a_launcher_a_process_is_no_rank(changed: dict[str, str | None]) -> None:
    environ = {key: value for key, value in {**ENVIRON, **changed}.items() if value is not None}
    assert place_in(environ) is None


@pytest.fixture
def join() -> Callable[[int, int], Job]:
    """Jobs on a real store, which a launcher would keep."""
    from torch.distributed import TCPStore  # type: ignore[attr-defined]  # not in its __all__

    server: Any = TCPStore("localhost", 0, is_master=True, timeout=timedelta(seconds=30), wait_for_workers=False)

    def make(rank: int, world_size: int) -> Job:
        place = RankAddress(rank, world_size, world_size, "localhost", server.port, "none-0")
        return Job.join(place, seconds=1.0)

    return make


def test_all_ranks_hear_all_ranks(join: Callable[[int, int], Job]) -> None:
    jobs = [join(rank, 3) for rank in range(3)]
    with ThreadPoolExecutor(3) as pool:
        for _ in range(2):  # a test may have the same check twice
            heard = list(pool.map(lambda job: job.gather("memory", "t.py::t", f"by {job.place.rank}"), jobs))
            assert heard == [({0: "by 0", 1: "by 1", 2: "by 2"}, {})] * 3


def test_a_silent_rank_is_given_up_once(join: Callable[[int, int], Job]) -> None:
    job, _ = join(0, 2), join(1, 2)
    assert job.gather("memory", "t.py::t", "here") == ({0: "here"}, {1: "nothing was heard of it for 1 s"})
    ticks = iter(range(10**6))
    job._clock = lambda: float(next(ticks))
    assert job.gather("memory", "t.py::u", "here")[1] == {1: "nothing was heard of it for 1 s"}
    assert next(ticks) == 1, "a lost rank is not waited for again"


def test_a_rank_that_left_the_test_or_the_run_is_not_waited_for(join: Callable[[int, int], Job]) -> None:
    job, other, third = join(0, 3), join(1, 3), join(2, 3)
    job._seconds = 3600.0
    other.finish("t.py::t")
    closing = threading.Thread(target=third.close, args=("0",), daemon=True)
    closing.start()
    assert job.gather("memory", "t.py::t", "here")[1] == {1: LEFT, 2: ENDED}
    closing.join()


@pytest.mark.parametrize("moment", range(4))
def test_a_rank_that_answers_and_leaves_at_once_is_heard(
    join: Callable[[int, int], Job], monkeypatch: pytest.MonkeyPatch, moment: int
) -> None:
    """At whatever moment between two questions to the store."""
    job, other = join(0, 2), join(1, 2)
    hear, asked = job._hear, iter(range(10**6))

    def answer_meanwhile(key: str, rank: int) -> str | None:
        if next(asked) == moment:
            other._tell("t.py::t|memory|1", "there")
            other.finish("t.py::t")
            other._tell("ended", "")
        return hear(key, rank)

    monkeypatch.setattr(job, "_hear", answer_meanwhile)
    assert job.gather("memory", "t.py::t", "here") == ({0: "here", 1: "there"}, {})


def test_ranks_compare_before_they_gather_and_nobody_waits_for_one_that_passed_over(
    join: Callable[[int, int], Job],
) -> None:
    jobs = [join(rank, 3) for rank in range(3)]

    def take_part(job: Job) -> dict[int, str]:
        job._seconds = 3600.0
        compared = {} if job.place.rank == 2 else job.compare("shards", "t.py::t", f"share {job.place.rank}")
        job.gather("shards", "t.py::t", "verdict")
        return compared

    with ThreadPoolExecutor(3) as pool:
        for _ in range(2):  # the second time, what was told the first is not heard again
            assert list(pool.map(take_part, jobs)) == [*[{0: "share 0", 1: "share 1"}] * 2, {}]


def test_a_callable_that_takes_a_rank_is_told_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch.utils.data import DataLoader

    for name, value in ENVIRON.items():
        monkeypatch.setenv(name, value)
    told = []

    def make(rank: int, world_size: int) -> Any:
        told.append((rank, world_size))
        return DataLoader([1, 2])  # type: ignore[arg-type]  # a list is indexed like a dataset

    loaders.call(make, "make")
    assert told == [(1, 4)]


LOADERS = """
import os, pathlib, signal, time
import torch
from torch.utils.data import DataLoader, Dataset, DistributedSampler

RANK, FAULT = os.environ["RANK"], os.environ.get("FAULT", "")

class Numbers(Dataset):
    def __len__(self):
        return 640
    def __getitem__(self, index):
        if RANK == "1" and FAULT == "raise":
            raise KeyError("no label")
        if RANK == "1" and FAULT == "kill":
            while not pathlib.Path("begun").exists():  # a rank that is still starting cannot tell anything
                time.sleep(0.1)
            os.kill(os.getpid(), signal.SIGKILL)
        return torch.tensor(float(index))

def make():
    return DataLoader(Numbers(), batch_size=16)

class Noisy(Numbers):
    def __getitem__(self, index):
        return float(index), torch.rand(2)

def sharded():
    if not torch.distributed.is_initialized():
        torch.distributed.init_process_group("gloo")
    return DataLoader(Noisy(), batch_size=16, sampler=DistributedSampler(Noisy()))

def unsharded():
    torch.manual_seed(0)
    return DataLoader(Noisy(), batch_size=16, shuffle=True)
"""


def launched(
    pytester: pytest.Pytester,
    preloaded: Server,
    targets: tuple[str, ...] = ("make",),
    checks: tuple[str, ...] = ("throughput",),
) -> subprocess.CompletedProcess[str]:
    """Measure loaders on the two ranks of a torchrun, which alone is forked: its ranks have a Python of their own."""
    pytester.makepyfile(data=LOADERS)
    table = '[tool.pytest-dataloader.targets.{0}]\nloader = "data:{0}"'
    pytester.makepyprojecttoml("\n".join(map(table.format, targets)))
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "-m", "pytest")
    without = (word for plugin in ("cacheprovider", "hypothesispytest", "memray") for word in ("-p", f"no:{plugin}"))
    ours = ("--dataloader-bench", "--dataloader-quick", "--dataloader-json=out.json")  # which leaves out no shards here
    items = (f"pyproject.toml::{name}::{check}" for name in targets for check in checks)
    return preloaded.run(*launcher, *without, *ours, *items, timeout=240)


@pytest.mark.slow
def test_torchrun_measures_each_rank_and_one_reports(pytester: pytest.Pytester, preloaded: Server) -> None:
    done = launched(pytester, preloaded)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("= test session starts =") == 1
    assert "of 2, the slowest: " in done.stdout
    check = json.loads((pytester.path / "out.json").read_text())["loaders"][0]["checks"]["throughput"]
    assert [(rank["rank"], rank["evidence"]["samples_per_second"] > 0) for rank in check["ranks"]] == [
        (0, True),
        (1, True),
    ]


@pytest.mark.slow
def test_a_loader_that_raises_on_one_rank_fails_the_check_for_all(
    pytester: pytest.Pytester, preloaded: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAULT", "raise")
    done = launched(pytester, preloaded)
    assert done.returncode != 0
    assert "throughput: rank 1 of 2: the loader raised KeyError: 'no label'" in done.stdout
    check = json.loads((pytester.path / "out.json").read_text())["loaders"][0]["checks"]["throughput"]
    assert [rank["verdict"] for rank in check["ranks"]] == ["passed", "failed"]


def test_ranks_are_held_against_each_other(
    pytester: pytest.Pytester, preloaded: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(pytester.path / "summary.md"))
    done = launched(pytester, preloaded, ("sharded", "unsharded"), ("randomness", "shards"))
    assert done.returncode != 0
    titles = [each.properties["title"] for each in annotations_in(done.stdout)]
    assert titles == ["dataloader unsharded: randomness", "dataloader unsharded: shards"]  # of one rank
    assert page((pytester.path / "summary.md").read_text()).headings == ["DataLoader checks: 2 failed, 2 passed"]
    sharded, unsharded = (
        {name: (check["verdict"], check["reason"]) for name, check in loader["checks"].items()}
        for loader in json.loads((pytester.path / "out.json").read_text())["loaders"]
    )
    assert [verdict for verdict, _ in sharded.values()] == ["passed", "passed"], sharded
    assert "the 2 ranks of this job are disjoint\nsimulated: 2 ranks" in sharded["shards"][1]
    assert [verdict for verdict, _ in unsharded.values()] == ["failed", "failed"], unsharded
    assert "torch draws identical numbers on ranks\nranks 0 and 1" in unsharded["randomness"][1]
    assert "the 2 ranks of this job" in unsharded["shards"][1]


@pytest.mark.slow
def test_a_rank_that_dies_ends_all_with_what_is_known(
    pytester: pytest.Pytester, preloaded: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makeconftest(
        "import os, pathlib\n"
        "def pytest_collection_finish():\n"
        "    pathlib.Path('begun' if os.environ['RANK'] == '0' else 'begun by the other').touch()\n"
    )
    monkeypatch.setenv("FAULT", "kill")
    done = launched(pytester, preloaded)
    assert done.returncode != 0
    assert "the launcher ends this rank: another one failed or died" in done.stdout + done.stderr
    assert (pytester.path / "out.json").exists(), done.stdout + done.stderr
    assert json.loads((pytester.path / "out.json").read_text())["schema"] == 1
