"""What a device did in each step, against traces whose truth is known: made ones, recorded ones, those of others."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_dataloader.errors import NotMeasured
from pytest_dataloader.probe.device.recording import record
from pytest_dataloader.probe.device.utilization import utilization
from tests.pytest_dataloader.probe.device.kineto import (
    RECORDED,
    call,
    copy,
    kernel,
    loader_call,
    span,
    step,
    written,
)

if TYPE_CHECKING:
    from pytest_dataloader.probe.device.evidence import DeviceUse
    from tests.pytest_dataloader.probe.device.kineto import Event

OTHERS = Path(__file__).parents[5] / "shared" / "traces"
others = pytest.mark.skipif(not OTHERS.is_dir(), reason="the traces that others recorded are not here")
TRAINING = [
    step(0, 100), loader_call(0, 30), kernel(-20, 10), copy(35, 45), kernel(40, 95),
    step(100, 200, 2), loader_call(100, 101), copy(105, 110), kernel(108, 190), kernel(120, 195),
]  # fmt: skip


def use_of(folder: Path, events: list[Event], step: str | None = None, **about: Any) -> DeviceUse:
    return utilization(record(written(folder, events, **about), step), step)


def test_a_step_is_parted_by_what_the_device_does_and_what_the_host_waits_for(tmp_path: Path) -> None:
    seen = use_of(tmp_path, TRAINING, deviceProperties=[{"id": 0, "name": "A device"}], distributedInfo={"rank": 3})
    one, other = seen.steps
    assert (one.ms, one.compute_ms, one.copy_ms) == pytest.approx((0.1, 0.065, 0.005))
    assert (one.idle_waiting_ms, one.idle_other_ms, one.waited_ms) == pytest.approx((0.02, 0.01, 0.03))
    assert (other.compute_ms, other.copy_ms) == pytest.approx((0.087, 0.003))
    assert (seen.device, seen.devices, seen.rank, seen.step_source) == ("A device", 1, 3, "profiler")
    assert (seen.loader_calls, seen.has_workers) == (2, True)
    copies = seen.copies[0]
    assert (copies.count, copies.ms, copies.beside_compute_ms) == pytest.approx((2, 0.015, 0.007))


SPAN = st.tuples(st.integers(0, 400), st.integers(0, 120))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    kernels=st.lists(SPAN, max_size=12),
    copies=st.lists(SPAN, max_size=6),
    waits=st.lists(SPAN, max_size=6),
    edges=st.lists(st.integers(0, 500), min_size=2, max_size=6, unique=True),
    seed=st.integers(0, 1000),
)
def test_the_parts_of_a_step_are_its_length_and_what_they_should_be(
    tmp_path: Path,
    kernels: list[tuple[int, int]],
    copies: list[tuple[int, int]],
    waits: list[tuple[int, int]],
    edges: list[int],
    seed: int,
) -> None:
    edges = sorted(edges)
    steps = list(itertools.pairwise(edges))
    events = [kernel(begin, begin + length) for begin, length in kernels]
    events += [copy(begin, begin + length) for begin, length in copies]
    events += [loader_call(begin, begin + length) for begin, length in waits]
    events += [span(f"mine {number}", *each, "user_annotation") for number, each in enumerate(steps)]
    events += [span("mine", *each, "user_annotation") for each in steps]
    events += [loader_call(0, 500, tid=9), kernel(900, 901)]
    random.Random(seed).shuffle(events)
    seen = use_of(tmp_path, events, "mine")

    def moments(spans: list[tuple[int, int]]) -> set[int]:
        return {moment for begin, length in spans for moment in range(begin, begin + length)}

    computing, copying, waiting = moments(kernels), moments(copies) - moments(kernels), moments(waits)
    usual = sorted(end - begin for begin, end in steps)
    median = (usual[len(usual) // 2] + usual[(len(usual) - 1) // 2]) / 2
    whole = [each for each in steps if each[1] - each[0] >= 0.02 * median]
    assert len(seen.steps) == len(whole)
    for found, (begin, end) in zip(seen.steps, whole, strict=True):
        inside = set(range(begin, end))
        idle = inside - computing - copying
        parts = (found.compute_ms, found.copy_ms, found.idle_waiting_ms, found.idle_other_ms)
        truth = (inside & computing, inside & copying, idle & waiting, idle - waiting)
        assert parts == pytest.approx([len(each) / 1e3 for each in truth])
        assert round(1e6 * sum(parts)) == round(1e6 * found.ms) == 1000 * (end - begin)
        assert found.waited_ms == pytest.approx(len(inside & waiting) / 1e3)


def test_steps_are_those_of_the_profiler_or_the_users_own_or_from_batch_to_batch(tmp_path: Path) -> None:
    own = [span("train", begin, begin + 40, "user_annotation") for begin in (0, 50, 100)]
    calls = [loader_call(begin, begin + 5) for begin in (0, 50, 100, 160)]
    seen = use_of(tmp_path, [*own, *calls, kernel(0, 200)], "train")
    assert (seen.step_source, [each.ms for each in seen.steps]) == ("annotation", [0.04] * 3)
    seen = use_of(tmp_path, [*own, *calls, kernel(0, 200)])
    assert (seen.step_source, [each.ms for each in seen.steps]) == ("loader", [0.05, 0.06])
    assert seen.first_step_left_out
    seen = use_of(tmp_path, [*own, *calls, step(0, 90), step(90, 180, 2), step(180, 181, 3), kernel(0, 200)])
    assert (seen.step_source, [each.ms for each in seen.steps]) == ("profiler", [0.09] * 2)


@pytest.mark.parametrize(
    ("events", "step_name", "words"),
    [
        ([step(0, 100), loader_call(0, 10)], None, "no event of a device"),
        ([kernel(0, 10), copy(10, 20)], None, "no step"),
        ([kernel(0, 10), loader_call(0, 1), loader_call(5, 6)], None, "no step"),
        ([kernel(0, 10), step(0, 10)], "train", "no record_function 'train'"),
        ([], None, "no event of a device"),
    ],
)
def test_what_a_trace_does_not_say_is_not_measured(
    tmp_path: Path, events: list[Event], step_name: str | None, words: str
) -> None:
    with pytest.raises(NotMeasured, match=words):
        use_of(tmp_path, events, step_name)


def test_only_the_loop_that_trains_waits(tmp_path: Path) -> None:
    seen = use_of(tmp_path, [step(0, 100), loader_call(0, 90, tid=5), kernel(0, 10)])
    assert (seen.loader_calls, seen.has_workers, seen.steps[0].waited_ms) == (0, None, 0.0)


def test_stages_of_a_merged_timeline_are_told_for_the_time_in_which_the_device_starves(tmp_path: Path) -> None:
    stages = [("load", 5, 25), ("load", 100, 200), ("collate", 25, 28), ("wait", 0, 30), ("step", 30, 100)]
    merged = [span(name, begin, end, "dataloader", tid=50 + begin) for name, begin, end in stages]
    seen = use_of(
        tmp_path, [*TRAINING, *merged]
    )  # it starves from 10 to 30, and for the first moment of the second step
    assert dict(seen.stages_while_starving) == pytest.approx({"load": 0.016, "collate": 0.003})
    assert use_of(tmp_path, TRAINING).stages_while_starving == ()


def test_the_busiest_device_is_looked_at(tmp_path: Path) -> None:
    seen = use_of(tmp_path, [step(0, 100), kernel(0, 10), kernel(0, 90, device=1), copy(90, 95, device=0)])
    assert (seen.devices, seen.steps[0].compute_ms, seen.copies) == (2, 0.09, ())


def test_a_copy_holds_the_host_where_its_operator_waits_for_the_device(tmp_path: Path) -> None:
    events = [step(0, 1000), kernel(0, 1)]
    for number, waits in enumerate((True, False)):
        at = 100 * number
        events += [
            span("aten::to", at, at + 90),
            span("aten::copy_", at + 5, at + 80),
            call("cudaMemcpyAsync", at + 10, at + 20, correlation=number),
            copy(at + 30, at + 40, correlation=number, bytes=1000),
        ]
        events += [call("cudaStreamSynchronize", at + 20, at + 45)] if waits else []
    events += [call("cudaStreamSynchronize", 185, 189), call("cudaEventSynchronize", 300, 310)]
    events += [copy(400, 410, "HtoD (Host -> Device)", correlation=9), copy(420, 430, "DtoD (Device -> Device)")]
    events += [call("hipMemcpyWithStream", 500, 510, correlation=11), copy(510, 520, "M2D", correlation=11)]
    seen = use_of(tmp_path, events)
    kinds = {(each.direction, each.source): each for each in seen.copies}
    pinned = kinds["to_device", "pinned"]
    assert (pinned.count, pinned.bytes, pinned.blocking, pinned.non_blocking) == (2, 2000, 1, 1)
    assert pinned.gigabytes_per_second == pytest.approx(0.1)
    unknown = kinds["to_device", "unknown"]
    assert (unknown.count, unknown.bytes, unknown.blocking, unknown.non_blocking) == (1, None, 0, 0)
    assert kinds["to_device", "pageable"].blocking == 1
    assert seen.steps[0].compute_ms == pytest.approx(0.011)  # a copy within the device is its own work
    assert [(each.operator, each.count) for each in seen.synchronisations] == [
        ("aten::copy_", 1),
        ("", 1),
        ("aten::to", 1),
    ]


def test_both_generations_of_words_and_what_is_malformed(tmp_path: Path) -> None:
    old = [
        {"ph": "X", "cat": "Kernel", "name": "k", "pid": 0, "tid": "stream 7", "ts": 10, "dur": 30,
         "args": {"device": 0}},
        {"ph": "X", "cat": "Memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 0, "tid": 1, "ts": 50, "dur": 5,
         "args": {"device": 0, "bytes": 10}},
        {"ph": "X", "cat": "Operator", "name": "ProfilerStep#5", "pid": 1, "tid": "1", "ts": 0, "dur": 100},
        {"ph": "X", "cat": "Operator", "name": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "pid": 1,
         "tid": "1", "ts": "0", "dur": 10.0},
        {"ph": "X", "cat": "gpu_user_annotation", "name": "ProfilerStep#5", "pid": 0, "tid": 7, "ts": 0, "dur": 9},
    ]  # fmt: skip
    moments: list[Any] = [None, "soon", float("nan"), 1e300, True, [], "-Infinity"]
    broken: list[Any] = [{"ph": "X", "cat": "kernel", "name": "k", "ts": bad, "dur": 5, "args": []} for bad in moments]
    broken += [{"ph": "X", "cat": ["kernel"], "name": "k", "ts": 1, "dur": 1}, {"ph": "X"}, 7, None, [], "text", {}]
    broken += [{"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": -5, "args": {"device": 0}}]
    seen = use_of(tmp_path, [*broken, *old], deviceProperties=[7, {"id": 0}, {"name": 3}], distributedInfo=[])
    assert len(seen.steps) == 1
    assert seen.steps[0].compute_ms == pytest.approx(0.03)
    assert (seen.has_workers, seen.devices, seen.copies[0].source) == (False, 1, "pageable")


RESULTS = Path(__file__).parents[4] / "benchmarks" / "device" / "results"


@pytest.mark.parametrize("path", sorted(RECORDED.glob("*.gz")), ids=lambda path: path.name.partition(".")[0])
def test_a_recorded_training_idles_as_cuda_events_say(path: Path) -> None:
    rows = json.loads((RESULTS / "matrix.json").read_text())["rows"]
    row = next(row for row in rows if row["trace"].endswith(path.name))
    seen = utilization(record(path))
    # In the last one the profiler stops; an event before a copy stamps when it was asked for, a millisecond early.
    steps, busy, whole = seen.steps[:-1], row["busy_ms"][:-1], row["steps_ms"][:-1]
    idle = sum(step.idle_ms for step in steps) / sum(step.ms for step in steps)
    assert idle == pytest.approx(1 - sum(busy) / sum(whole), abs=0.03)
    to_device = [each for each in seen.copies if each.direction == "to_device"]
    assert [each.source for each in to_device] == ["pinned" if row["pinned"] else "pageable"]
    assert to_device[0].count == 24
    assert (to_device[0].blocking > 0) is not row["non_blocking"]
    assert seen.has_workers is bool(row["workers"])
    beside = to_device[0].beside_compute_ms / to_device[0].ms
    assert beside > 0.9 if row["prefetched"] and row["workers"] else beside < 0.5


@others
@pytest.mark.parametrize(
    ("name", "bound", "steps", "busy", "waited_ms"),
    [
        ("resnet50_num_workers_0_worker0.1623143089861.pt.trace", "input", 6, (0.51, 0.60), (62.6, 73.4)),
        ("resnet50_num_workers_0_worker0.1623143566756.pt.trace", "input", 6, (0.55, 0.68), (44.0, 47.2)),
        ("resnet50_num_workers_0_worker0.pt.trace", "input", 6, (0.63, 0.83), (40.4, 62.9)),
        ("resnet50_num_workers_4_worker0.1623212756351.pt.trace", "device", 6, (0.57, 0.83), (0.1, 4.3)),
        ("resnet50_num_workers_4_worker0.1623213129365.pt.trace", "device", 6, (0.51, 0.86), (1.3, 1.7)),
        ("resnet50_num_workers_4_worker0.pt.trace", "device", 6, (0.77, 0.91), (0.1, 4.4)),
        ("a100_control", "device", 6, (0.77, 0.88), (0.07, 0.1)),
        ("v100_test", "device", 6, (0.96, 0.97), (0.1, 0.1)),
        ("a100_host_bound", "host", 5, (0.34, 0.37), (0, 0)),
        ("distributed_rank0", "host", 2, (0.43, 0.46), (0, 0)),
    ],
)
def test_what_others_recorded(
    name: str, bound: str, steps: int, busy: tuple[float, float], waited_ms: tuple[float, float]
) -> None:
    seen = utilization(record(OTHERS / f"{name}.json.gz"))
    assert (seen.bound, len(seen.steps)) == (bound, steps)
    each_busy = [(each.compute_ms + each.copy_ms) / each.ms for each in seen.steps]
    assert (min(each_busy), max(each_busy)) == pytest.approx(busy, abs=0.01)
    waits = [each.waited_ms for each in seen.steps]
    assert (min(waits), max(waits)) == pytest.approx(waited_ms, abs=0.1)


@others
@pytest.mark.parametrize("name", ["cpu_only", "no_device_events", "a100_event_sync", "a100_alexnet_inference"])
def test_recordings_that_say_nothing_of_a_training(name: str) -> None:
    with pytest.raises(NotMeasured):
        utilization(record(OTHERS / f"{name}.json.gz"))
