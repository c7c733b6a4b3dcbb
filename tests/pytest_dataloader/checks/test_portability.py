"""The portability check: its judgement over made-up evidence, and real loaders under it, in a test module."""

from __future__ import annotations

import functools
import os
import signal
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, Subset

from pytest_dataloader.checks import Setting, read_limits
from pytest_dataloader.checks.portability import judge, measure
from pytest_dataloader.errors import BadLimit
from pytest_dataloader.probe.workers.evidence import Portability
from pytest_dataloader.probe.workers.pickling import find_culprit, find_generator, weigh_luggage
from pytest_dataloader.probe.workers.startup import WorkerStart
from tests import wording

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

QUICK = Setting(seconds=1.0)

FORK = WorkerStart("fork", seconds_to_first_batch=0.1)
SPAWN = WorkerStart("spawn", seconds_to_first_batch=3.5)
LAMBDA = WorkerStart(
    "spawn",
    fault="exception",
    phase="starting",
    attribute="dataset.transform.fn",
    what="a lambda",
    error="PicklingError",
)
UNIMPORTED = WorkerStart("spawn", fault="exit", phase="starting", exit_code=1)
STATEFUL = WorkerStart("spawn", fault="exception", phase="reading", sample=3, error="KeyError: 'root'")
KILLED = WorkerStart("spawn", fault="killed", exit_code=-signal.SIGKILL)
SEEN = Portability(
    starts=(FORK, SPAWN), attribute="", what="", error="", pickled_bytes=2130, tensor_bytes=0, workers=2, pinned="",
    seconds=4.0,
)  # fmt: skip


@pytest.mark.parametrize(
    ("seen", "limits", "outcome", "words", "codes"),
    [
        (SEEN, {}, "passed", "starts under fork (0.1 s to the first batch), spawn (3.5 s to the first batch)", ""),
        (
            replace(SEEN, starts=(FORK, LAMBDA), attribute="dataset.transform.fn", what="a lambda"), {}, "failed",
            "no batch under spawn: dataset.transform.fn is a lambda, which does not pickle\nPicklingError\n"
            "starts under fork", "DL306",
        ),
        (replace(SEEN, starts=(FORK, LAMBDA)), {"start_methods": ("fork",)}, "passed", "starts under fork", ""),
        (
            replace(SEEN, starts=(FORK, replace(LAMBDA, what="an open file")), attribute="f", what="an open file"), {},
            "failed", "is an open file", "DL306 DL303",
        ),
        (
            replace(SEEN, starts=(FORK, UNIMPORTED)), {}, "failed",
            "no batch under spawn: the worker exited with code 1 while starting", "DL307",
        ),
        (replace(SEEN, starts=(FORK, STATEFUL)), {}, "failed", "KeyError: 'root' while reading sample 3", ""),
        (
            replace(SEEN, starts=(FORK, replace(KILLED, phase="reading", sample=3))), {}, "failed",
            "no batch under spawn: the worker was killed by SIGKILL while reading sample 3", "",
        ),
        (
            replace(SEEN, starts=(FORK, replace(KILLED, phase="exiting", seconds_to_first_batch=3.5))), {}, "failed",
            "a fault under spawn: the worker was killed by SIGKILL while exiting", "",
        ),
        (replace(SEEN, starts=(replace(SPAWN, available=False), FORK)), {}, "inconclusive", "no start method", ""),
        (
            replace(SEEN, starts=(replace(SPAWN, fault="hang", certain=False, error="it was still at work"),)), {},
            "inconclusive", "still at work", "",
        ),
        (replace(SEEN, starts=(), workers=0), {}, "passed", "the loader has no worker processes to start", ""),
        (
            replace(SEEN, starts=(), workers=0, attribute="collate_fn", what="a lambda"), {}, "passed",
            "with workers, collate_fn (a lambda) would not pickle", "",
        ),
    ],
)  # fmt: skip
def test_judgement(seen: Portability, limits: dict[str, Any], outcome: str, words: str, codes: str) -> None:
    verdict = judge(seen, **limits)
    assert (verdict.outcome, [each.code for each in verdict.advice if each.code]) == (outcome, codes.split())
    assert words in verdict.reason
    assert [*wording.faults(verdict)] == []


class Holder(Dataset[Any]):
    """Holds what it is given."""

    def __init__(self, **held: Any) -> None:
        vars(self).update(held)

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> Any:
        return torch.full((4,), float(index))


class Deadly(Holder):
    """Ends a worker by a signal, so many times."""

    def __init__(self, folder: Path, most: int) -> None:
        super().__init__()
        self.folder, self.most = folder, most

    def __getitem__(self, index: int) -> Any:
        known = len([*self.folder.iterdir()])
        if known < self.most and torch.utils.data.get_worker_info() is not None:
            (self.folder / str(known)).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__getitem__(index)


class Slotted:
    """Keeps its state in slots."""

    __slots__ = ("inner",)

    def __init__(self, inner: Any) -> None:
        self.inner = inner


class Selective(Holder):
    """Leaves out of its pickle what would not do there."""

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "handle"}

    def method(self, batch: Any) -> Any:
        return batch


def named(batch: Any, extra: Any = None) -> Any:
    return batch, extra


class Unpicklable:
    """Anything that cannot be pickled, by kind."""

    def __init__(self, folder: Path) -> None:
        (folder / "file").touch()
        self.file = (folder / "file").open()

    @staticmethod
    def local() -> Any:
        class Local:
            pass

        return Local()


@pytest.mark.parametrize(
    ("loader", "path", "what"),
    [
        (lambda _: DataLoader(Holder(transform=Slotted(lambda x: x))), "dataset.transform.inner", "a lambda"),
        (lambda _: DataLoader(Holder(), collate_fn=lambda batch: batch), "collate_fn", "a lambda"),
        (lambda _: DataLoader(Holder(), worker_init_fn=lambda _: None), "worker_init_fn", "a lambda"),
        (lambda u: DataLoader(Holder(files={"a": [u.file]})), "dataset.files['a'][0]", "an open file"),
        (lambda _: DataLoader(Holder(rows=iter(x for x in "ab"))), "dataset.rows", "a generator"),
        (lambda _: DataLoader(Subset(Holder(lock=threading.Lock()), [0])), "dataset.dataset.lock", "a lock"),
        (lambda u: DataLoader(Holder(each=[u.local()])), "dataset.each[0]", "an object of the local class Local"),
        (lambda u: DataLoader(Holder(kind=type(u.local()))), "dataset.kind", "the local class Local"),
        (
            lambda _: DataLoader(Holder(), collate_fn=functools.partial(named, extra=lambda: 0)),
            "collate_fn.keywords['extra']", "a lambda",
        ),
        (
            lambda _: DataLoader(Holder(), collate_fn=Selective(lock=threading.Lock()).method),
            "collate_fn.__self__.lock", "a lock",
        ),
    ],
)  # fmt: skip
def test_what_does_not_pickle_is_named_by_its_path(
    loader: Callable[[Unpicklable], DataLoader[Any]], path: str, what: str, tmp_path: Path
) -> None:
    kinds = Unpicklable(tmp_path)
    with kinds.file:
        made = loader(kinds)
        culprit = find_culprit(made)
        assert culprit is not None
        assert (culprit.path, culprit.what) == (path, what)
        assert weigh_luggage(made) is None


def test_what_pickles_is_weighed_and_nobody_is_named() -> None:
    shared = torch.zeros(1000)
    luggage = weigh_luggage(
        DataLoader(Selective(handle=threading.Lock(), words=[str(n) for n in range(1000)], table=shared))
    )
    assert luggage is not None
    assert luggage.tensor_bytes == 4000
    assert 3000 < luggage.pickled_bytes < 20_000
    assert not shared.is_shared()  # type: ignore[no-untyped-call]  # torch's own


def test_a_generator_of_torch_is_found() -> None:
    assert find_generator(DataLoader(Holder(inner=Slotted(torch.Generator())))) == "dataset.inner.inner"
    assert find_generator(DataLoader(Holder(inner=[1]))) == ""


@pytest.mark.slow
def test_a_loader_of_a_test_module_starts_by_importing_it() -> None:
    loader = DataLoader(Holder(words=["word"]), batch_size=4, num_workers=2)
    before = dict(vars(loader))
    seen = measure(loader, setting=QUICK, start_methods=("fork", "spawn"))
    assert seen.working == ("fork", "spawn"), seen
    assert judge(seen).outcome == "passed"
    assert vars(loader) == before


@pytest.mark.filterwarnings("ignore:Got pickle error")
def test_what_keeps_a_loader_from_starting_is_named() -> None:
    loader = DataLoader(Holder(transform=Slotted(lambda x: x)), num_workers=1)
    seen = measure(loader, setting=QUICK, start_methods=("fork", "spawn"))
    assert (seen.working, seen.attribute, seen.what) == (("fork",), "dataset.transform.inner", "a lambda")


def test_a_fork_server_takes_256_tensors_with_a_worker() -> None:
    rows: list[torch.Tensor] = [torch.zeros(2) for _ in range(300)]
    seen = measure(DataLoader(rows, num_workers=1), setting=QUICK, start_methods=("fork", "forkserver"))  # type: ignore[arg-type]
    verdict = judge(seen, start_methods=("fork", "forkserver"))
    assert verdict.outcome == "failed"
    assert "no batch under forkserver: ValueError: too many fds" in verdict.reason
    assert [each.text[:21] for each in verdict.advice] == ["torch.stack(samples):"]


def test_a_loader_that_asks_for_fork_is_held_to_fork() -> None:
    loader = DataLoader(Holder(fn=lambda x: x), num_workers=1, multiprocessing_context="fork")
    seen = measure(loader, setting=QUICK)
    assert (seen.pinned, seen.working, judge(seen).outcome) == ("fork", ("fork",), "passed")


def test_a_loader_without_workers_starts_none() -> None:
    seen = measure(DataLoader(Holder(fn=lambda x: x)), setting=QUICK)
    assert (seen.starts, seen.attribute, judge(seen).outcome) == ((), "dataset.fn", "passed")


@pytest.mark.parametrize(
    ("most", "fault"), [(1, "none"), (2, "killed")], ids=["a worker is killed once", "every worker is killed"]
)
def test_a_worker_that_a_signal_ended_is_started_once_more(most: int, fault: str, tmp_path: Path) -> None:
    (start,) = measure(DataLoader(Deadly(tmp_path, most), num_workers=1), setting=QUICK, start_methods=("fork",)).starts
    assert (start.fault, start.signal) == (fault, "" if fault == "none" else "SIGKILL")
    assert len([*tmp_path.iterdir()]) == most


@pytest.mark.parametrize("value", ["threads", [], ["fork", "thread"], 3, None])
def test_start_methods_are_read(value: object) -> None:
    assert read_limits("portability", {"start_methods": "spawn"}) == {"start_methods": ("spawn",)}
    assert read_limits("portability", {"start_methods": ["fork", "fork"]}) == {"start_methods": ("fork",)}
    if value is not None:
        with pytest.raises(BadLimit, match="start_methods: expected a list of start methods out of fork"):
            read_limits("portability", {"start_methods": value})


def test_what_belongs_to_one_start_method_is_to_be_kept_in_a_tensor() -> None:
    error = "RuntimeError: A SemLock created in a fork context is being shared with a process in a spawn context."
    start = replace(LAMBDA, error=error)
    (advice,) = judge(replace(SEEN, starts=(FORK, start), attribute="dataset.epoch", what="a Lock")).advice
    assert advice.text.startswith("keep dataset.epoch in a tensor, torch.zeros(1).share_memory_()")
