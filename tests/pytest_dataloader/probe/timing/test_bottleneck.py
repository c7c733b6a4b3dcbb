"""Why a loader is as fast as it is, from costs of its stages that are made up."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from pytest_dataloader.probe.timing.bottleneck import (
    best_ms_with_workers,
    cost_more,
    describe_bottleneck,
    describe_follow_up,
    describe_rates,
)
from pytest_dataloader.probe.timing.evidence import STAGES, Stages, WorkerStages
from pytest_dataloader.probe.timing.sample_times import SampleTimes, SlowSample


def costs(others: float, **stages: float) -> dict[str, float]:
    """Milliseconds per sample by stage."""
    return {stage: stages.get(stage, others) for stage in STAGES}


SEEN = Stages(
    bottleneck="read", ms_per_sample=costs(0.1, read=2.0, collate=0.4), pace_ms_per_sample=costs(0.0, read=1.0),
    limit_ms_per_sample=1.25, samples_per_batch=8, batches=600, batches_per_epoch=75, startup_seconds=0.5, workers=2,
    cpus=4,
)  # fmt: skip
PACE = "1 of 1.25 ms per sample"
ALLOWS = "\nat most 800 samples/s"


def at(stage: str, **changes: Any) -> Stages:
    """A loader whose pace another stage sets."""
    pace = costs(0.0, **{stage: 1.0})
    return replace(SEEN, bottleneck=stage, pace_ms_per_sample=pace, **changes)


def worker(number: int, read: float) -> WorkerStages:
    return WorkerStages(number, 100, 8 * read, costs(0.1, read=read), 0.1, 0.0)


UNEVEN = replace(SEEN, straggler_factor=1.5, slowest_worker=1, per_worker=(worker(0, 1.0), worker(1, 9.0)))
SENTENCES: dict[str, tuple[Stages, str, str]] = {
    "nothing seen": (Stages(), "process", ""),
    "without workers": (
        SEEN, "process",
        f"bottleneck: I/O wait in the dataset, {PACE}\nnum_workers=0: the main process makes every batch{ALLOWS}",
    ),
    "two workers": (
        SEEN, "workers",
        f"bottleneck: I/O wait in the dataset, {PACE}\n2 ms of one worker's time, 2 workers in parallel"
        f"{ALLOWS}",
    ),
    "one worker": (
        replace(SEEN, workers=1), "workers",
        f"bottleneck: I/O wait in the dataset, {PACE}\n2 ms of one worker's time{ALLOWS}",
    ),
    "a slow worker": (
        UNEVEN, "workers",
        f"bottleneck: I/O wait in the dataset, {PACE}\n9 ms of one worker's time, 2 workers in parallel\n"
        f"worker 1 takes 1.5 times as long as the others, which wait for it (in_order=True){ALLOWS}",
    ),
    "a worker that is hardly slow": (
        replace(UNEVEN, straggler_factor=1.49), "workers",
        f"bottleneck: I/O wait in the dataset, {PACE}\n2 ms of one worker's time, 2 workers in parallel"
        f"{ALLOWS}",
    ),
    "full CPUs": (
        at("fetch"), "cpus",
        f"bottleneck: CPU work in the dataset, {PACE}\nCPU-bound: 2 workers and the main process "
        f"saturate 4 CPUs{ALLOWS}",
    ),
    "full CPUs, one worker": (
        at("fetch", workers=1, cpus=1.5), "cpus",
        f"bottleneck: CPU work in the dataset, {PACE}\nCPU-bound: 1 worker and the main process "
        f"saturate 1.5 CPUs{ALLOWS}",
    ),
    "computing in the collate function": (
        at("collate", collate_waiting_ms_per_sample=0.19), "workers",
        f"bottleneck: collate_fn, {PACE}\n0.4 ms of one worker's time, 2 workers in parallel{ALLOWS}",
    ),
    "waiting in the collate function": (
        at("collate", collate_waiting_ms_per_sample=0.2), "workers",
        f"bottleneck: waiting in collate_fn, {PACE}\n0.4 ms of one worker's time, 2 workers in "
        f"parallel{ALLOWS}",
    ),
    "sending": (
        at("send"), "workers",
        f"bottleneck: pickling batches and writing them to the pipe, {PACE}\n0.1 ms of one worker's time, "
        f"2 workers in parallel{ALLOWS}",
    ),
    "receiving": (
        at("receive", sampler_ms_per_sample=0.04, handover_ms_per_sample=0.04), "main",
        f"bottleneck: receiving batches in the main process, {PACE}\nthe workers are faster"
        f"{ALLOWS}",
    ),
    "receiving, with a slow sampler": (
        at("receive", sampler_ms_per_sample=0.05, handover_ms_per_sample=0.05), "main",
        f"bottleneck: receiving batches in the main process, {PACE}\nmost of it in the sampler{ALLOWS}",
    ),
    "receiving, beside busy workers": (
        at("receive", handover_ms_per_sample=0.05), "main",
        f"bottleneck: receiving batches in the main process, {PACE}\n"
        f"most of it waits for the workers to send tensors, delayed by their Python code{ALLOWS}",
    ),
    "pinning": (
        at("pin"), "pinning",
        f"bottleneck: copying batches to pinned memory, {PACE}\none thread pins the batches of all workers"
        f"{ALLOWS}",
    ),
    "a training step": (
        at("consumer"), "consumer",
        f"bottleneck: the training step, {PACE}\nthe loader keeps up with it",
    ),
    "short epochs": (
        at("startup"), "startup",
        f"bottleneck: starting epochs, {PACE}\n0.5 s to start an epoch of 75 batches",
    ),
    "batches that differ": (
        replace(SEEN, limit_error=math.log(1.25)), "process",
        f"bottleneck: I/O wait in the dataset, {PACE}\nnum_workers=0: the main process makes every batch{ALLOWS} "
        "(95 % CI 640 to 1,000, as batches differ)",
    ),
    "batches that differ little": (
        replace(SEEN, limit_error=math.log(1.24)), "process",
        f"bottleneck: I/O wait in the dataset, {PACE}\nnum_workers=0: the main process makes every batch{ALLOWS}",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("seen", "part", "expected"), SENTENCES.values(), ids=SENTENCES)
def test_the_sentence_says_which_stage_is_the_bottleneck_and_why(seen: Stages, part: str, expected: str) -> None:
    assert describe_bottleneck(seen, part) == expected


def test_with_workers_the_better_of_what_was_measured_and_what_stages_allow_counts() -> None:
    started = replace(SEEN, pace_ms_per_sample={**SEEN.pace_ms_per_sample, "startup": 0.25})
    assert best_ms_with_workers(started) == 1.0
    assert best_ms_with_workers(replace(started, samples_per_second=500.0)) == 1.0
    assert best_ms_with_workers(replace(started, samples_per_second=2000.0)) == 0.5


DEAR = replace(
    SEEN, samples_per_second=800.0, alone_samples_per_second=2000.0,
    ms_per_sample=costs(0.0, send=0.3, receive=0.3),
)  # fmt: skip
"""0.5 ms a sample alone, and 1.25 ms with two workers, of which handing over takes 0.6."""
COSTS: dict[str, tuple[Stages, bool]] = {
    "dear": (DEAR, True),
    "not measured alone": (replace(DEAR, alone_samples_per_second=0.0), False),
    "no workers": (replace(DEAR, workers=0), False),
    "hardly slower with workers": (replace(DEAR, alone_samples_per_second=1000.0), False),
    "clearly slower with workers": (
        replace(DEAR, alone_samples_per_second=1010.0, ms_per_sample={**DEAR.ms_per_sample, "send": 0.6}), True
    ),
    "handing over does not account for it": (
        replace(DEAR, ms_per_sample={**DEAR.ms_per_sample, "send": 0.1, "receive": 0.2}), False
    ),
    "handing over just accounts for it": (
        replace(DEAR, ms_per_sample={**DEAR.ms_per_sample, "send": 0.1, "receive": 0.3}), True
    ),
    "on one CPU the dataset's own work is not shared out": (
        replace(DEAR, cpus=0.5, ms_per_sample={**DEAR.ms_per_sample, "send": 0.1, "receive": 0.1}), True
    ),
    "a step takes most of the time": (
        replace(DEAR, ms_per_sample={**DEAR.ms_per_sample, "consumer": 0.6}), False
    ),
}  # fmt: skip


@pytest.mark.parametrize(("seen", "expected"), COSTS.values(), ids=COSTS)
def test_workers_cost_more_than_they_bring_where_handing_over_accounts_for_it(seen: Stages, expected: bool) -> None:
    assert cost_more(seen) is expected
    told = "\nnum_workers=0 is faster: "
    assert describe_follow_up(seen).startswith(told) is expected


def test_what_single_samples_and_a_run_without_workers_add_is_told() -> None:
    slow = SampleTimes(1800, 1.0, 1.25, (SlowSample("100", 600.0), SlowSample("7", 90.0)), 12)
    assert describe_rates(DEAR) == ("2,000", "800")
    assert describe_follow_up(replace(DEAR, sample_times=slow)) == (
        "\nnum_workers=0 is faster: 2,000 samples/s, with 2 workers at most 800"
        "\nsample 100 takes 600 ms and sample 7 takes 90 ms (median 1, 95 % below 1.25 ms, 12 so slow of 1,800 read)"
    )
    assert describe_follow_up(SEEN) == describe_follow_up(replace(SEEN, sample_times=replace(slow, slowest=()))) == ""


PIPED = {"array_bytes_per_batch": 20_000_000, "piped_bytes_per_batch": 20_001_000}
VIEWS = {"shared_bytes_per_batch": 20_000_000, "tensor_bytes_per_batch": 4_000}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (PIPED, "\n20.0 MB of arrays per batch are pickled through a pipe"),
        (VIEWS, "\ntensors of 4.0 kB per batch are views, which send 20.0 MB through shared memory"),
        ({**PIPED, "workers": 0}, ""),
        ({**VIEWS, "workers": 0}, ""),
        ({"array_bytes_per_batch": 999_999}, ""),
        ({"shared_bytes_per_batch": 20_000_000, "tensor_bytes_per_batch": 19_100_000}, ""),
    ],
)
def test_how_much_crosses_is_told(changes: dict[str, int], told: str) -> None:
    assert describe_follow_up(replace(SEEN, **{"workers": 2, **changes})) == told  # type: ignore[arg-type]  # numbers
