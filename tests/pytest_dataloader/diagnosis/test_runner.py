"""The runner of checks: what a signal does to a verdict, and what one check hands to another."""

from __future__ import annotations

import contextlib
import os
import signal
from typing import TYPE_CHECKING, Any

import pytest
from torch.utils.data import DataLoader

from pytest_dataloader import checks
from pytest_dataloader.diagnosis.command import main
from pytest_dataloader.diagnosis.report import diagnose
from pytest_dataloader.diagnosis.runner import Runner, Subject
from pytest_dataloader.probe.host import interruption
from tests.variants import named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LOADERS = """
import os, signal
import torch
from torch.utils.data import DataLoader, Dataset

class Ended(Dataset):
    def __init__(self, *, all_of_us, at):
        self.all_of_us, self.at, self.main = all_of_us, at, os.getpid()
        self.data = torch.arange(64.0)[:, None]
    def __len__(self):
        return 64
    def __getitem__(self, index):
        if index == self.at and os.getpid() != self.main:
            if self.all_of_us:
                os.kill(self.main, signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGTERM)
        return self.data[index]

def group():
    return DataLoader(Ended(all_of_us=True, at=1), batch_size=4, num_workers=2)

def worker():
    return DataLoader(Ended(all_of_us=False, at=1), batch_size=4, num_workers=2)

def building():
    try:
        os.kill(os.getpid(), signal.SIGTERM)
    finally:
        raise RuntimeError("DataLoader worker (pid 3) is killed by signal: Terminated.")
"""


@pytest.fixture(autouse=True)
def default_actions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    tmp_path.joinpath("ended_by_signals.py").write_text(LOADERS)
    monkeypatch.chdir(tmp_path)
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


CHECKS = named(
    (name for name in checks.NAMES if name not in ("shards", "resume", "transfer")), quick=("workers", "shm", "stages")
)
"""Those that start this loader's workers."""


@pytest.mark.parametrize("check", CHECKS)
def test_a_worker_that_dies_of_a_signal_to_all_is_no_fault(
    check: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    status = main(["ended_by_signals:group", "--checks", check, "--seconds", "0.2", "--json", "seen.json"])
    told = "".join(capfd.readouterr())
    assert status == 2
    assert "interrupted" in told
    assert "failed" not in told
    assert '"loaders": []' in tmp_path.joinpath("seen.json").read_text()


# torch's handler of SIGCHLD raises wherever the main thread is, and Python drops what is raised in a destructor.
@pytest.mark.filterwarnings(
    "ignore:Exception ignored in.*DataLoaderIter.__del__:pytest.PytestUnraisableExceptionWarning"
)
@pytest.mark.parametrize("check", ["workers", "shm", "stages", "order"])
def test_a_worker_that_alone_gets_it_is_named(check: str, capfd: pytest.CaptureFixture[str]) -> None:
    status = main(["ended_by_signals:worker", "-v", "--checks", check, "--seconds", "0.2"])
    told = " ".join(capfd.readouterr().out.split())
    assert status == 1, told
    assert ("killed by SIGTERM" if check == "workers" else "a worker ended before its time") in told


def test_so_it_is_while_the_loader_is_built(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["ended_by_signals:building", "--checks", "order"]) == 2
    assert "raised" not in "".join(capfd.readouterr())


class Loader:
    """Stands for one, of which nothing is asked."""


def sent_and_lost() -> Any:
    with contextlib.suppress(BaseException):
        os.kill(os.getpid(), signal.SIGINT)


def sent_and_replaced() -> Any:
    try:
        os.kill(os.getpid(), signal.SIGINT)
    finally:
        raise RuntimeError("DataLoader worker (pid 3) is killed by signal: Terminated.")


@pytest.mark.parametrize("measure", [sent_and_lost, sent_and_replaced])
def test_an_interruption_wins_over_whatever_came_of_the_check(
    measure: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Runner, "measure", lambda *_: measure())
    put_back = interruption.raise_on_signals("why")
    with pytest.raises(KeyboardInterrupt):
        Runner(checks.Setting()).run(Subject("it", "it", Loader()), "order", {})
    put_back()


def test_diagnose_ends_its_process_by_the_signal_that_it_got(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    child = os.fork()
    if not child:
        try:
            from ended_by_signals import group  # type: ignore[import-not-found]  # written above

            diagnose(group, checks="stages", seconds=0.2)
        finally:
            os._exit(3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGTERM


def test_what_a_check_has_found_out_goes_to_those_of_the_same_loader_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, Any]] = []

    def measure(_check: str, loader: Any, *, setting: checks.Setting, limits: Any) -> Any:
        del limits
        seen.append(setting.shared)
        setting.shared[str(len(seen))] = True
        setting.known(loader)
        raise ValueError("torn")

    monkeypatch.setattr(checks, "measure", measure)
    runner, one, other = Runner(checks.Setting(bench=True)), Loader(), Loader()
    of_one, of_other = Subject("one", "one", one), Subject("other", "other", other)
    assert runner.run(of_one, "order", {}).verdict.reason.startswith("the loader raised ValueError: torn")
    assert runner.known is one
    assert runner.run(of_one, "fds", {}).verdict.reason == "the loader raises: see order"
    assert "torn" in runner.run(of_other, "fds", {}).verdict.reason
    assert "torn" in runner.run(of_one, "workers", {}).verdict.reason
    assert [sorted(each) for each in seen] == [["1", "3"], ["2"], ["1", "3"]]


def test_without_bench_a_check_that_needs_it_takes_two_batches_and_says_so() -> None:
    taken: list[int] = []
    loader: DataLoader[Any] = DataLoader([1, 2, 3, 4], collate_fn=taken.extend)  # type: ignore[arg-type]  # a list will do
    seen = Runner(checks.Setting()).run(Subject("it", "it", loader), "throughput", {})
    assert (seen.verdict.outcome, seen.verdict.reason) == ("not_measured", "run with --dataloader-bench")
    assert taken == [1, 2]
