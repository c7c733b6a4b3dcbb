"""The descriptor check: its judgement over made-up evidence, and real loaders: leaks, predictions, clean twins."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import resource
import sys
import threading
import time
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, Sampler

from pytest_dataloader import checks
from pytest_dataloader.checks import Setting, fds, shm
from pytest_dataloader.errors import NotMeasured
from pytest_dataloader.probe.host import descriptors
from pytest_dataloader.probe.resources import usage
from pytest_dataloader.probe.resources.forecast import HANDED_OVER
from pytest_dataloader.probe.resources.leaks import Leak
from pytest_dataloader.probe.resources.referrers import Referrer
from tests.judgement import Judgement
from tests.variants import variants
from tests.zoo import evidence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_dataloader.probe.resources.evidence import Fds

pytestmark = [
    pytest.mark.xdist_group("system"),
    pytest.mark.skipif(sys.platform != "linux", reason="forked workers and /proc"),
]


SEEN = evidence.FDS
PEAK = "peak 50 of 1,000 descriptors"
FILES = Leak("a worker", "file", 8, "batch", 1.0, "/data/a.bin")
BATCHES = Leak("the main process", "shared-memory segment of torch", 40, "batch", 2.0, "/dev/shm/torch_7_1_1")
SHARED = replace(BATCHES, where="a worker")
SEGMENTS = Leak("a worker", "shared-memory segment", 8, "batch", 1.0, "/dev/shm/psm_1")
AHEAD = replace(BATCHES, per="epoch that is left early")
KEEPER = Referrer("loader.kept[*]", "data.py:31", 40)


def leaking(*leaks: Leak, **changes: Any) -> Fds:
    return replace(SEEN, leaks=leaks, **changes)


def at_most(share: float) -> dict[str, float]:
    return {"max_fd_use": share}


VERDICTS = {
    "nothing is left": Judgement(
        SEEN, "passed",
        "peak 50 of 1,000 descriptors, nothing left open\n"
        "seen in 4 epochs of the first 8 of 200 batches", in_full=True,
    ),
    "all batches were seen": Judgement(
        replace(SEEN, batches_in_epoch=8), "passed",
        "peak 50 of 1,000 descriptors, nothing left open\n"
        "seen in 4 epochs", in_full=True
    ),
    "an epoch has one more batch": Judgement(
        replace(SEEN, batches_in_epoch=9), "passed",
        "peak 50 of 1,000 descriptors, nothing left open\n"
        "seen in 4 epochs of the first 8 of 9 batches"
    ),
    "a stream": Judgement(
        replace(SEEN, batches_in_epoch=0), "passed",
        "peak 50 of 1,000 descriptors, nothing left open\n"
        "seen in 4 epochs, 32 batches together", in_full=True,
    ),
    "what is needed was not predicted": Judgement(
        replace(SEEN, unpredicted="batches cannot be weighed"), "passed",
        "peak 50 of 1,000 descriptors, nothing left open\n"
        "seen in 4 epochs of the first 8 of 200 batches\n"
        "the need of workers was not predicted: batches cannot be weighed",
        in_full=True,
    ),
    "two epochs": Judgement(
        replace(SEEN, epochs=2), "passed",
        "peak 50 of 1,000 descriptors, nothing left open\n"
        "seen in 2 epochs of the first 8 of 200 batches",
    ),
    "one epoch": Judgement(
        replace(SEEN, epochs=1), "inconclusive",
        "peak 50 of 1,000 descriptors, nothing left open\n"
        "seen in 1 epoch of the first 8 of 200 batches",
    ),
    "no epoch": Judgement(
        replace(SEEN, epochs=0, batches=3), "inconclusive",
        "peak 50 of 1,000 descriptors, nothing left open\n"
        "no short epoch ended in time: it needs more seconds",
        in_full=True,
    ),
    "no batch": Judgement(
        replace(SEEN, epochs=4, batches=0), "not_measured", "the loader gave no batch: its epoch is empty", vacuous=True
    ),
    "something else opens files": Judgement(
        replace(SEEN, unclear=("something else opens a file", "and a pipe")), "inconclusive",
        "something else opens a file\nand a pipe\npeak 50 of 1,000 descriptors", in_full=True,
    ),
    "no batch came": Judgement(
        replace(SEEN, hung=True, batches=0), "inconclusive",
        "the loader did not finish: no batch came for a minute\n"
        "peak 50 of 1,000 descriptors until then", in_full=True,
    ),
    "something else ran out": Judgement(
        replace(SEEN, exhausted="RuntimeError: No space left on device"), "inconclusive",
        "the loader did not finish: RuntimeError: No space left on device\n"
        "peak 50 of 1,000 descriptors until then", in_full=True,
    ),
    "descriptors ran out": Judgement(
        replace(SEEN, exhausted="OSError: Too many open files"), "failed",
        "out of descriptors, limit 1,000: OSError: Too many open files", in_full=True,
    ),
    "descriptors ran out on the way": Judgement(
        leaking(BATCHES, exhausted="received 0 items of ancdata", kept_by=(KEEPER,)), "failed",
        "out of descriptors, limit 1,000: received 0 items of ancdata\n"
        "kept by loader.kept[*] (data.py:31)",
        ("DL305",), in_full=True,
    ),
    "cannot get by": Judgement(
        leaking(BATCHES, shortage="2 workers need 2,000", exhausted="OSError: Too many open files"), "failed",
        "2 workers need 2,000\nlimit 1,000: the loader was not run", ("DL305",), in_full=True,
    ),
    "a leak": Judgement(
        leaking(FILES), "failed",
        "leaks 1 file per batch, in a worker (8 seen, such as /data/a.bin)\n"
        "peak 50 of 1,000 descriptors", ("",),
        in_full=True,
    ),
    "two leaks": Judgement(
        leaking(FILES, BATCHES, kept_by=(KEEPER, replace(KEEPER, name="box", line=""))), "failed",
        "leaks 1 file per batch, in a worker (8 seen, such as /data/a.bin)\n"
        "leaks 2 shared-memory segments of torch per batch, in the main process (40 seen)\n"
        "kept by loader.kept[*] (data.py:31), box\n"
        "peak 50 of 1,000 descriptors", ("DL305", ""), in_full=True,
    ),
    "a leak, and no batch any more": Judgement(
        leaking(FILES, hung=True), "failed",
        "leaks 1 file per batch, in a worker (8 seen, such as /data/a.bin)", ("",)
    ),
    "shared tensors of a worker": Judgement(
        leaking(SHARED), "failed",
        "leaks 2 shared-memory segments of torch per batch, in a worker (40 seen)", ("",),
    ),
    "segments": Judgement(
        leaking(SEGMENTS), "failed",
        "leaks 1 shared-memory segment per batch, in a worker (8 seen, such as /dev/shm/psm_1)", ("",),
    ),
    "every sort of leak": Judgement(
        leaking(FILES, BATCHES, SHARED, SEGMENTS), "failed",
        "leaks 1 file per batch, in a worker (8 seen, such as /data/a.bin)", ("DL305", "", "", "")
    ),
    "leaks of epochs that are left early": Judgement(
        leaking(AHEAD, FILES), "failed",
        "leaks 2 shared-memory segments of torch per epoch that is left early, in the main process (40 seen)\n"
        "leaks 1 file per batch, in a worker (8 seen, such as /data/a.bin)", ("",),
    ),
    "a peak at the limit": Judgement(SEEN, "passed", PEAK, (), at_most(0.05)),
    "a peak above the limit": Judgement(
        SEEN, "failed", "peak 50 of 1,000 descriptors (5.0 %), limit 4.9 %", (), at_most(0.049), in_full=True
    ),
    "a limit of nothing": Judgement(
        SEEN, "failed",
        "peak 50 of 1,000 descriptors (5.0 %), limit 0.0 %", (), at_most(0.0), in_full=True,
    ),
    "a leak above the limit": Judgement(
        leaking(FILES), "failed",
        "leaks 1 file per batch, in a worker (8 seen, such as /data/a.bin)", ("",), at_most(0.0),
    ),
    "more may be needed than there is": Judgement(
        replace(SEEN, predicted_main_peak=1001, storages_per_batch=7), "passed", PEAK, ("", "")
    ),
    "as much may be needed as there is": Judgement(replace(SEEN, predicted_main_peak=1000), "passed", PEAK),
    "workers may need more than there is": Judgement(
        replace(SEEN, predicted_worker_peak=1001, storages_per_batch=8), "passed", PEAK, ("", "", "")
    ),
    "a fork server cannot hand over the dataset's tensors": Judgement(
        replace(SEEN, handed_to_worker=HANDED_OVER + 1), "passed", PEAK, ("",)
    ),
    "a fork server hands over as much as it can": Judgement(
        replace(SEEN, handed_to_worker=HANDED_OVER), "passed", PEAK
    ),
}  # fmt: skip


@pytest.mark.parametrize("row", VERDICTS.values(), ids=VERDICTS)
def test_the_verdict_follows_from_the_evidence(row: Judgement) -> None:
    assert row.of(fds.judge) == row


SCARCE = replace(SEEN, predicted_worker_peak=1200, storages_per_batch=8)
ADVICE = {
    "batches that are kept": (
        leaking(BATCHES),
        ["keep copies (tensor.clone(), .tolist()) beyond a step, not the batch's own tensors"],
    ),
    "shared tensors of a worker": (
        leaking(SHARED),
        ["remove share_memory_() from what reads a sample: the loader shares each batch by itself"],
    ),
    "segments": (leaking(SEGMENTS), ["call close() and unlink() on each multiprocessing.shared_memory.SharedMemory"]),
    "files": (
        leaking(FILES),
        ["close each file after its sample (with open(path) as file), or open it once per worker"],
    ),
    "batches taken ahead": (leaking(AHEAD), ["stop the prefetcher when its loop ends early"]),
    "scarce": (
        SCARCE,
        [
            "up to 1200 descriptors if one worker is slow, limit 1000",
            "stack the 8 tensors of a batch in collate_fn, or return numpy arrays",
            "lower num_workers or prefetch_factor, or raise the limit (ulimit -n)",
        ],
    ),
    "too scarce to be run": (
        replace(SCARCE, shortage="2 workers need 1,200"),
        ["stack the 8 tensors of a batch", "lower num_wo"],
    ),
    "a dataset of many tensors": (replace(SEEN, handed_to_worker=300), ["torch.stack(tensors) in the dataset"]),
}


@pytest.mark.parametrize(("seen", "texts"), ADVICE.values(), ids=ADVICE)
def test_the_advice_follows_from_the_evidence(seen: Fds, texts: list[str]) -> None:
    given = [advice.text for advice in fds.judge(seen).advice]
    assert [text[: len(begins)] for text, begins in zip(given, texts, strict=True)] == texts


class Rows(Dataset[Any]):
    """400 samples of ``tensors`` tensors; ``before`` is called with the dataset and the index."""

    def __init__(self, before: Callable[[Any, int], object] | None = None, tensors: int = 1) -> None:
        self.before = before
        self.tensors = tensors
        self.kept: list[Any] = []

    def __len__(self) -> int:
        return 400

    def __getitem__(self, at: int) -> Any:
        if self.before is not None:
            self.before(self, at)
        return {f"field{number}": torch.full((4,), at) for number in range(self.tensors)}


def load(dataset: Any = None, kind: type[DataLoader[Any]] = DataLoader, **settings: Any) -> DataLoader[Any]:
    defaults = {"batch_size": 2, "num_workers": 2, "multiprocessing_context": "fork"}
    given = {**defaults, **settings}
    if not given["num_workers"]:
        given.pop("multiprocessing_context")
    return kind(Rows() if dataset is None else dataset, **given)


def measured(loader: DataLoader[Any]) -> Fds:
    """Measured through all rounds, however busy the machine is."""
    return fds.measure(loader, setting=Setting(seconds=60.0, bench=True))


def opens_a_file(self: Any, _at: int) -> None:
    self.kept.append(open(os.devnull))  # noqa: SIM115, PTH123  # the fault


def opens_a_pipe(self: Any, _at: int) -> None:
    self.kept.append(os.pipe())


def opens_and_closes(_self: Any, _at: int) -> None:
    with open(os.devnull):  # noqa: PTH123  # as users do
        pass


def opens_once(self: Any, _at: int) -> None:
    if not self.kept:
        opens_a_file(self, 0)


def caches_handles(self: Any, at: int) -> None:
    """One handle for every fourth index, kept for good: as many as there are shards."""
    while len(self.kept) < 4 * (at // 4 + 1) // 4:
        opens_a_file(self, at)


class KeepsInList(DataLoader[Any]):
    def __iter__(self) -> Any:
        kept = vars(self).setdefault("kept", [])
        for batch in super().__iter__():
            kept.append(batch)
            yield batch


class KeepsTheLast(DataLoader[Any]):
    def __iter__(self) -> Any:
        for batch in super().__iter__():
            vars(self)["last"] = batch
            yield batch


class OpensEveryEpoch(Sampler[int]):
    def __init__(self, *, closes: bool) -> None:
        self.closes = closes
        self.files: list[Any] = []

    def __len__(self) -> int:
        return 400

    def __iter__(self) -> Iterator[int]:
        self.files.append(os.open(os.devnull, os.O_RDONLY))
        if self.closes:
            os.close(self.files.pop())
        yield from range(400)


class Stream(IterableDataset[Any]):
    def __init__(self, before: Callable[[Any, int], object] | None = None) -> None:
        self.before = before
        self.kept: list[Any] = []

    def __iter__(self) -> Iterator[Any]:
        for at in range(400):
            if self.before is not None:
                self.before(self, at)
            yield torch.full((4,), at)


CLEAN: dict[str, Callable[[], DataLoader[Any]]] = {
    "no workers": lambda: load(num_workers=0),
    "workers": load,
    "persistent workers": lambda: load(persistent_workers=True),
    "shuffled": lambda: load(shuffle=True),
    "a stream": lambda: load(Stream()),
    "single samples": lambda: load(batch_size=None),
    "files that are closed": lambda: load(Rows(opens_and_closes)),
    "a file kept by each worker": lambda: load(Rows(opens_once)),
    "a file kept by persistent workers": lambda: load(Rows(opens_once), persistent_workers=True),
    "a file kept without workers": lambda: load(Rows(opens_once), num_workers=0),
    "a handle for each shard": lambda: load(Rows(caches_handles), num_workers=1),
    "the last batch kept": lambda: load(kind=KeepsTheLast),
    "a sampler that closes its file": lambda: load(sampler=OpensEveryEpoch(closes=True)),
    "shorter than a round": lambda: load(torch.utils.data.Subset(Rows(), range(6))),
}

LEAKS: dict[str, tuple[Callable[[], DataLoader[Any]], str, str, str]] = {
    "a file for each sample": (lambda: load(Rows(opens_a_file)), "a worker", "batch", "/dev/null"),
    "a file for each sample, kept workers": (
        lambda: load(Rows(opens_a_file), persistent_workers=True), "a worker", "batch", "/dev/null",
    ),
    "a file for each sample, no workers": (
        lambda: load(Rows(opens_a_file), num_workers=0), "the main process", "batch", "/dev/null",
    ),
    "a pipe for each sample": (lambda: load(Rows(opens_a_pipe)), "a worker", "batch", "pipe:"),
    "the same file again in a stream": (lambda: load(Stream(opens_a_file)), "a worker", "batch", "/dev/null"),
    "batches in a list": (lambda: load(kind=KeepsInList), "the main process", "batch", "/dev/shm/torch_"),
    "a file for each epoch": (
        lambda: load(sampler=OpensEveryEpoch(closes=False)), "the main process", "epoch", "/dev/null",
    ),
}  # fmt: skip


QUICK = (
    "no workers", "persistent workers", "files that are closed", "a file kept by persistent workers",
    "a handle for each shard", "the last batch kept",
)  # fmt: skip


@pytest.mark.parametrize("make", variants(CLEAN, QUICK))
def test_a_clean_loader_passes(make: Callable[[], DataLoader[Any]]) -> None:
    seen = measured(make())
    verdict = fds.judge(seen, max_fd_use=1.0)
    assert (verdict.outcome, seen.leaked, seen.leaks, seen.unclear) == ("passed", 0, (), ()), verdict.reason
    assert 0 < seen.peak <= seen.limit
    assert len(seen.open_after_epochs) == seen.epochs
    # A queue that torch has closed keeps its pipe until the thread that feeds it has ended: late after one epoch, on a
    # busy machine, but not later after each.
    assert not all(later > earlier for earlier, later in pairwise(seen.open_after_epochs[1:]))


def test_the_start_of_workers_is_not_part_of_the_time_for_two_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage, "_busyness", lambda: 1.0)
    seen = fds.measure(load(worker_init_fn=lambda _worker: time.sleep(2)), setting=Setting(seconds=0.45))
    assert seen.epochs == 2
    assert fds.judge(seen).outcome == "passed"


@pytest.mark.parametrize(
    ("make", "where", "per", "example"),
    variants(LEAKS, LEAKS.keys() - {"a file for each sample, kept workers", "batches in a list"}),
)
def test_a_leak_is_found_where_it_is(make: Callable[[], DataLoader[Any]], where: str, per: str, example: str) -> None:
    before = set(descriptors.links().values())
    loader = make()
    seen = measured(loader)
    verdict = fds.judge(seen)
    for number in getattr(loader.sampler, "files", ()):
        os.close(number)
    [leak] = [leak for leak in seen.leaks if leak.example.startswith(example)]
    assert (verdict.outcome, leak.where, leak.per) == ("failed", where, per), verdict.reason
    assert seen.leaked >= leak.count >= 3
    counts = seen.open_in_workers_after_epochs if where == "a worker" else seen.open_after_epochs
    assert counts[1] > counts[0]
    if where == "a worker":
        # Queues that torch has closed keep their pipes until the threads that feed them have ended.
        for thread in threading.enumerate():
            if thread.name == "QueueFeederThread":
                thread.join(10)
        assert not set(descriptors.links().values()) - before


@pytest.mark.parametrize("check", [fds, shm])
def test_an_epoch_without_batches_is_not_passed(check: Any) -> None:
    verdict = check.judge(check.measure(load(torch.utils.data.Subset(Rows(), [])), setting=Setting()))
    assert (verdict.outcome, verdict.vacuous) == ("not_measured", True)
    assert verdict.reason == "the loader gave no batch: its epoch is empty"


@pytest.mark.parametrize(
    ("leak", "told"),
    [
        (Leak("a worker", "file", 8, "batch", 8.0, "/x"), "8 files per batch, in a worker (8 seen, such as /x)"),
        (Leak("a worker", "pipe", 9, "epoch", 1.06, "pipe:[1]"), "1 pipe per epoch, in a worker (9 seen)"),
        (
            Leak("the main process", "shared-memory segment of torch", 5, "batch", 0.25, "/dev/shm/torch_1"),
            "0.25 shared-memory segments of torch per batch, in the main process (5 seen)",
        ),
    ],
)
def test_a_leak_in_words(leak: Leak, told: str) -> None:
    assert str(leak) == told


def test_who_keeps_batches_is_named_with_the_line() -> None:
    seen = measured(load(kind=KeepsInList))
    assert seen.kept_by[0].name == "loader.kept[*]['field0']"
    assert seen.kept_by[0].line.startswith("test_fds.py:")
    assert "kept by loader.kept" in fds.judge(seen).reason
    assert "DL305" in {advice.code for advice in fds.judge(seen).advice}
    [leak] = [leak for leak in seen.leaks if leak.example.startswith("/dev/shm/torch_")]
    assert (fds.judge(seen).outcome, leak.where, leak.per) == ("failed", "the main process", "batch")


@pytest.mark.parametrize(("before", "name"), [(opens_a_file, "dataset.kept[*]"), (opens_a_pipe, "")])
def test_who_keeps_files_open_in_workers_is_named_with_the_line(
    before: Callable[[Any, int], object], name: str
) -> None:
    seen = measured(load(Rows(before)))
    assert {leak.where for leak in seen.leaks} == {"a worker"}
    assert [keeper.name for keeper in seen.kept_by] == ([name] if name else [])
    assert (f"kept by {name}" in fds.judge(seen).reason) == bool(name)


@contextlib.contextmanager
def limited(descriptors_allowed: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors_allowed, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_workers_that_would_hang_for_want_of_descriptors_are_not_run() -> None:
    open_now = descriptors.count_descriptors() or 0
    with limited(open_now + 90):
        seen = measured(load(Rows(tensors=40)))
    verdict = fds.judge(seen)
    assert verdict.outcome == "failed"
    assert "would drop the batch" in verdict.reason
    assert seen.epochs == 0
    assert seen.predicted_worker_peak > seen.limit


@pytest.mark.slow
def test_running_out_for_kept_batches_names_who_keeps_them() -> None:
    open_now = descriptors.count_descriptors() or 0
    with limited(open_now + 80):
        seen = measured(load(Rows(tensors=4), kind=KeepsInList))
    verdict = fds.judge(seen)
    assert verdict.outcome == "failed"
    assert verdict.reason.startswith("out of descriptors")
    assert "loader.kept" in verdict.reason


@pytest.mark.parametrize(
    ("tensors", "workers"), variants({"8-2": (8, 2), "1-1": (1, 1), "1-2": (1, 2), "8-1": (8, 1)}, ["8-2", "1-1"])
)
def test_the_peak_stays_within_the_prediction(tensors: int, workers: int) -> None:
    seen = measured(load(Rows(tensors=tensors), num_workers=workers))
    assert seen.storages_per_batch == tensors
    # Lingering queues of an iterator that is not collected yet are two more.
    assert seen.predicted_main_peak - tensors * 2 * workers - 2 <= seen.main_peak <= seen.predicted_main_peak + 2
    # At the moment that a tensor is handed over: the connection, its duplicate, the descriptor that was just sent.
    assert seen.predicted_worker_peak - tensors - 4 <= seen.worker_peak <= seen.predicted_worker_peak + 3


def test_other_settings_are_predicted_from_the_same_batches() -> None:
    seen = measured(load(Rows(tensors=8)))
    assert seen.need(num_workers=2, prefetch_factor=2).main == seen.predicted_main_peak
    grown = seen.need(num_workers=4, prefetch_factor=4)
    assert grown.main == seen.predicted_main_peak + 8 + 8 * (3 * 4 - 2)
    assert grown.segments == 8 * (4 * 4 + 1)


def test_more_tensors_than_a_fork_server_hands_over_are_told_before_it_fails() -> None:
    dataset = Rows()
    dataset.kept = [torch.zeros(1) for _ in range(260)]
    seen = measured(load(dataset, multiprocessing_context="forkserver"))
    verdict = fds.judge(seen)
    assert verdict.outcome == "failed"
    assert "264 descriptors to start a worker" in verdict.reason
    assert multiprocessing.active_children() == []


def test_a_fork_server_hands_over_one_large_tensor() -> None:
    dataset = Rows()
    dataset.kept = list(torch.zeros(260, 1))
    assert measured(load(dataset, multiprocessing_context="forkserver", persistent_workers=True)).handed_to_worker == 5


def test_a_loader_that_raises_is_not_judged() -> None:
    def broken(_self: Any, _at: int) -> None:
        raise KeyError("sample 0 is broken")

    with pytest.raises(KeyError, match="sample 0 is broken"):
        measured(load(Rows(broken)))


def test_where_descriptors_are_not_listed_nothing_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descriptors, "why_no_descriptors", lambda: "there is no /proc here")
    with pytest.raises(NotMeasured, match="no /proc"):
        measured(load())


def test_the_loader_stays_as_it_was() -> None:
    loader = load(persistent_workers=True, shuffle=True)
    before, state = dict(vars(loader)), torch.get_rng_state()
    measured(loader)
    assert vars(loader) == before
    assert torch.equal(torch.get_rng_state(), state)
    assert next(iter(loader))["field0"].shape == (2, 4)


def test_limits_are_read_as_everywhere() -> None:
    assert checks.read_limits("fds", {"max_fd_use": 0.5}) == {"max_fd_use": 0.5}
