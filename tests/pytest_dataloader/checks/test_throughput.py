"""The throughput check: its judgement over made-up evidence, and real loaders under it."""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset

from pytest_dataloader import checks
from pytest_dataloader.checks import Setting
from pytest_dataloader.checks.throughput import judge, measure
from pytest_dataloader.errors import BadTarget, NotMeasured
from pytest_dataloader.probe.host import interference
from pytest_dataloader.probe.host.interference import QUIET
from pytest_dataloader.probe.timing.evidence import Throughput
from pytest_dataloader.probe.timing.throughput import step_of
from pytest_dataloader.record import figures
from tests import wording
from tests.variants import variants

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.xdist_group("time")

QUICK = Setting(seconds=0.6, bench=True)

SEEN = Throughput(
    samples_per_second=1000, interval=(980, 1020), best_samples_per_second=1030, wall_samples_per_second=990,
    batches_per_second=100, cpu_ms_per_sample=2.0, cpu_ms_interval=(1.9, 2.1), best_cpu_ms_per_sample=1.9,
    seconds_to_first_batch=0.2, measured_seconds=5, windows=12, batches=600, samples=6000, epochs=1, cpus=2,
)  # fmt: skip
WITH_WORKERS = replace(SEEN, workers=2)
BUSY = replace(SEEN, quietness=replace(QUIET, lost_share=0.4))
CROWDED = replace(SEEN, quietness=replace(QUIET, lost_share=0.4, others_share=0.97))
NOTHING: dict[str, Any] = {
    "samples_per_second": 0.0, "interval": (0.0, 0.0), "best_samples_per_second": 0.0, "batches_per_second": 0.0,
}  # fmt: skip
SHORT = replace(
    WITH_WORKERS, steady=False, starting_share=0.8, epochs=60, samples_per_second=1000, interval=(980, 1020),
    seconds_to_restart=0.08,
)  # fmt: skip


@pytest.mark.parametrize(
    ("seen", "limits", "missed"),
    [
        (SEEN, {"min_samples_per_second": 1250}, ("min_samples_per_second",)),
        (SEEN, {"min_samples_per_second": 900, "max_cpu_ms_per_sample": 1.5}, ("max_cpu_ms_per_sample",)),
        (
            SEEN,
            {"step_ms": 5.0, "min_samples_per_second": 1250, "max_cpu_ms_per_sample": 1.5},
            ("min_samples_per_second", "max_cpu_ms_per_sample"),
        ),
        (replace(SEEN, hung_seconds=60), {"min_samples_per_second": 900}, ()),
    ],
)
def test_the_limits_that_were_missed_are_those_that_fail_it_alone(
    seen: Throughput, limits: dict[str, float], missed: tuple[str, ...]
) -> None:
    assert judge(seen, **limits).outcome == "failed"
    assert checks.missed_limits("throughput", seen, limits) == missed


@pytest.mark.parametrize(
    ("seen", "limits", "outcome", "words"),
    [
        (SEEN, {}, "passed", "1,000 samples/s (95 % CI 980 to 1,020)"),
        (replace(BUSY, interval=(170, 1600)), {}, "passed", "1,000 samples/s (95 % CI 170 to 1,600)"),
        (BUSY, {}, "passed", "\nthe machine was busy: CPU contention: 40 % of the time"),
        (replace(SEEN, interval=(0, 9)), {}, "inconclusive", "\ntoo few batches"),
        (replace(BUSY, interval=(160, 1600)), {}, "inconclusive", "too noisy: 1,000 samples/s"),
        (replace(BUSY, **NOTHING), {}, "inconclusive", "no batch in 5 s of measuring\nthe machine was busy"),
        (replace(SEEN, **NOTHING), {}, "inconclusive", "no batch in 5 s of measuring\nthey came before"),
        (replace(SEEN, **NOTHING, measured_seconds=0.0), {}, "inconclusive", "the loader did not warm up in time"),
        (replace(SEEN, **NOTHING), {"min_samples_per_second": 10}, "inconclusive", "too close to call"),
        (SEEN, {"min_samples_per_second": 900}, "passed", "limit: at least 900"),
        (SEEN, {"min_samples_per_second": 1000}, "passed", "1,000 samples/s"),
        (SEEN, {"min_samples_per_second": 1050}, "inconclusive", "it fails once it certainly misses by 10 %"),
        (SEEN, {"min_samples_per_second": 1250}, "failed", "limit: at least 1,250\nthe machine was quiet"),
        (BUSY, {"min_samples_per_second": 900}, "passed", "limit: at least 900\nthe machine was busy: CPU"),
        (BUSY, {"min_samples_per_second": 1250}, "inconclusive", "CPU contention: 40 % of the time"),
        (WITH_WORKERS, {"min_samples_per_second": 1150}, "inconclusive", "too close to call"),
        (WITH_WORKERS, {"min_samples_per_second": 1250}, "failed", "at least 1,250"),
        (SEEN, {"min_batches_per_second": 90}, "passed", "100 batches/s (95 % CI 98 to 102), limit: at least 90"),
        (SEEN, {"min_batches_per_second": 130}, "failed", "100 batches/s"),
        (SEEN, {"max_cpu_ms_per_sample": 2}, "passed", "2 ms of CPU per sample (95 % CI 1.9 to 2.1), limit: at most 2"),
        (SEEN, {"max_cpu_ms_per_sample": 1.85}, "inconclusive", "too close to call"),
        (SEEN, {"max_cpu_ms_per_sample": 1.5}, "failed", "limit: at most 1.5"),
        (BUSY, {"max_cpu_ms_per_sample": 1.5}, "inconclusive", "too busy"),
        (BUSY, {"min_samples_per_second": 20_000}, "failed", "10 times better would still miss"),
        (replace(BUSY, interval=(980, 9000)), {"min_samples_per_second": 20_000}, "failed", "(95 % CI 980 to 9,000)"),
        (CROWDED, {"min_samples_per_second": 20_000}, "inconclusive", "used 97 % of the CPU time"),
        (CROWDED, {"min_samples_per_second": 40_000}, "failed", "33.3 times better would still miss"),
        (SEEN, {"min_samples_per_second": 900, "max_cpu_ms_per_sample": 1.5}, "failed", "ms of CPU"),
        (SHORT, {"min_samples_per_second": 900}, "passed", "1,000 samples/s"),
        (SHORT, {"min_samples_per_second": 4000}, "inconclusive", "epochs of 10 batches end before"),
        (SHORT, {"min_samples_per_second": 7000}, "failed", "at least 7,000"),
        (replace(SHORT, starting_share=1.0), {"min_samples_per_second": 10**9}, "inconclusive", "took 100 %"),
        (Throughput(), {}, "not_measured", "its epoch is empty"),
        (Throughput(), {"min_samples_per_second": 1}, "failed", "its epoch is empty"),
        (Throughput(hung_seconds=60), {}, "failed", "hangs from the start: no batch for 60 s"),
        (Throughput(hung_seconds=60, at_work=True), {}, "inconclusive", "no batch for 60 s from the start\n"
                                                                        "its processes were at work: slow, or hung"),
        (replace(SEEN, hung_seconds=60), {"min_samples_per_second": 1}, "failed", "hangs after 600 batches"),
        (Throughput(batches=3, epochs=1), {"min_samples_per_second": 1}, "inconclusive", "0 samples/s"),
    ],
)  # fmt: skip
def test_the_judgement_is_one_sided_and_never_fails_on_a_busy_machine(
    seen: Throughput, limits: dict[str, float], outcome: str, words: str
) -> None:
    verdict = judge(seen, **limits)
    assert (verdict.outcome, words in verdict.reason) == (outcome, True), verdict.reason
    assert [*wording.faults(verdict)] == []


@pytest.mark.parametrize(
    ("seen", "codes"),
    [
        (replace(SEEN, batches_per_second=100), ["DL207"]),
        (replace(SEEN, batches_per_second=1000), []),
        (WITH_WORKERS, []),
        (SHORT, ["DL204"]),
        (replace(SHORT, persistent_workers=True), []),
        (replace(WITH_WORKERS, workers=8, quietness=replace(QUIET, own_share=0.97)), [""]),
    ],
)
def test_advice_follows_the_evidence(seen: Throughput, codes: list[str]) -> None:
    verdict = judge(seen, min_samples_per_second=10**9)
    assert [advice.code for advice in verdict.advice] == codes


def test_the_limits_are_those_that_users_write() -> None:
    assert set(checks.limits_of("throughput")) == {
        "min_samples_per_second",
        "min_batches_per_second",
        "max_cpu_ms_per_sample",
        "step_ms",
    }


@pytest.mark.parametrize(
    ("seen", "stall"),
    [
        (replace(SEEN, step_ms=40, receive_ms_per_batch=10), 0.2),  # without workers it waits for all of each batch
        (replace(WITH_WORKERS, step_ms=8, receive_ms_per_batch=1), 0.2),
        (replace(WITH_WORKERS, step_ms=99, receive_ms_per_batch=1), 0.01),
    ],
)
def test_a_step_waits_for_what_the_rates_leave(seen: Throughput, stall: float) -> None:
    assert seen.stall == pytest.approx(stall)
    assert f"data wait: {100 * stall:.0f} % of a" in judge(seen, step_ms=seen.step_ms).reason


STEPPED = replace(SEEN, step_ms=8.0)


@pytest.mark.parametrize("seen", [STEPPED, SEEN, replace(STEPPED, batches_per_second=0.0)])
@pytest.mark.parametrize("step_ms", [None, 8.0])
def test_waiting_is_told_of_a_step_that_was_asked_for_and_seen(seen: Throughput, step_ms: float | None) -> None:
    told = "of a 8 ms step" in judge(seen, step_ms=step_ms).reason
    assert told is (step_ms is not None and seen.step_ms > 0 and seen.batches_per_second > 0)
    assert "a step of" not in judge(seen).reason


@pytest.mark.parametrize(
    ("asked", "step"),
    [((35.0, None, None), 35.0), ((None, 500.0, None), 20.0), ((None, None, 25.0), 40.0), ((None, None, None), 0.0)],
)
def test_the_step_is_that_of_a_consumer_that_takes_what_is_asked_for(asked: Any, step: float) -> None:
    assert step_of(SEEN, *asked).step_ms == step


def test_without_a_step_there_is_no_stall_to_ask_for() -> None:
    with pytest.raises(NotMeasured, match="give step_ms"):
        _ = SEEN.stall


def test_a_loader_beside_a_step() -> None:
    seen = measure(DataLoader(Waiting(), batch_size=4), setting=QUICK, step_ms=8)
    assert 0.4 < seen.stall < 0.7
    floor = measure(DataLoader(Waiting(), batch_size=4), setting=QUICK, min_samples_per_second=100)
    assert 0.1 < floor.stall < 0.35


class Waiting(Dataset[Any]):
    """Waits 2 ms for each sample: 500 samples a second and process, whatever the machine does."""

    def __init__(self, length: int = 100_000) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        time.sleep(0.002)
        return torch.tensor(float(index))


class SlowUntilTold(Waiting):
    """Waits 4 ms more for each sample until ``fast`` is set, as on a machine that is slow for a while."""

    def __init__(self, fast: threading.Event) -> None:
        super().__init__()
        self.fast = fast

    def __getitem__(self, index: int) -> Any:
        if not self.fast.is_set():
            time.sleep(0.004)
        return super().__getitem__(index)


class Stream(IterableDataset[Any]):
    """Endless."""

    def __iter__(self) -> Iterator[Any]:
        return map(Waiting().__getitem__, itertools.count())


@pytest.fixture(autouse=True)
def no_worker_is_left() -> Iterator[None]:
    before = set(multiprocessing.active_children())
    yield
    assert not set(multiprocessing.active_children()) - before


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize(
    "make",
    [
        lambda workers: DataLoader(Waiting(), batch_size=4, num_workers=workers),
        lambda workers: DataLoader(Waiting(), batch_size=4, num_workers=workers, persistent_workers=workers > 0),
        lambda workers: DataLoader(Stream(), batch_size=4, num_workers=workers),
        lambda workers: DataLoader(Waiting(100), batch_size=4, num_workers=workers),
        lambda workers: DataLoader(Waiting(), None, num_workers=workers, prefetch_factor=8 if workers else None),
    ],
    ids=["map", "persistent", "iterable", "short epochs", "single samples"],
)  # fmt: skip
def test_no_loader_is_seen_faster_than_it_can_be(make: Any, workers: int) -> None:
    able = 500 * max(1, workers)
    seen = measure(make(workers), setting=QUICK)
    assert 0 < seen.samples_per_second <= 1.1 * able
    assert seen.interval[0] <= seen.samples_per_second <= seen.interval[1]
    assert seen.workers == workers
    assert seen.seconds_to_first_batch > 0
    assert seen.windows > 0
    assert judge(seen, min_samples_per_second=able / 0.8).outcome in ("failed", "inconclusive")
    kept = judge(seen, min_samples_per_second=able / 10)
    assert kept.outcome == "passed" or (kept.outcome == "inconclusive" and seen.quietness.disturbances), kept.reason


@pytest.fixture
def busy_loops() -> Iterator[None]:
    """Four processes for each CPU that do nothing but compute."""
    with contextlib.ExitStack() as ending:
        for _ in range(4 * (os.cpu_count() or 1)):
            loop = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            ending.callback(loop.wait)
            ending.callback(loop.kill)
        yield


@pytest.mark.usefixtures("busy_loops")
@pytest.mark.parametrize("workers", variants({"here": 0, "two workers": 2}, quick=["here"]))
def test_beside_busy_loops_it_is_said_and_the_interval_holds_the_truth(workers: int) -> None:
    able = 500 * max(1, workers)
    seen = measure(DataLoader(Waiting(), batch_size=4, num_workers=workers), setting=QUICK)
    assert seen.interval[0] <= able
    assert seen.interval[1] >= 0.9 * able  # collating takes time too
    assert seen.disturbances
    assert "the machine was busy: " in judge(seen).reason
    assert "the machine was busy: " in judge(seen, min_samples_per_second=seen.samples_per_second).reason
    assert figures(seen)["disturbances"] == list(seen.disturbances)


def test_a_clear_answer_ends_the_measuring() -> None:
    loader = DataLoader(Waiting(), batch_size=4)
    seen = measure(loader, setting=Setting(seconds=30, bench=True), min_samples_per_second=10)
    assert judge(seen, min_samples_per_second=10).outcome == "passed"
    assert seen.measured_seconds < 15


@pytest.mark.parametrize("workers", [0, 2])
def test_an_epoch_of_one_batch_gets_an_honest_verdict(workers: int) -> None:
    seen = measure(DataLoader(Waiting(4), batch_size=4, num_workers=workers), setting=QUICK)
    assert not seen.steady
    assert seen.epochs > 1
    assert seen.samples == 4 * seen.epochs
    assert judge(seen, min_samples_per_second=seen.samples_per_second / 2).outcome == "passed"
    assert judge(seen, min_samples_per_second=1e6).outcome != "passed"


def test_a_failure_must_hold_in_a_second_look(monkeypatch: pytest.MonkeyPatch) -> None:
    for threshold in ("_LOST", "_TAKEN", "_STEAL", "_THROTTLED", "_SLOWDOWN"):
        monkeypatch.setattr(interference, threshold, 99.0)  # a machine whose neighbours are not seen
    fast = threading.Event()

    def progress(what: str, _: float) -> None:
        if what == "looking again in a while":
            fast.set()

    setting = replace(QUICK, progress=progress)
    seen = measure(DataLoader(SlowUntilTold(fast), batch_size=2), setting=setting, min_samples_per_second=300)
    assert fast.is_set()
    assert seen.best_samples_per_second > 300
    assert judge(seen, min_samples_per_second=300).outcome != "failed"


def test_what_no_neighbour_explains_is_not_looked_at_again() -> None:
    told: list[str] = []
    setting = replace(QUICK, progress=lambda what, _: told.append(what))
    seen = measure(DataLoader(Waiting(), batch_size=2), setting=setting, min_samples_per_second=100_000)
    assert judge(seen, min_samples_per_second=100_000).outcome == "failed"
    assert "looking again in a while" not in told


def test_ctrl_c_while_measuring_leaves_nothing_behind() -> None:
    def interrupt(_what: str, share: float) -> None:
        if share > 0.3:
            raise KeyboardInterrupt

    loader = DataLoader(Waiting(), batch_size=4, num_workers=2, persistent_workers=True)
    with pytest.raises(KeyboardInterrupt):
        measure(loader, setting=replace(QUICK, progress=interrupt))


def test_progress_is_told() -> None:
    told: list[tuple[str, float]] = []
    setting = replace(QUICK, progress=lambda *news: told.append(news))
    seen = measure(DataLoader(Waiting(), batch_size=4), setting=setting)
    first, *others = dict.fromkeys(what for what, _ in told)
    assert first == "warming up"
    assert others == ["measuring"] or (seen.windows < 2 and not others)  # one window on a very busy machine
    assert [share for _, share in told] == sorted(share for _, share in told)


class MakesItsOwn(DataLoader[Any]):
    def __iter__(self) -> Any:
        return (torch.zeros(4, 2) for _ in range(1_000_000))


def test_a_loader_that_makes_all_its_batches_itself_has_a_rate() -> None:
    seen = measure(MakesItsOwn(Waiting()), setting=QUICK)
    assert (seen.samples, seen.counted_by) == (4 * seen.batches, "first dimension")
    assert seen.samples_per_second > 0


def test_only_torch_loaders_are_measured() -> None:
    with pytest.raises(BadTarget, match="expected a torch DataLoader"):
        measure([1, 2, 3], setting=QUICK)


def test_evidence_is_plain_numbers_and_strings() -> None:
    def plain(value: Any) -> bool:
        if isinstance(value, dict):
            return all(map(plain, value.values()))
        return all(map(plain, value)) if isinstance(value, tuple) else isinstance(value, int | float | str)

    assert plain(asdict(measure(DataLoader(Waiting(), batch_size=4), setting=QUICK)))
