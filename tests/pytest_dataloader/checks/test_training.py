"""The judgement over what was seen of a training: its words, its limits, and what it advises."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_dataloader.checks.training import judge
from pytest_dataloader.probe.host.interference import QUIET
from pytest_dataloader.probe.training.evidence import Training, WorkerUse
from tests.judgement import Judgement

USE = WorkerUse(worker=0, pid=7, private_bytes=40_000_000, growth_bytes=5_000_000, busy_share=0.9, descriptors=30)
SEEN = Training(
    made_at="train.py:3", iterated_at="train.py:9", loaders=1, epochs=2, batches=200, samples=1600, seconds=10.0,
    waiting_seconds=0.2, startup_seconds=0.1, step_ms=49.0, wait_ms=0.5, longest_wait_ms=9.0, longest_wait_batch=7,
    workers=2, persistent_workers=False, stage="consumer", busy_share=0.3,
    ready_share=0.9, training_seconds=20.0, quietness=QUIET, worker_uses=(USE,), peak_private_bytes=40_000_000,
    peak_growth_bytes=5_000_000, descriptors=100,
    descriptor_limit=1000, segment_bytes=1_000_000,
)  # fmt: skip
WAITS = replace(SEEN, waiting_seconds=4.0, wait_ms=20.0, stage="fetch", busy_share=0.9)
BUSY = replace(QUIET, others_share=0.6, own_share=0.3)
ALONE = replace(WAITS, workers=0, worker_uses=(), peak_private_bytes=0, peak_growth_bytes=0)

ROWS = {
    "keeps up": Judgement(
        SEEN,
        "passed",
        "data wait: 2.0 % of 10 s\n200 batches, 160 samples/s\n"
        "step 49 ms, data wait 0.5 ms (medians), first batch after 0.05 s\n"
        "private memory of a worker 40.0 MB, 5.0 MB more than at first",
        in_full=True,
    ),
    "waits, no limit": Judgement(
        WAITS,
        "passed",
        "data wait: 40.0 % of 10 s\n200 batches, 160 samples/s",
        ("",),
    ),
    "waits too long": Judgement(
        WAITS,
        "failed",
        "data wait: 20.0 % of the training's 20 s, limit 5 %\n200 batches, 160 samples/s",
        ("",),
        {"max_input_wait": 0.05},
    ),
    "waits as long as allowed": Judgement(WAITS, "passed", "data wait: 40.0 % of 10 s", ("",), {"max_input_wait": 0.2}),
    "waits on a busy machine": Judgement(
        replace(WAITS, quietness=BUSY),
        "inconclusive",
        "data wait: 20.0 % of the training's 20 s, limit 5 %\n"
        "the machine was busy: other processes used 60 % of the CPU time",
        ("",),
        {"max_input_wait": 0.05},
    ),
    "workers wait for storage on a busy machine": Judgement(
        replace(WAITS, quietness=BUSY, stage="read", busy_share=0.1),
        "failed",
        "data wait: 20.0 % of the training's 20 s, limit 5 %\n200",
        ("",),
        {"max_input_wait": 0.05},
    ),
    "no workers, on a busy machine": Judgement(
        replace(ALONE, quietness=BUSY, stage="read", busy_share=0.1),
        "inconclusive",
        "data wait: 20.0 % of the training's 20 s, limit 5 %\nthe machine was busy",
        ("DL207",),
        {"max_input_wait": 0.05},
    ),
    "waits and grows on a busy machine": Judgement(
        replace(WAITS, quietness=BUSY),
        "failed",
        "data wait: 20.0 % of the training's 20 s, limit 5 %\n"
        "+5.0 MB in a worker, limit 1.0 MB\n200 batches, 160 samples/s",
        ("", ""),
        {"max_input_wait": 0.05, "max_worker_growth": 1_000_000},
    ),
    "grows": Judgement(
        SEEN,
        "failed",
        "+5.0 MB in a worker, limit 4.0 MB\n200 batches, 160 samples/s",
        ("",),
        {"max_worker_growth": 4_000_000},
    ),
    "grows as allowed": Judgement(SEEN, "passed", "data wait: 2.0 % of 10 s", (), {"max_worker_growth": 5_000_000}),
    "descriptors": Judgement(
        SEEN,
        "failed",
        "100 of 1,000 descriptors open, limit 5 %\n200 batches, 160 samples/s",
        ("",),
        {"max_fd_use": 0.05},
    ),
    "descriptors as allowed": Judgement(SEEN, "passed", "data wait: 2.0 % of 10 s", (), {"max_fd_use": 0.1}),
    "descriptors without a limit of the system": Judgement(
        replace(SEEN, descriptor_limit=0), "passed", "data wait: 2.0 % of 10 s", (), {"max_fd_use": 0.0}
    ),
    "two limits": Judgement(
        WAITS,
        "failed",
        "data wait: 20.0 % of the training's 20 s, limit 5 %\n"
        "+5.0 MB in a worker, limit 1.0 MB\n200 batches, 160 samples/s",
        ("", ""),
        {"max_input_wait": 0.05, "max_worker_growth": 1_000_000},
    ),
    "workers start in each epoch": Judgement(
        replace(WAITS, startup_seconds=3.0, stage="startup"), "passed", "data wait: 40.0 % of 10 s", ("DL204",)
    ),
    "a new loader for each epoch": Judgement(
        replace(WAITS, startup_seconds=3.0, stage="startup", loaders=2), "passed", "data wait: 40.0 % of 10 s", ("",)
    ),
    "workers start once": Judgement(
        replace(WAITS, startup_seconds=3.0, stage="startup", epochs=1), "passed", "data wait: 40.0 % of 10 s", ()
    ),
    "workers persist": Judgement(
        replace(WAITS, startup_seconds=3.0, stage="startup", persistent_workers=True),
        "passed",
        "data wait: 40.0 % of 10 s",
        (),
    ),
    "batches are ready": Judgement(
        replace(WAITS, stage="receive"),
        "passed",
        "data wait: 40.0 % of 10 s",
        ("",),
    ),
    "batches are ready, on a busy machine": Judgement(
        replace(WAITS, stage="receive", quietness=BUSY), "passed", "data wait: 40.0 % of 10 s", ()
    ),
    "workers wait": Judgement(
        replace(WAITS, stage="read", busy_share=0.1),
        "passed",
        "data wait: 40.0 % of 10 s",
        ("",),
    ),
    "no workers": Judgement(ALONE, "passed", "data wait: 40.0 % of 10 s", ("DL207",)),
    "no workers, read": Judgement(
        replace(ALONE, stage="read"),
        "passed",
        "data wait: 40.0 % of 10 s",
        ("DL207",),
    ),
    "no workers, quick batches": Judgement(
        replace(ALONE, wait_ms=2.0),
        "passed",
        "data wait: 40.0 % of 10 s",
        (),
    ),
    "not known why": Judgement(
        replace(WAITS, stage="", busy_share=None),
        "passed",
        "data wait: 40.0 % of 10 s",
        (),
    ),
    "raised": Judgement(
        replace(SEEN, fault="worker 0 (pid 7) was killed by SIGKILL"),
        "failed",
        "worker 0 (pid 7) was killed by SIGKILL\nbefore: 200 batches, 160 samples/s",
    ),
    "raised at once": Judgement(
        replace(SEEN, batches=0, samples=0, fault="ValueError: torn"),
        "failed",
        "ValueError: torn\nbefore: 0 batches, 0 samples/s",
    ),
    "nothing": Judgement(
        replace(SEEN, batches=0), "not_measured", "no batch of it came", (), {"max_input_wait": 0.05}, vacuous=True
    ),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())
def test_a_training_is_judged_by_what_was_seen(row: Judgement) -> None:
    assert row.of(judge) == row


def test_each_limit_that_is_missed_has_its_own_advice() -> None:
    (grows,) = judge(SEEN, max_worker_growth=1_000_000).advice
    assert grows.text.endswith("the check memory names the attribute")
    (opens,) = judge(SEEN, max_fd_use=0.05).advice
    assert opens.text.endswith("the check fds names them")


def test_advice_names_what_the_workers_do() -> None:
    (computing,) = judge(WAITS).advice
    assert computing.text.endswith("reduce the CPU cost of __getitem__: 2 workers, 90 % CPU")
    (waiting,) = judge(replace(WAITS, stage="read", busy_share=0.1)).advice
    assert waiting.text.endswith("read larger pieces: 2 workers, 10 % CPU, the rest I/O wait or locks")
