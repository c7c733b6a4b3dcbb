"""A check is not measured where torch is not what it rests on, whatever the loader does."""

from __future__ import annotations

import inspect
import multiprocessing
from typing import TYPE_CHECKING, Any

import pytest
from torch.utils.data import DataLoader

import pytest_dataloader
from pytest_dataloader.checks import compatibility
from pytest_dataloader.probe.internals import requirements, trials
from pytest_dataloader.probe.internals.requirements import Exists
from pytest_dataloader.probe.memory import self_test

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Texts:
    def __init__(self) -> None:
        self.texts = [f"{row:060}" for row in range(40_000)]

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, index: int) -> int:
        return len(self.texts[index])


def leaking() -> DataLoader[Any]:
    return DataLoader(Texts(), batch_size=32, num_workers=2)  # type: ignore[arg-type]  # it can be indexed


@pytest.fixture
def release(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Have torch be another release."""
    caches: list[Any] = [trials.trial_failure, self_test.self_test_failure]

    def forget() -> None:
        for cache in caches:
            cache.cache_clear()

    forget()
    yield lambda version: monkeypatch.setattr(requirements, "torch_version", lambda: version)
    monkeypatch.undo()
    forget()


def test_checks_that_rest_on_a_missing_name_are_not_measured_and_name_it(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = Exists("torch.utils.data._utils.worker._run_worker")
    monkeypatch.setitem(requirements.ROWS, "torch_worker_loop", (gone,))
    report = pytest_dataloader.diagnose(leaking(), checks=["memory", "fds", "order"], quick=True)
    verdicts = report.verdicts
    assert {name: verdict.outcome for name, verdict in verdicts.items()} == {
        "memory": "not_measured",
        "fds": "not_measured",
        "order": "passed",
    }
    version = requirements.torch_version()
    assert verdicts["memory"].reason == (
        f"unsupported torch {version}: torch.utils.data._utils.worker._run_worker is missing; this release of "
        "pytest-dataloader knows torch 2.4 to 2.15"
    )
    assert verdicts["memory"].vacuous
    assert str(report).splitlines()[0] == f"unsupported torch {version}: not measured: fds, memory"


def test_a_release_that_nobody_has_tried_is_tried_out(release: Callable[[str], None]) -> None:
    release("2.16.0")
    assert {check: compatibility.incompatibility(check) for check in compatibility.RESTS_ON} == dict.fromkeys(
        compatibility.RESTS_ON, ""
    )
    report = pytest_dataloader.diagnose(leaking(), checks=["memory"], quick=True)
    assert report.verdicts["memory"].outcome == "failed"
    assert report["memory"].attribute == "dataset.texts"


def test_a_meaning_that_changed_is_seen_in_a_release_that_nobody_has_tried(
    release: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    from torch.utils.data._utils import worker

    real: Any = worker._worker_loop

    def takes_a_factory(*arguments: Any, **options: Any) -> None:
        if multiprocessing.parent_process() is None:  # not one of torch's own workers
            options["dataset"] = options["dataset"]()
        real(*arguments, **options)

    takes_a_factory.__signature__ = inspect.signature(real)  # type: ignore[attr-defined]
    monkeypatch.setattr(worker, "_worker_loop", takes_a_factory)
    release("2.16.0")
    report = pytest_dataloader.diagnose(leaking(), checks=["memory", "order"], quick=True)
    assert report.verdicts["memory"].outcome == "not_measured"
    assert report.verdicts["memory"].reason.startswith(
        "unsupported torch 2.16.0: its worker gave nothing: it raised TypeError: 'Tensor' object is not callable"
    )
    assert report.verdicts["order"].outcome == "passed"


def test_the_memory_test_says_where_its_reader_died(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch.utils.data._utils import worker

    def ends(dataset: Any, **_options: Any) -> None:
        dataset.pop()

    ends.__signature__ = inspect.signature(worker._worker_loop)  # type: ignore[attr-defined]
    monkeypatch.setattr(worker, "_worker_loop", ends)
    report = pytest_dataloader.diagnose(leaking(), checks=["memory"], seconds=5.0)
    memory = report.verdicts["memory"]
    assert (memory.outcome, memory.vacuous) == ("not_measured", True)
    assert "raised AttributeError: 'Texts' object has no attribute 'pop'" in memory.reason


def test_each_trial_passes_under_the_torch_of_the_development() -> None:
    assert [trials.trial_failure(part) for part in requirements.ROWS] == [""] * len(requirements.ROWS)
