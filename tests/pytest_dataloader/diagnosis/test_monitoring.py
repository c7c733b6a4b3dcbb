"""``monitor``: the user's own loop, watched as it runs and left as it is."""

from __future__ import annotations

import gc
import time
import warnings
import weakref
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from pytest_dataloader import BadLimit, DataLoaderWarning, NotMeasured, monitor
from pytest_dataloader.diagnosis import monitoring
from pytest_dataloader.diagnosis.monitoring import Monitor
from pytest_dataloader.errors import BadTarget
from pytest_dataloader.probe.host import process_tree
from pytest_dataloader.probe.host.interference import QUIET
from pytest_dataloader.probe.training.discovery import Discovery
from pytest_dataloader.probe.training.processes import ProcessReadings


class Rows(Dataset[torch.Tensor]):
    def __init__(self, length: int = 64, seconds: float = 0.0) -> None:
        self.length, self.seconds = length, seconds

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> torch.Tensor:
        time.sleep(self.seconds)
        return torch.rand(3) + index


def test_a_monitor_is_iterated_in_the_place_of_its_loader() -> None:
    loader = DataLoader(Rows(), batch_size=8)
    watched = monitor(loader)
    with pytest.raises(NotMeasured, match="no loader was iterated yet"):
        watched.state  # noqa: B018  # a property
    assert len(watched) == 8
    for _ in range(2):
        assert len(list(watched)) == 8
    assert (watched.state.epochs, watched.state.batches, watched.state.samples) == (2, 16, 128)
    list(loader)
    assert watched.state.epochs == 2, "it has left the loader alone"


def test_a_block_sees_whoever_iterates_the_loader_and_no_other_one() -> None:
    loader, other = DataLoader(Rows(), batch_size=8), DataLoader(Rows(), batch_size=8)
    with monitor(loader) as watched:
        list(other)
        list(loader)
    assert (watched.state.epochs, watched.state.batches) == (1, 8)
    with Monitor() as all_of_them:
        list(other)
        list(loader)
        list(loader)
    assert [found.meter.totals.epochs for found in all_of_them._discovery.loaders] == [1, 2]


def test_a_loader_goes_as_soon_as_nobody_uses_it() -> None:
    loader = DataLoader(Rows(40), batch_size=8, num_workers=1, persistent_workers=True)
    watched = monitor(loader, max_input_wait=0.9)
    gc.disable()
    try:
        for _batch in watched:
            pass
        (pid,) = watched._discovery.loaders[0].meter.pids
        gone = weakref.ref(loader)
        del loader, watched
        assert gone() is None
        assert process_tree.has_ended(pid), "so do its workers"
    finally:
        gc.enable()


def test_monitors_do_not_disturb_each_other_in_whatever_order_they_end() -> None:
    kept = dict(vars(DataLoader))
    loader = DataLoader(Rows(), batch_size=8, num_workers=1, persistent_workers=True)
    first, second, discovery = monitor(loader), monitor(loader), Discovery()
    discovery.start()
    with first:
        second.__enter__()
        list(loader)
    list(loader)
    discovery.stop()
    list(DataLoader(Rows(), batch_size=8))
    second.__exit__()
    assert [each.state.batches for each in (first, second)] == [16, 16]  # an iterator is counted to its end
    assert [each.meter.totals.batches for each in discovery.loaders] == [16]
    assert dict(vars(DataLoader)) == kept


def test_training_gives_the_same_weights_to_the_last_bit() -> None:
    def train(watch: bool) -> list[Any]:
        torch.manual_seed(1)
        loader: Any = DataLoader(Rows(400), batch_size=8, shuffle=True, num_workers=2)
        model = torch.nn.Linear(3, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)  # it must not diverge: nan is unlike itself
        losses = []
        for _ in range(2):
            for batch in monitor(loader, max_input_wait=0.9) if watch else loader:
                loss = model(batch).square().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
        assert losses[-1] < losses[0]
        return [losses, [each.tolist() for each in model.parameters()], torch.rand(1).item()]

    assert train(watch=True) == train(watch=False)


def test_scalars_are_of_the_time_since_the_last_call() -> None:
    watched = monitor(DataLoader(Rows(), batch_size=8, num_workers=1))
    assert watched.scalars() == {}
    seen = []
    for number, _batch in enumerate(watched):
        time.sleep(0.002)
        if number in (3, 7):
            seen.append(watched.scalars("data/"))
    assert set(seen[0]) >= {
        "data/input_wait",
        "data/samples_per_second",
        "data/worker_0/private_mb",
        "data/descriptors",
    }
    assert all(0 <= each["data/input_wait"] <= 1 for each in seen)
    parts = ("data/startup_wait", "data/receive_wait", "data/fetch_wait")
    assert all(sum(each[part] for part in parts) == pytest.approx(each["data/input_wait"]) for each in seen)
    assert (seen[0]["data/startup_wait"] > 0.1, seen[1]["data/startup_wait"]) == (True, 0)
    assert seen[1]["data/input_wait"] < seen[0]["data/input_wait"]  # the first had the start of the worker in it
    assert watched.scalars() == {}, "nothing came since"


def test_a_limit_that_is_passed_is_warned_of_once_with_the_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ProcessReadings, "quietness", QUIET)  # others may keep this machine busy
    monkeypatch.setattr(monitoring, "_LEAST_SECONDS", 0.0)
    watched = monitor(DataLoader(Rows(50, seconds=0.012), batch_size=1), max_input_wait=0.05)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("error")
        assert len(list(watched)) == 50
    (warning,) = caught
    assert isinstance(warning.message, DataLoaderWarning)
    assert str(warning.message).startswith("max_input_wait: data wait: ")
    assert "DL207: DataLoader(..., num_workers=2)" in str(warning.message)


def test_what_keeps_its_limits_is_not_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitoring, "_LEAST_SECONDS", 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _batch in monitor(DataLoader(Rows(50), batch_size=1), max_input_wait=0.9, max_worker_growth="64MB"):
            time.sleep(0.001)


def test_mistakes_are_told_at_once() -> None:
    with pytest.raises(BadTarget, match="expected a torch"):
        monitor(3)
    with pytest.raises(BadLimit, match="training has no limit 'max_wait'; its limits are max_input_wait"):
        monitor(DataLoader(Rows()), max_wait=0.1)  # type: ignore[call-arg]  # the mistake
    with pytest.raises(BadTarget, match="no loader of its own"):
        list(Monitor())
