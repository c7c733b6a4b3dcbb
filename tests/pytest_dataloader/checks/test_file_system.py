"""Every check on loaders whose batches are shared by name: what measuring leaves early is not left in /dev/shm."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, default_collate

from pytest_dataloader import checks
from pytest_dataloader.checks import Setting
from pytest_dataloader.errors import NotMeasured
from pytest_dataloader.probe.host import process_tree, segments
from tests.variants import named

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [
    pytest.mark.xdist_group("system"),
    pytest.mark.skipif(sys.platform != "linux", reason="forked workers and /dev/shm"),
]


class Rows(Dataset[Any]):
    def __len__(self) -> int:
        return 400

    def __getitem__(self, at: int) -> Any:
        return torch.full((4,), at)


def killed_at_24(samples: list[Any]) -> Any:
    """The batch is in shared memory and was not sent, and the other worker has made those that come after it."""
    batch = default_collate(samples)
    if samples[0][0] == 24:
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGKILL)
    return batch


class OwnLoop(DataLoader[Any]):
    """Cannot be replayed: what it does between batches is its own."""

    def __iter__(self) -> Any:
        for batch in super().__iter__():
            yield batch + 1


@pytest.fixture(autouse=True)
def by_file() -> Iterator[None]:
    untyped: Any = torch.multiprocessing
    before = untyped.get_sharing_strategy()
    untyped.set_sharing_strategy("file_system")
    yield
    untyped.set_sharing_strategy(before)


def left_by(check: str, loader: Any) -> set[segments.Segment]:
    """Segments with a name that this process and the workers that it started meanwhile have left in /dev/shm."""
    with process_tree.keep_process_registry() as process_registry:
        try:
            evidence = checks.measure(check, loader, setting=Setting(seconds=0.5, bench=True), limits={})
        except NotMeasured:
            evidence = None
        left = segments.named({os.getpid(), *process_registry.pids})
        assert evidence is None or process_registry.pids
        return left


def load(kind: Any, *, persistent: bool) -> Any:
    return kind(Rows(), batch_size=2, num_workers=2, multiprocessing_context="fork", persistent_workers=persistent)


@pytest.mark.parametrize("check", named(["fds", "throughput", "stages", "order", "workers"], ["order", "workers"]))
def test_an_epoch_that_a_check_leaves_early_leaves_nothing(check: str) -> None:
    assert left_by(check, load(DataLoader, persistent=False)) == set()


@pytest.mark.parametrize("check", named(["fds", "shm", "throughput", "stages"], ["fds", "throughput"]))
def test_workers_that_persist_and_cannot_be_replayed_leave_nothing(check: str) -> None:
    assert left_by(check, load(OwnLoop, persistent=True)) == set()


def test_a_worker_that_is_killed_leaves_nothing() -> None:
    settings: Any = {"num_workers": 2, "prefetch_factor": 4, "multiprocessing_context": "fork"}
    assert left_by("workers", DataLoader(Rows(), batch_size=2, collate_fn=killed_at_24, **settings)) == set()


def test_a_break_that_the_loop_of_a_user_leaves_is_still_seen() -> None:
    """The twin without which the others could not fail."""
    assert left_by("shm", load(DataLoader, persistent=False))
