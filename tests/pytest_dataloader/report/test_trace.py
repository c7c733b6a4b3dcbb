"""Timelines as trace events: what viewers require, what the stages check says, and rows that are never mixed up."""

from __future__ import annotations

import copy
import os
import statistics
import time
from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from pytest_dataloader.checks import Setting, stages
from pytest_dataloader.probe.timing import rate_meter
from pytest_dataloader.record import Record, figures
from pytest_dataloader.report import trace

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.xdist_group("cpu")

Event = dict[str, Any]


class Rows(Dataset[Any]):
    """Each sample is waited for, and computed for as long."""

    def __len__(self) -> int:
        return 4000

    def __getitem__(self, index: int) -> Any:
        time.sleep(0.001)
        end = time.thread_time_ns() + 1_000_000
        while time.thread_time_ns() < end:
            pass
        return torch.tensor([index])


def measured(name: str, **settings: Any) -> Record:
    loader = DataLoader(Rows(), batch_size=4, **settings)
    seen = stages.measure(loader, setting=Setting(seconds=0.8, bench=True, traced=True), step_ms=2.0)
    return Record(name, name, "DataLoader", "stages", "passed", "", figures(seen), {})


@pytest.fixture(scope="module")
def records() -> list[Record]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rate_meter, "_GENERATIONS", 1)  # one set of workers, however soon they start
        return [measured("train", num_workers=2), measured("val")]


@pytest.fixture(scope="module")
def document(records: list[Record]) -> dict[str, Any]:
    return trace.trace_document(trace.timelines(records), {"python": "3.11"})


def events(document: dict[str, Any], kind: str, name: str | None = None) -> list[Event]:
    return [each for each in document["traceEvents"] if each["ph"] == kind and name in (None, each["name"])]


def rows(document: dict[str, Any]) -> dict[tuple[int, int], str]:
    """The name of each thread, behind that of its process."""
    processes = {each["pid"]: each["args"]["name"] for each in events(document, "M", "process_name")}
    return {
        (each["pid"], each["tid"]): f"{processes[each['pid']]} / {each['args']['name']}"
        for each in events(document, "M", "thread_name")
    }


def overlapping(document: dict[str, Any]) -> Iterator[tuple[Event, Event]]:
    """Slices of one thread of which neither holds the other, nor ends before it begins."""
    by_row = defaultdict(list)
    for each in events(document, "X"):
        by_row[each["pid"], each["tid"]].append(each)
    for slices in by_row.values():
        open_ones: list[Event] = []
        for each in sorted(slices, key=lambda one: (one["ts"], -one["dur"])):
            while open_ones and open_ones[-1]["ts"] + open_ones[-1]["dur"] <= each["ts"]:
                open_ones.pop()
            if open_ones and open_ones[-1]["ts"] + open_ones[-1]["dur"] < each["ts"] + each["dur"]:
                yield open_ones[-1], each
            open_ones.append(each)


def test_events_are_what_the_format_requires(document: dict[str, Any]) -> None:
    assert {each["ph"] for each in document["traceEvents"]} == {"M", "X", "C", "s", "f"}
    for each in document["traceEvents"]:
        assert isinstance(each["pid"], int)
        assert isinstance(each["tid"], int)
        assert each["name"]
        if each["ph"] != "M":
            assert isinstance(each["ts"], int)
        if each["ph"] == "X":
            assert isinstance(each["dur"], int)
            assert each["dur"] >= 0
    moments = [each["ts"] for each in document["traceEvents"] if each["ph"] != "M"]
    assert moments == sorted(moments)
    named = rows(document)
    assert {(each["pid"], each["tid"]) for each in events(document, "X")} <= set(named)


def test_slices_of_a_thread_hold_each_other_or_follow_each_other(document: dict[str, Any]) -> None:
    assert not list(overlapping(document))
    broken = copy.deepcopy(document)
    next(iter(events(broken, "X", "collate")))["ts"] -= 1
    assert list(overlapping(broken))


def test_every_loader_and_worker_has_rows_with_its_name(document: dict[str, Any]) -> None:
    assert sorted(rows(document).values()) == [
        "main process / train: loop",
        "main process / val: loop",
        "train: worker 0 / reading",
        "train: worker 0 / sending",
        "train: worker 1 / reading",
        "train: worker 1 / sending",
    ]
    seen = defaultdict(set)
    for each in events(document, "X"):
        seen[rows(document)[each["pid"], each["tid"]]].add(each["name"])
    assert dict(seen) == {
        "main process / train: loop": {"wait", "receive", "step"},
        "main process / val: loop": {"wait", "load", "collate", "step"},
        **{f"train: worker {number} / reading": {"startup", "load", "collate"} for number in (0, 1)},
        **{f"train: worker {number} / sending": {"send"} for number in (0, 1)},
    }
    orders = [each["args"]["sort_index"] for each in events(document, "M", "process_sort_index")]
    assert orders == list(range(orders[0], orders[0] + 3))


def test_a_slice_tells_its_batch_and_samples(document: dict[str, Any]) -> None:
    for name in ("wait", "load", "collate", "send", "receive"):
        for each in events(document, "X", name):
            first = 4 * each["args"]["batch"]
            assert each["args"]["samples"] == [first, first + 1, first + 2, first + 3]
            assert each["args"]["epoch"] == 1
    assert all(each["args"]["waiting_ms"] * 1000 <= each["dur"] + 1 for each in events(document, "X", "load"))


def test_the_clock_counts_from_the_quarter_of_a_year(document: dict[str, Any]) -> None:
    base = document["baseTimeNanoseconds"]
    assert base % (7_889_238 * 10**9) == 0
    last = max(each["ts"] + each["dur"] for each in events(document, "X"))
    assert 0 < time.time_ns() - (base + 1000 * last) < 600e9
    assert time.time_ns() - base < 7_889_238 * 10**9


def test_an_arrow_leads_from_sending_to_receiving(document: dict[str, Any]) -> None:
    starts, ends = ({each["id"]: each for each in events(document, kind)} for kind in "sf")
    assert all(isinstance(arrow, int) and arrow < 2**53 for arrow in starts)  # Perfetto counts others as errors
    assert starts.keys() == ends.keys()
    assert len(starts) == len(events(document, "X", "receive")) > 20
    for slices, arrows in (("send", starts), ("receive", ends)):
        known = {(each["pid"], each["tid"], each["ts"]) for each in events(document, "X", slices)}
        assert {(each["pid"], each["tid"], each["ts"]) for each in arrows.values()} <= known
    assert all(starts[arrow]["ts"] < ends[arrow]["ts"] for arrow in starts)


def test_the_slices_say_what_the_check_says(records: list[Record], document: dict[str, Any]) -> None:
    evidence = records[0].evidence
    took = [slices_of_worker(document, number) for number in (0, 1)]
    settled = [one for each in took for one in each[12:]]
    warm = [one for each in took for one in each[2:]]
    counted = settled if len(settled) >= len(warm) / 4 else warm  # as the check does
    # The check's figures are without the waiting for a CPU, which is in the slices; neighbours spread it unevenly, the
    # more of it the more.
    told = sum(evidence["ms_per_sample"][stage] for stage in ("read", "fetch", "collate"))
    delay = evidence["delay_ms_per_sample"]
    assert statistics.fmean(counted) == pytest.approx(4 * (told + delay), rel=0.3 + delay / told)


def slices_of_worker(document: dict[str, Any], number: int) -> list[float]:
    """What reading and collating took for each batch of a worker, in milliseconds."""
    found: dict[int, float] = defaultdict(float)
    for each in sorted(events(document, "X"), key=lambda one: int(one["ts"])):
        row = rows(document)[each["pid"], each["tid"]]
        if row == f"train: worker {number} / reading" and each["name"] != "startup":
            found[each["args"]["batch"]] += each["dur"] / 1000
    return list(found.values())


def test_ready_batches_are_counted_between_being_sent_and_handed_out(document: dict[str, Any]) -> None:
    counts = [each["args"]["batches"] for each in events(document, "C", "train: ready")]
    assert set(counts) <= set(range(5))  # two workers with two batches each
    assert max(counts) > 0 == counts[-1]
    batches = [{"packed_ms": 1.0, "got_ms": 4.0}, {"packed_ms": 2.0, "got_ms": 5.0}, {"packed_ms": 3.0, "got_ms": 0.0}]
    assert list(trace.ready(batches)) == [(1.0, 1), (2.0, 2), (4.0, 1), (5.0, 0)]


def test_memory_is_a_counter_of_each_process(document: dict[str, Any]) -> None:
    seen = Counter(each["pid"] for each in events(document, "C", "train: resident"))
    assert len(seen) == 3
    assert seen[os.getpid()] > 2
    assert all(each["args"]["MB"] > 1 for each in events(document, "C", "train: resident"))


def test_a_loader_without_a_timeline_is_left_out(records: list[Record]) -> None:
    other = replace(records[0], check="throughput")
    unseen = replace(records[0], evidence={"timeline": None})
    nothing = replace(records[0], evidence={})
    assert trace.timelines([other, unseen, nothing]) == []
    assert trace.trace_document([], {})["traceEvents"] == []


def test_ranks_have_rows_of_their_own(records: list[Record]) -> None:
    ranks = tuple({"rank": rank, "evidence": records[1].evidence} for rank in (0, 1))
    named = rows(trace.trace_document(trace.timelines([replace(records[1], ranks=ranks)]), {}))
    assert sorted(named.values()) == [
        "main process of rank 0 / val, rank 0: loop",
        "main process of rank 1 / val, rank 1: loop",
    ]
    assert len({pid for pid, _ in named}) == 2


def test_two_workers_of_one_pid_are_two_rows(records: list[Record]) -> None:
    earlier = records[0].evidence["timeline"]
    later = {**earlier, "started_unix_ns": earlier["started_unix_ns"] + 10**9}
    named = rows(trace.trace_document([("train", earlier), ("later", later)], {}))
    assert len({pid for pid, _ in named}) == 5
    assert len({thread for _, thread in named}) == len(named) == 10


def test_batches_of_a_pinning_thread_are_received_and_pinned_there(records: list[Record]) -> None:
    timeline = copy.deepcopy(records[0].evidence["timeline"])
    timeline["pins_aside"] = True
    for one in timeline["batches"]:
        one["pinned_ms"] = one["unpacked_ms"] + 0.25
    found = trace.trace_document([("train", timeline)], {})
    (pinning,) = (row for row, name in rows(found).items() if name == "main process / train: pinning")
    for name in ("receive", "pin"):
        assert {(each["pid"], each["tid"]) for each in events(found, "X", name)} == {pinning}
    assert {each["dur"] for each in events(found, "X", "pin")} == {250}
