"""The workers check: its judgement over made-up evidence, and real workers that die, raise, hang, or are only slow."""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import os
import pickle
import random
import signal
import sys
import tempfile
import threading
import time
import types
import warnings
from dataclasses import replace
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil
import pytest
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, Sampler, Subset, get_worker_info

from pytest_dataloader.checks import Setting
from pytest_dataloader.checks.workers import judge, measure
from pytest_dataloader.errors import NotMeasured
from pytest_dataloader.probe.host import clocks, descriptors
from pytest_dataloader.probe.workers import lifecycle
from pytest_dataloader.probe.workers.evidence import InheritedHandle, Workers
from pytest_dataloader.probe.workers.lifecycle import EpochTimes
from tests import wording
from tests.variants import named, variants

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

QUICK = Setting(seconds=1.0)
PATIENT = Setting(seconds=120.0, bench=True)
"""For epochs that end by themselves, however busy the machine is."""
BAD, IN_FLIGHT = 17, (16, 17, 18, 19)

EPOCH = EpochTimes((7, 8), 2, 0.1, 0.2, 0.5, 0.1, 12, True, 1.0, 0.1)
SEEN = Workers(
    fault="none", worker=None, pid=None, signal="", exit_code=None, exception="", phase="", sample=None,
    sample_indices=(), stack=(), waited_seconds=0.0, why="", certain=True, oom_kills=0, seconds_to_first_batch=3.0,
    start_delay_seconds=0.5, worker_start_seconds=0.2, end_seconds=0.1, restarts_per_epoch=2, epochs=(EPOCH, EPOCH),
    batches=24, whole=True, zombies=(), lingering=(), forked_threads=(), workers=2, start_method="fork",
    persistent=False, seconds=3.0,
)  # fmt: skip
SPAWNED = replace(SEEN, start_method="spawn", pickled_bytes=7_000_000)
KILLED = replace(
    SEEN, fault="killed", worker=1, pid=8, signal="SIGKILL", exit_code=-9, phase="reading", sample=17,
    sample_indices=(16, 17),
)  # fmt: skip
SHARED = InheritedHandle("/rows.bin", "io.FileIO", "dataset.file", "position")
HANGS = replace(
    SEEN, fault="hang", worker=0, pid=7, phase="collating", sample_indices=(1, 2), waited_seconds=3.2,
    why="every thread of it waits", stack=('File "data.py", line 3 in collate',), forked_threads=("Timer-1",),
)  # fmt: skip


@pytest.mark.parametrize(
    ("seen", "limits", "outcome", "words", "codes"),
    [
        (SEEN, {}, "passed", "2 workers (fork): 24 batches in 2 epochs, the first after 3 s", ""),
        (
            replace(SEEN, whole=False, batches_in_epoch=25000, epochs=(EPOCH,)), {}, "passed",
            "2 workers (fork): 12 of the 25,000 batches of an epoch, the first", "",
        ),
        (replace(SEEN, whole=False), {}, "passed", "the first 12 batches of an epoch", ""),
        (
            replace(SEEN, epochs=(EPOCH, replace(EPOCH, batches=0)), batches=12, why="Own is used up by it"), {},
            "failed", "the second epoch is empty, the first had 12 batches\nOwn is used up by it", "",
        ),
        (
            replace(SEEN, whole=False, epochs=(replace(EPOCH, whole=False), replace(EPOCH, batches=0)), batches=12),
            {}, "passed", "the first 12 batches of an epoch", "",
        ),
        (
            replace(SEEN, batches=0, why="Rows has no sample"), {}, "failed", "the epoch is empty: Rows has no sample",
            "",
        ),
        (replace(SEEN, hollow=24), {}, "failed", "24 of 24 batches are None: collate_fn returns nothing", ""),
        (replace(SEEN, hollow=23), {}, "passed", "24 batches", ""),
        (replace(SEEN, workers=0), {}, "passed", "the loader has no workers", ""),
        (SEEN, {"max_startup_seconds": 3.0}, "passed", "2 workers (fork): 24 batches", ""),
        (
            replace(SPAWNED, pickling_cpu_seconds=0.5), {}, "passed",
            "\n0.5 s of CPU time to pickle 7.0 MB for each worker and epoch", "",
        ),
        (
            replace(SPAWNED, pickling_cpu_seconds=0.5, persistent=True), {}, "passed",
            "\n0.5 s of CPU time to pickle 7.0 MB for each worker", "",
        ),
        (replace(SPAWNED, pickling_cpu_seconds=0.4), {}, "passed", "2 workers restarted for epoch 2 "
                                                                   "(persistent_workers=False)", ""),
        (
            replace(SPAWNED, pickling_cpu_seconds=0.5), {"max_startup_seconds": 2.0}, "failed",
            "3 s to the first batch, limit 2 s", "DL301 DL204",
        ),
        (replace(SPAWNED, pickling_cpu_seconds=0.4), {"max_startup_seconds": 2.0}, "failed", "3 s to", "DL204"),
        (SEEN, {"max_startup_seconds": 2.6}, "inconclusive", "CPU contention took 0.5 s of it", "DL204"),
        (SEEN, {"max_startup_seconds": 2.0}, "failed", "3 s to the first batch, limit 2 s", "DL204"),
        (KILLED, {}, "failed", "worker 1 (pid 8) was killed by SIGKILL while reading sample 17\nbatch in flight:", ""),
        (replace(KILLED, oom_kills=1), {}, "failed", "meanwhile the kernel killed a process for want of memory", ""),
        (HANGS, {}, "failed", "worker 0 (pid 7) hangs while collating a batch: every thread", ""),
        (HANGS, {}, "failed", '\n    File "data.py", line 3 in collate', ""),
        (replace(HANGS, certain=False), {}, "inconclusive", "may hang", ""),
        (replace(HANGS, workers=0, worker=None, pid=None), {}, "failed", "the loader, in this process, hangs", ""),
        (
            replace(SEEN, worker_cpus=1, process_cpus=16), {}, "failed", "2 workers run on 1 of 16 CPUs only",
            "",
        ),
        (replace(SEEN, worker_cpus=2, process_cpus=16), {}, "passed", "2 workers (fork)", ""),
        (replace(SEEN, worker_cpus=1, process_cpus=1), {}, "passed", "2 workers (fork)", ""),
        (replace(SEEN, workers=1, worker_cpus=1, process_cpus=16), {}, "passed", "1 worker (fork)", ""),
        (
            replace(SEEN, left_by_epochs=("each epoch that is left early leaves 1 thread behind (ahead)",)), {},
            "failed", "each epoch that is left early leaves 1 thread behind (ahead)", "",
        ),
        (replace(SEEN, zombies=(7,)), {}, "failed", "worker process 7 is a zombie: it ended and was never joined", ""),
        (replace(SEEN, lingering=("worker 1 (pid 8)",)), {}, "failed", "worker 1 (pid 8) does not end "
                                                                       "after its epoch", ""),
        (
            replace(SEEN, fault="exit", worker=0, pid=7, exit_code=1, phase="starting", start_method="spawn"),
            {}, "failed", "worker 0 (pid 7) exited with code 1 while starting", "DL307",
        ),
        (
            replace(
                SEEN, fault="exit", worker=0, pid=7, exit_code=1, phase="starting", start_method="spawn",
                why="ModuleNotFoundError: No module named 'mpi4py'",
            ),
            {}, "failed", "exited with code 1 while starting\nModuleNotFoundError: No module named 'mpi4py'", "",
        ),
        (
            replace(SEEN, fault="exception", exception="BadZipFile: Bad CRC-32 for file '7.png'", worker=0, pid=7),
            {}, "failed", "raised BadZipFile", "DL303",
        ),
        (
            replace(SEEN, fault="exception", exception="OSError: torn", worker=0, pid=7, inherited=(SHARED,)), {},
            "failed", "raised OSError: torn", "DL303",
        ),
        (
            replace(SEEN, inherited=(SHARED,)), {}, "failed",
            "2 workers read from dataset.file (io.FileIO, /rows.bin)\n"
            "it was opened before the fork: all workers move one",
            "DL303",
        ),
        (
            replace(SEEN, inherited=(replace(SHARED, attribute="", sharing="stream"),)), {}, "failed",
            "2 workers read from /rows.bin\nit was opened before the fork: each worker gets a part of one "
            "stream", "DL303",
        ),
        (
            replace(SEEN, inherited=(replace(SHARED, kind="", attribute="", sharing="library"),)), {}, "failed",
            "read from /rows.bin\nit was opened before the fork: its library does not support that after a fork",
            "DL303",
        ),
        (
            replace(SEEN, workers=1, inherited=(replace(SHARED, kind="h5py.File", sharing="library"),)), {}, "failed",
            "1 worker reads from dataset.file (h5py.File, /rows.bin)\n"
            "it was opened before the fork: h5py does not support",
            "DL303",
        ),
        (
            replace(SEEN, fault="exception", exception="StopIteration", worker=0, pid=7, why="the epoch ended"),
            {}, "failed", "raised StopIteration\nthe epoch ended", "DL309",
        ),
    ],
)  # fmt: skip
def test_judgement(seen: Workers, limits: dict[str, Any], outcome: str, words: str, codes: str) -> None:
    verdict = judge(seen, **limits)
    assert (verdict.outcome, [each.code for each in verdict.advice if each.code]) == (outcome, codes.split())
    assert words in verdict.reason
    assert [*wording.faults(verdict)] == []


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (HANGS, "start these threads after the workers, or use forkserver: Timer-1."),
        (
            replace(HANGS, forked_threads=(), native_threads=3),
            "3 threads of libraries ran at the fork",
        ),
        (replace(HANGS, forked_threads=(), native_threads=3, stack=('File "/lib/threading.py", line 3 in wait',)), ""),
        (replace(HANGS, forked_threads=(), native_threads=3, stack=('File "/a.py", line 3 in f', "  with lock:")), ""),
        (replace(HANGS, forked_threads=(), native_threads=3, start_method="spawn"), ""),
        (replace(HANGS, forked_threads=()), ""),
    ],
    ids=["Python's threads", "a library's", "a wait of Python's", "a lock", "spawned", "none"],
)
def test_what_a_forked_worker_may_wait_for_is_told(seen: Workers, words: str) -> None:
    advice = " ".join(each.text for each in judge(seen).advice)
    assert words in advice if words else not advice


def bind_to_one_cpu(_: int) -> None:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def bind_each_to_its_own(worker: int) -> None:
    cpus = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cpus[worker % len(cpus)]})


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is only one CPU to run on")
@pytest.mark.parametrize(
    ("bind", "outcome"), [(bind_to_one_cpu, "failed"), (bind_each_to_its_own, "passed"), (None, "passed")]
)
def test_workers_that_are_bound_to_one_cpu_are_told(bind: Callable[[int], None] | None, outcome: str) -> None:
    rows: Any = list(range(32))
    loader: DataLoader[Any] = DataLoader(rows, 4, num_workers=2, worker_init_fn=bind)
    assert judge(measure(loader, setting=Setting())).outcome == outcome


class Needy(Exception):
    """Cannot be made of a text alone, as many exceptions of libraries."""

    def __init__(self, code: int, place: str) -> None:
        super().__init__(f"code {code} at {place}")


class Spoken(Exception):
    """Keeps its text in a field."""

    def __init__(self, message: str = "") -> None:
        super().__init__()
        self.message = message

    message = "spoken"


def _sleep_for_ever() -> None:
    time.sleep(1_000_000)


def _lock_twice() -> None:
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def _raise(error: BaseException) -> None:
    raise error


FAULTS: dict[str, Callable[[], object]] = {
    "SIGKILL": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "SIGSEGV": lambda: ctypes.string_at(0),
    "os._exit": lambda: os._exit(3),
    "os._exit(0)": lambda: os._exit(0),
    "sys.exit": lambda: sys.exit(4),
    "MemoryError": lambda: _raise(MemoryError("no room")),
    "ValueError": lambda: _raise(ValueError("two\nlines")),
    "KeyError": lambda: _raise(KeyError("missing\nkey")),
    "Needy": lambda: _raise(Needy(7, "x")),
    "Spoken": lambda: _raise(Spoken()),
    "StopIteration": lambda: _raise(StopIteration()),
    "KeyboardInterrupt": lambda: _raise(KeyboardInterrupt()),
    "lock": _lock_twice,
    "sleep": _sleep_for_ever,
}


class Faulty(Dataset[Any]):
    """Fails at one sample."""

    def __init__(self, fault: str = "", length: int = 64) -> None:
        self.fault = fault
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        if index == BAD and self.fault:
            FAULTS[self.fault]()
        return torch.full((8,), float(index))


def loader_of(fault: str = "", **options: Any) -> DataLoader[Any]:
    return DataLoader(Faulty(fault), batch_size=4, **{"num_workers": 1, **options})


def _is_helper(child: psutil.Process) -> bool:
    """Whether a child is one that multiprocessing keeps."""
    words = " ".join(child.cmdline())
    return "forkserver" in words or "resource_tracker" in words


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """Whatever happened to the workers: no process, segment, descriptor, thread or file of theirs remains."""

    def traces() -> set[str]:
        gc.collect()
        # A fork server and a tracker stay once they were needed, and a descriptor or two for each.
        helpers = sum(map(_is_helper, psutil.Process().children()))
        own = len(descriptors.links()) - 2 * helpers
        maps = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
        return {
            *(f"descriptor {number}" for number in range(own)),
            *(line.split(maxsplit=5)[5] for line in maps if "/torch_" in line),
            *(str(child.pid) for child in psutil.Process().children() if not _is_helper(child)),
            *(path.name for path in Path(tempfile.gettempdir()).glob(f"dl-{os.getpid()}-*")),
            *(thread.name for thread in threading.enumerate() if thread.name != "QueueFeederThread"),
        }

    before = traces()
    yield
    deadline = time.monotonic() + 8
    while (more := traces() - before) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not more, descriptors.links()


@pytest.mark.parametrize(
    ("fault", "kind", "told"),
    [
        ("SIGKILL", "killed", "was killed by SIGKILL while reading sample 17\nbatch in flight: 16, 17, 18, 19"),
        ("SIGSEGV", "killed", "was killed by SIGSEGV while reading sample 17"),
        ("os._exit", "exit", "exited with code 3 while reading sample 17"),
        ("os._exit(0)", "exit", "exited with code 0 while reading sample 17"),
        ("sys.exit", "exit", "exited with code 4 while reading sample 17"),
        ("KeyboardInterrupt", "exit", "exited with code 0 while reading sample 17"),
        ("MemoryError", "exception", "raised MemoryError: no room, while reading sample 17"),
        ("ValueError", "exception", "raised ValueError: two, while reading sample 17"),
        ("KeyError", "exception", "raised KeyError: 'missing\\nkey', while reading sample 17"),
        ("Needy", "exception", "Needy: code 7 at x, while reading sample 17"),
        ("Spoken", "exception", "Spoken, while reading sample 17"),
        ("StopIteration", "exception", "the epoch ended after 4 batches, without an error"),
        ("lock", "hang", "deadlock, each of its threads waits for a lock"),
        ("sleep", "hang", "it sleeps for another 999,99"),
    ],
)
def test_a_worker_that_fails_is_named_with_its_sample(fault: str, kind: str, told: str) -> None:
    seen = measure(loader_of(fault, num_workers=2, persistent_workers=len(fault) % 2 == 0), setting=QUICK)
    assert (seen.fault, seen.worker, seen.sample, seen.sample_indices) == (kind, 0, BAD, IN_FLIGHT)
    if fault in ("os._exit", "os._exit(0)", "sys.exit"):
        assert any(f'"{__file__}"' in line for line in seen.stack[-2:])
    verdict = judge(seen)
    assert verdict.outcome == "failed"
    assert verdict.reason.startswith(f"worker 0 (pid {seen.pid}) ")
    assert told in verdict.reason
    if kind == "hang":
        assert any(f"{__name__.rpartition('.')[2]}.py" in frame for frame in seen.stack), seen.stack


def forked(task: Callable[[], Workers]) -> Workers:
    """Done in a process that has no thread of a test runner, which might wake one that waits."""
    context = multiprocessing.get_context("fork")
    answers, answer = context.Pipe(duplex=False)
    process = context.Process(target=lambda: answer.send(task()))
    process.start()
    answer.close()
    with answers:
        seen: Workers = answers.recv()
    process.join()
    return seen


@pytest.mark.parametrize(
    "fault", named(["ValueError", "StopIteration", "lock", "sleep"], ["ValueError", "StopIteration", "lock"])
)
def test_without_workers_this_process_is_named(fault: str) -> None:
    seen = forked(lambda: measure(loader_of(fault, num_workers=0), setting=QUICK))
    assert (seen.worker, seen.sample, seen.sample_indices, seen.workers) == (None, BAD, IN_FLIGHT, 0)
    verdict = judge(seen)
    assert verdict.outcome == "failed"
    assert verdict.reason.startswith("the loader, in this process, ")


@pytest.mark.parametrize(("method", "fault", "kind"), [("forkserver", "lock", "hang"), ("spawn", "SIGKILL", "killed")])
def test_workers_that_import_everything_anew_are_named_as_well(method: str, fault: str, kind: str) -> None:
    seen = measure(loader_of(fault, multiprocessing_context=method), setting=QUICK)
    assert (seen.fault, seen.worker, seen.sample, seen.sample_indices) == (kind, 0, BAD, IN_FLIGHT)
    assert seen.start_method == method
    if kind == "hang":
        assert seen.why == "deadlock, each of its threads waits for a lock"


def broken_init(_worker: int) -> None:
    raise OSError("no such drive")


def broken_collate(batch: list[Any]) -> Any:
    if any(sample[0] == BAD for sample in batch):
        raise TypeError("cannot be collated")
    return batch


def hung_collate(batch: list[Any]) -> Any:
    if any(sample[0] == BAD for sample in batch):
        threading.Event().wait()
    return batch


def unpicklable(batch: list[Any]) -> Any:
    return [lambda: 0] if any(sample[0] == BAD for sample in batch) else batch


def refused(thing: Any) -> str:
    """How this Python says that a thing does not pickle, up to its name; each version has words of its own."""
    try:
        ForkingPickler.dumps(thing)
    except (AttributeError, pickle.PicklingError) as error:
        before, name, _ = f"{type(error).__name__}: {error}".partition("local object")
        return before + name
    raise AssertionError("it pickles")


REFUSAL = refused(unpicklable([(BAD,)])[0])


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize(
    ("options", "kind", "told"),
    [
        ({"worker_init_fn": broken_init}, "exception", "raised OSError: no such drive in worker_init_fn"),
        ({"collate_fn": broken_collate}, "exception", "raised TypeError: cannot be collated, while collating a batch"),
        ({"collate_fn": hung_collate}, "hang", "batch in flight: 16, 17, 18, 19"),
        ({"collate_fn": unpicklable}, "hang", f"could not send the batch: {REFUSAL}"),
        ({"collate_fn": hung_collate, "timeout": 1}, "hang", "the loader's own timeout of 1 s was over"),
    ],
)
def test_what_a_worker_does_besides_reading_is_told_apart(options: dict[str, Any], kind: str, told: str) -> None:
    seen = measure(loader_of(**options), setting=QUICK)
    assert seen.fault == kind
    assert told in judge(seen).reason
    assert seen.sample_indices == (() if "worker_init_fn" in options else IN_FLIGHT)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_batch_that_does_not_pickle_comes_with_what_to_return_instead() -> None:
    seen = measure(loader_of(collate_fn=unpicklable), setting=QUICK)
    assert seen.phase == "sending"
    assert judge(seen).advice[0].text.startswith("return tensors, arrays or plain values")


class Broken(Sampler[int]):
    """Ends as nobody expects."""

    def __iter__(self) -> Iterator[int]:
        yield from range(9)
        raise LookupError("no tenth sample")


def test_a_sampler_that_raises_is_no_fault_of_a_worker() -> None:
    seen = measure(loader_of(sampler=Broken()), setting=QUICK)
    assert (seen.fault, seen.worker, seen.phase) == ("exception", None, "sampling")
    assert "this process raised LookupError: no tenth sample in the sampler" in judge(seen).reason


class Waits(Sampler[int]):
    """Gives the bad sample, and waits until its worker has died of it, while torch still makes its iterator."""

    def __iter__(self) -> Iterator[int]:
        yield from range(BAD, BAD + 4)
        time.sleep(30)
        yield from range(4)


def test_a_worker_that_dies_before_the_iterator_is_made_is_named() -> None:
    seen = measure(loader_of("SIGKILL", num_workers=2, sampler=Waits()), setting=QUICK)
    assert (seen.fault, seen.worker, seen.signal, seen.sample) == ("killed", 0, "SIGKILL", BAD)
    assert seen.sample_indices == (17, 18, 19, 20)


def test_what_does_not_pickle_is_a_fault_of_the_start() -> None:
    loader = loader_of(multiprocessing_context="spawn", collate_fn=lambda batch: batch)
    with pytest.warns(UserWarning, match="pickle"):
        seen = measure(loader, setting=QUICK)
    verdict = judge(seen)
    assert (seen.fault, seen.phase) == ("exception", "starting")
    assert [each.code for each in verdict.advice] == ["DL306"]


SLOW_SECONDS = 4.5
"""Longer than after which a deadlock is told."""


class Slow(Faulty):
    """Healthy, in no hurry: sleeps, waits for a lock that a thread of its own will release, or for a program."""

    def __init__(self, kind: str) -> None:
        super().__init__(length=8)
        self.kind = kind

    def __getitem__(self, index: int) -> Any:
        if index == 0:
            lock = threading.Lock()
            lock.acquire()
            match self.kind:
                case "sleep":
                    time.sleep(SLOW_SECONDS)
                case "lock":
                    threading.Timer(SLOW_SECONDS, lock.release).start()
                    lock.acquire()
                case "timed lock":
                    lock.acquire(timeout=SLOW_SECONDS)
                case "program":
                    import subprocess

                    subprocess.run(["sleep", str(SLOW_SECONDS)], check=True)
                case "pipe":
                    read, write = os.pipe()
                    threading.Timer(SLOW_SECONDS, os.write, (write, b"x")).start()
                    os.read(read, 1)
        return super().__getitem__(index)


@pytest.mark.parametrize("kind", named(["sleep", "lock", "timed lock", "program", "pipe"], ["lock"]))
def test_a_slow_worker_is_not_called_hung(kind: str) -> None:
    seen = measure(DataLoader(Slow(kind), batch_size=4, num_workers=2), setting=QUICK)
    assert judge(seen).outcome == "passed", judge(seen).reason
    assert seen.batches >= 2


def test_a_sampler_that_can_be_iterated_only_once_is_not_used_up() -> None:
    loader = loader_of()
    vars(loader)["sampler"] = vars(loader)["batch_sampler"] = iter([[0]])
    with pytest.raises(NotMeasured, match="iterated only once"):
        measure(loader, setting=QUICK)


def slow_init(_worker: int) -> None:
    time.sleep(4)


class Numbers(IterableDataset[Any]):
    """One worker has much more to do than the other."""

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        for number in range(12 if info is None or info.id == 0 else 1):
            yield torch.tensor(number)


class Generated(DataLoader[Any]):
    """Starts its workers only when the first batch is asked for."""

    def __iter__(self) -> Any:
        yield from super().__iter__()


class Batched(Faulty):
    """Reads whole batches, and looks closely at what it is asked for."""

    def __getitems__(self, indices: list[int]) -> Any:
        assert type(indices) is list
        return [self[index] for index in indices]


HEALTHY: dict[str, Callable[[], DataLoader[Any]]] = {
    "plain": lambda: loader_of(num_workers=2),
    "persistent": lambda: loader_of(num_workers=2, persistent_workers=True),
    "slow worker_init_fn": lambda: loader_of(num_workers=2, worker_init_fn=slow_init),
    "iterable": lambda: DataLoader(Numbers(), batch_size=4, num_workers=2),
    "iterable, persistent": lambda: DataLoader(Numbers(), batch_size=4, num_workers=2, persistent_workers=True),
    "no batches": lambda: DataLoader(Faulty(), batch_size=None, num_workers=2),
    "out of order": lambda: loader_of(num_workers=2, in_order=False),
    "generator": lambda: Generated(Faulty(), batch_size=4, num_workers=2),
    "reads batches": lambda: DataLoader(Batched(), batch_size=4, num_workers=2),
    "subset": lambda: DataLoader(Subset(Faulty(), range(7)), batch_size=4, num_workers=2),
    "more workers than batches": lambda: DataLoader(Faulty(length=3), batch_size=4, num_workers=2),
    "no workers": lambda: loader_of(num_workers=0),
}


@pytest.mark.parametrize("kind", named(HEALTHY, HEALTHY.keys() - {"slow worker_init_fn"}))
def test_healthy_loaders_pass(kind: str) -> None:
    seen = measure(HEALTHY[kind](), setting=PATIENT)
    assert judge(seen).outcome == "passed", judge(seen).reason
    assert seen.whole
    if seen.workers and seen.batches:
        assert seen.restarts_per_epoch == (0 if seen.persistent else 2)


class Nothing(IterableDataset[Any]):
    def __iter__(self) -> Iterator[Any]:
        return iter(())


EMPTY: dict[str, tuple[Callable[[], DataLoader[Any]], str]] = {
    "no samples": (lambda: DataLoader(Faulty(length=0), batch_size=4, num_workers=2), "Faulty has no sample"),
    "no samples, no workers": (lambda: DataLoader(Faulty(length=0), batch_size=4), "Faulty has no sample"),
    "all dropped": (
        lambda: DataLoader(Faulty(length=3), batch_size=4, drop_last=True, num_workers=1),
        "drop_last leaves out all 3 samples, fewer than batch_size=4",
    ),
    "no index": (lambda: DataLoader(Faulty(), batch_size=4, sampler=[]), "list gives no index"),
    "a stream": (lambda: DataLoader(Nothing(), batch_size=4, num_workers=2), "Nothing gives no sample"),
}


@pytest.mark.parametrize("kind", EMPTY)
def test_an_empty_epoch_is_a_fault_with_its_reason(kind: str) -> None:
    make, why = EMPTY[kind]
    seen = measure(make(), setting=PATIENT)
    assert (seen.empty, judge(seen).outcome, judge(seen).reason) == (True, "failed", f"the epoch is empty: {why}")


class Once(IterableDataset[Any]):
    """Is its own iterator, which nothing resets but ``set_epoch``."""

    def __init__(self) -> None:
        self.at = 0

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> int:
        if self.at >= 40:
            raise StopIteration
        self.at += 1
        return self.at


class Reset(Once):
    def set_epoch(self, _epoch: int) -> None:
        self.at = 0


class Drawn(Sampler[int]):
    def __init__(self) -> None:
        self.indices = iter(list(range(64)))

    def __iter__(self) -> Iterator[int]:
        return self.indices


USED_UP: dict[str, tuple[Callable[[], DataLoader[Any]], str]] = {
    "in this process": (lambda: DataLoader(Once(), batch_size=4), "10 batches\nOnce"),
    "in a worker that persists": (
        lambda: DataLoader(Once(), batch_size=4, num_workers=1, persistent_workers=True),
        "10 batches\nOnce",
    ),
    "a sampler": (lambda: DataLoader(Faulty(), batch_size=4, sampler=Drawn()), "16 batches\nDrawn"),
}


@pytest.mark.parametrize("kind", USED_UP)
def test_a_loader_that_its_first_epoch_uses_up_is_a_fault(kind: str) -> None:
    make, what = USED_UP[kind]
    verdict = judge(measure(make(), setting=PATIENT))
    assert verdict.outcome == "failed"
    assert verdict.reason == f"the second epoch is empty, the first had {what} is used up by it"
    assert "return a new iterator from __iter__" in verdict.advice[0].text


@pytest.mark.parametrize("settings", [{"num_workers": 1}, {}], ids=["workers of one epoch", "told the epoch"])
def test_what_begins_anew_with_each_epoch_is_healthy(settings: dict[str, Any]) -> None:
    dataset = Once() if settings else Reset()
    seen = measure(DataLoader(dataset, batch_size=4, **settings), setting=PATIENT)
    assert [epoch.batches for epoch in seen.epochs] == [10, 10]
    assert (judge(seen).outcome, dataset.at) == ("passed", 0)


@pytest.mark.parametrize(
    ("batch", "said"),
    [
        (None, "32 of 32 batches are None: collate_fn returns nothing"),
        ("hi", "32 of 32 batches are 'hi': collate_fn returns the same"),
    ],
)
def test_batches_that_say_nothing_are_nothing(batch: Any, said: str) -> None:
    seen = measure(loader_of(num_workers=2, collate_fn=lambda _samples: batch), setting=PATIENT)
    assert seen.batches == seen.hollow > 0
    verdict = judge(seen)
    assert (verdict.outcome, said in verdict.reason) == ("failed", True), verdict.reason


@pytest.mark.parametrize("settings", [{"collate_fn": sum}, {"batch_size": None}], ids=["sums", "single samples"])
def test_numbers_may_be_batches(settings: dict[str, Any]) -> None:
    seen = measure(DataLoader(range(64), **{"batch_size": 8, **settings}), setting=PATIENT)  # type: ignore[arg-type]
    assert judge(seen).outcome == "passed"


@pytest.mark.parametrize("method", variants({"forkserver": "forkserver", "spawn": "spawn"}, ["spawn"]))
def test_a_module_that_a_worker_does_not_find_is_named(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("here_alone")
    exec("class Rows(list): pass", vars(module))
    monkeypatch.setitem(sys.modules, "here_alone", module)
    dataset = module.Rows(range(8))
    seen = measure(DataLoader(dataset, num_workers=1, multiprocessing_context=method), setting=QUICK)
    assert (seen.fault, seen.phase) == ("exit", "starting")
    assert judge(seen).reason.endswith("while starting\nModuleNotFoundError: No module named 'here_alone'")
    assert "on sys.path only" in judge(seen).advice[0].text


def test_a_warning_that_is_an_error_is_called_so_and_leaves_no_second_one() -> None:
    unraisable: list[Any] = []
    hook, sys.unraisablehook = sys.unraisablehook, unraisable.append
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            seen = measure(loader_of(num_workers=2, worker_init_fn=None, pin_memory=True), setting=QUICK)
        gc.collect()
    finally:
        sys.unraisablehook = hook
    if seen.fault == "none":
        pytest.skip("there is an accelerator here, which pinned memory is for")
    assert seen.exception.startswith("UserWarning: 'pin_memory' argument is set as true")
    assert "warnings are errors in this run" in judge(seen).advice[0].text
    assert unraisable == []


def test_a_loader_reads_the_same_before_and_after() -> None:
    loader = loader_of(num_workers=2, shuffle=True, worker_init_fn=slow_init if os.name == "never" else None)
    kept = dict(vars(loader))
    states = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # type: ignore[index]  # the legacy tuple
    measure(loader, setting=QUICK)
    assert vars(loader) == kept
    assert states == (random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist())  # type: ignore[index]  # the same


class Lingering(Faulty):
    """Starts a thread that the worker waits for at its end."""

    def __init__(self, seconds: int = 60, length: int = 64) -> None:
        super().__init__(length=length)
        self.seconds = seconds

    def __getitem__(self, index: int) -> Any:
        if index == 0:
            threading.Thread(target=time.sleep, args=(self.seconds,)).start()
        return super().__getitem__(index)


def test_a_worker_that_does_not_end_is_named() -> None:
    seen = measure(DataLoader(Lingering(length=4), batch_size=4, num_workers=1), setting=QUICK)
    assert seen.fault == "none"
    assert judge(seen).outcome == "failed"
    assert "worker 0 (pid " in judge(seen).reason
    assert "does not end after its epoch" in judge(seen).reason


@pytest.mark.parametrize(("lost", "sleeps"), variants({"in the end it goes": (0.8, 8), "to the last": (1.0, 60)}, ()))
def test_a_worker_that_others_keep_from_a_cpu_at_its_end_is_not_accused(
    lost: float, sleeps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clocks, "delay_of_ns", lambda _pid: int(lost * time.monotonic_ns()))
    monkeypatch.setattr(lifecycle, "_PATIENCE", 2)
    seen = measure(DataLoader(Lingering(sleeps, length=4), batch_size=4, num_workers=1), setting=QUICK)
    assert (seen.fault, seen.lingering) == ("none", ())


@pytest.mark.slow
def test_a_hang_is_found_beside_somebody_elses_timer() -> None:
    def beside_a_timer() -> Workers:
        fired = []
        signal.signal(signal.SIGALRM, lambda *_: fired.append(True))
        signal.setitimer(signal.ITIMER_REAL, 600)
        seen = measure(loader_of("lock", num_workers=0), setting=QUICK)
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 500
        assert not fired
        return seen

    assert forked(beside_a_timer).fault == "hang"


@pytest.mark.slow
def test_a_hang_is_found_outside_the_main_thread() -> None:
    seen: list[Workers] = []
    thread = threading.Thread(target=lambda: seen.append(measure(loader_of("lock"), setting=QUICK)))
    thread.start()
    thread.join(60)
    assert (seen[0].fault, seen[0].sample) == ("hang", BAD)


def test_ctrl_c_ends_the_check_and_leaves_nothing() -> None:
    timer = threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        measure(loader_of("sleep"), setting=QUICK)
    timer.join()


class LateFault(Dataset[int]):
    """2,000 rows of 0.5 ms, the last of which is broken."""

    def __len__(self) -> int:
        return 2000

    def __getitem__(self, index: int) -> int:
        time.sleep(0.0005)
        if index == len(self) - 1:
            raise ValueError("row is torn")
        return index


def test_a_whole_epoch_reaches_what_lies_beyond_the_budget() -> None:
    loader = DataLoader(LateFault(), batch_size=20, num_workers=2)
    short = Setting(seconds=0.01, bench=True)
    assert judge(measure(loader, setting=short)).outcome == "passed"
    seen = measure(loader, setting=replace(short, whole_epoch=True))
    assert (judge(seen).outcome, seen.sample) == ("failed", 1999)
