"""Two traces as one: clocks, rows, and what cannot be merged."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_dataloader.errors import BadTrace
from pytest_dataloader.report import merging
from pytest_dataloader.report.trace import MADE_UP

Event = dict[str, Any]


def slice_(name: str, pid: Any, tid: Any, ts: float, dur: float = 10) -> Event:
    return {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur}


def named(pid: int, name: str) -> Event:
    return {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}


def theirs(*more: Event, base: int = 5_000, **others: Any) -> dict[str, Any]:
    first = [named(100, "python"), slice_("aten::mm", 100, 100, 50, 500), slice_("span", "Spans", "Profiler", 0, 900)]
    return {"baseTimeNanoseconds": base, "traceName": "t", "traceEvents": [*first, *more], **others}


def ours(worker: int = 200, base: int = 5_000, ts: float = 100) -> dict[str, Any]:
    loop, reading = MADE_UP, MADE_UP + 1
    return {
        "baseTimeNanoseconds": base,
        "pytest_dataloader": {"python": "3.11"},
        "traceEvents": [
            named(100, "main process"),
            named(worker, "train: worker 0"),
            slice_("wait", 100, loop, ts),
            slice_("read", worker, reading, ts),
        ],
    }


def slices(document: dict[str, Any]) -> dict[str, Event]:
    return {event["name"]: event for event in document["traceEvents"] if event["ph"] == "X"}


def names(document: dict[str, Any]) -> list[tuple[int, str]]:
    return [
        (event["pid"], event["args"]["name"]) for event in document["traceEvents"] if event["name"] == "process_name"
    ]


def test_on_one_base_nothing_is_shifted() -> None:
    merged = merging.merge(theirs(), ours())
    assert merged["traceName"] == "t"
    assert merged["traceEvents"][:3] == theirs()["traceEvents"]
    assert slices(merged)["wait"]["ts"] == 100
    assert slices(merged)["read"]["ts"] == 100


@pytest.mark.parametrize(("base", "ts"), [(0, 105), (1_000, 104), (5_500, 99.5), (9_000, 96)])
def test_ours_is_shifted_by_what_the_bases_differ_by(base: int, ts: float) -> None:
    assert slices(merging.merge(theirs(base=base), ours()))["read"]["ts"] == ts


def test_a_trace_that_names_no_base_counts_from_1970() -> None:
    without = theirs()
    del without["baseTimeNanoseconds"]
    assert slices(merging.merge(without, ours()))["read"]["ts"] == 105


def test_the_main_process_is_one_row_and_keeps_its_name() -> None:
    merged = merging.merge(theirs(), ours())
    assert names(merged) == [(100, "python"), (200, "train: worker 0")]
    assert slices(merged)["wait"]["pid"] == slices(merged)["aten::mm"]["pid"] == 100
    assert slices(merged)["wait"]["tid"] != slices(merged)["aten::mm"]["tid"]


def test_of_another_main_process_there_is_a_row_beside() -> None:
    other = theirs()
    for event in other["traceEvents"]:
        event["pid"] = 101 if event["pid"] == 100 else event["pid"]
    assert names(merging.merge(other, ours())) == [(101, "python"), (100, "main process"), (200, "train: worker 0")]


def test_a_worker_whose_pid_is_a_row_of_theirs_gets_another() -> None:
    merged = merging.merge(theirs(named(0, "GPU 0"), slice_("kernel", 0, 7, 60)), ours(worker=0))
    assert slices(merged)["kernel"]["pid"] == 0
    assert slices(merged)["read"]["pid"] >= MADE_UP
    assert (slices(merged)["read"]["pid"], "train: worker 0") in names(merged)
    assert (0, "GPU 0") in names(merged)


def test_what_was_merged_takes_in_another_one() -> None:
    second = ours(worker=300)
    second["traceEvents"][2]["name"], second["traceEvents"][3]["name"] = "wait 2", "read 2"
    merged = slices(merging.merge(merging.merge(theirs(), ours()), second))
    assert merged["wait"]["tid"] != merged["wait 2"]["tid"]
    assert merged["read"]["tid"] != merged["read 2"]["tid"]


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (theirs(), theirs(), "the second file must be one of --dataloader-trace, and none is"),
        (ours(), theirs(), "it is the first one; give that of torch.profiler first"),
        (theirs(), ours(ts=2_000_000), r"the second trace begins 2 s after the first one has ended"),
        (theirs(), ours(ts=-3_000_000), r"the second trace ends 3 s before the first one begins"),
        (theirs(), ours(base=7_889_238 * 10**9), "begins 7.89e"),
        ({"traceEvents": []}, ours(), "the first file has no slices"),
        (theirs(), {"pytest_dataloader": {}, "traceEvents": []}, "the second file has no slices"),
        ({"traceEvents": {}}, ours(), "no list of traceEvents"),
        (
            theirs(),
            {**ours(), "traceEvents": [{"ph": "X", "ts": 100, "dur": 1}]},
            "not as --dataloader-trace has written",
        ),
        (
            theirs(),
            {**ours(), "traceEvents": [{**named(3, ""), "args": 3}]},
            "not as --dataloader-trace has written it",
        ),
        (theirs(), {**ours(), "traceEvents": [slice_("a", "b", 1, 100)]}, "not as --dataloader-trace has written it"),
        (theirs(base=10**400), ours(), "baseTimeNanoseconds is no number"),
        (theirs(base="soon"), ours(), "baseTimeNanoseconds is no number: 'soon'"),  # type: ignore[arg-type]
        (theirs(base=float("nan")), ours(), "baseTimeNanoseconds is no number"),  # type: ignore[arg-type]
    ],
)
def test_what_is_not_of_one_run_is_refused(first: dict[str, Any], second: dict[str, Any], words: str) -> None:
    with pytest.raises(BadTrace, match=words):
        merging.merge(first, second)


def test_events_that_are_none_do_no_harm() -> None:
    odd: list[Any] = [
        None,
        3,
        [],
        {"ph": "X"},
        {"ph": "X", "ts": "1", "dur": 2},
        {"ph": "X", "ts": True, "dur": 1},
        {"pid": []},
    ]
    merged = merging.merge(theirs(*odd), ours())
    assert slices({"traceEvents": merged["traceEvents"][-2:]}).keys() == {"wait", "read"}
