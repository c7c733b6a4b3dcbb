"""Charts: what is drawn of evidence, that plotly knows every word of it, and that it stays small."""

from __future__ import annotations

import json
from typing import Any

import plotly.graph_objects  # type: ignore[import-untyped]  # it has no stubs

from pytest_dataloader.report.page import figures


def drawn(evidence: dict[str, Any]) -> dict[str, figures.Figure]:
    faulty, _ = figures.all_figures(evidence["loaders"])
    return {each["title"]: each for each in faulty}


def test_what_was_seen_of_a_loader_is_drawn(evidence: dict[str, Any]) -> None:
    faulty, healthy = figures.all_figures(evidence["loaders"])
    common = ["Stages", "Rate by window", "Batches", "Memory", "Timeline"]
    assert [each["title"] for each in faulty] == [*common, "Workers tried"]
    assert [each["title"] for each in healthy] == [*common, "Descriptors and segments"]


def test_plotly_knows_every_word_of_every_chart(evidence: dict[str, Any]) -> None:
    for loader in figures.all_figures(evidence["loaders"]):
        for each in loader:
            known = plotly.graph_objects.Figure(each["data"], each["layout"])  # raises ValueError for other words
            assert len(known.data) == len(each["data"]) > 0


def test_each_training_step_is_drawn_by_what_the_device_does() -> None:
    step = {"compute_ms": 60.0, "copy_ms": 10.0, "idle_waiting_ms": 25.0, "idle_other_ms": 5.0}
    checks = {"transfer": {"evidence": {"use": {"steps": [step, step]}}, "limits": {}}}
    (found,) = figures.of_loader(checks)
    assert [sum(bar["y"][number] for bar in found["data"]) for number in (0, 1)] == [100.0, 100.0]
    plotly.graph_objects.Figure(found["data"], found["layout"])


def test_a_rate_stands_against_its_floor_with_its_interval(evidence: dict[str, Any]) -> None:
    found = drawn(evidence)["Rate by window"]
    lines = {trace["name"]: trace["y"] for trace in found["data"]}
    assert lines == {"window": [90.89], "mean": [90.89] * 2, "limit": [600.0] * 2}
    (band,) = found["layout"]["shapes"]
    assert (band["y0"], band["y1"]) == (42.17, 194.9)
    assert "42.2 to 195" in found["what"]
    assert "limit 600" in found["what"]


def test_a_timeline_has_a_row_for_the_main_process_and_each_worker(evidence: dict[str, Any]) -> None:
    found = drawn(evidence)["Timeline"]
    assert found["layout"]["yaxis"]["categoryarray"] == ["main", "worker 0", "worker 1"]
    rows = {trace["name"]: set(trace["y"]) for trace in found["data"]}
    workers = {"worker 0", "worker 1"}
    assert rows == {"load": workers, "collate": workers, "send": workers, "wait": {"main"}, "receive": {"main"}}
    timed = evidence["loaders"][0]["checks"]["stages"]["evidence"]["timeline"]["batches"]
    read = next(trace for trace in found["data"] if trace["name"] == "load")
    assert read["base"] == [round(one["index_ms"], 2) for one in timed]
    assert read["x"] == [round(one["fetched_ms"] - one["index_ms"], 2) for one in timed]


def test_what_leaks_climbs_from_epoch_to_epoch() -> None:
    fds = {"evidence": {"open_after_epochs": [31, 39, 55, 63]}, "limits": {}}
    (found,) = figures.of_loader({"fds": fds})
    assert [trace["y"] for trace in found["data"]] == [[31, 39, 55, 63]]
    assert figures.of_loader({"fds": {"evidence": {}, "limits": {}}}) == []


def test_a_long_watch_is_thinned_and_keeps_both_ends() -> None:
    curve = [
        {"batch": at, "worker": worker, "private_bytes": 10**6 * at, "seconds": 0.0}
        for at in range(400)
        for worker in range(-1, 8)
    ]
    (found,) = figures.of_loader({"memory": {"evidence": {"curve": curve}, "limits": {}}})
    assert len(found["data"]) == 9
    assert {(len(trace["x"]), trace["x"][0], trace["x"][-1]) for trace in found["data"]} == {(60, 0, 399)}
    assert {trace["mode"] for trace in found["data"]} == {"lines"}
    assert len(json.dumps(found)) < 20_000


def test_a_watch_of_one_batch_is_a_mark() -> None:
    curve = [{"batch": 2, "worker": 0, "private_bytes": 10**6, "seconds": at} for at in (0.0, 1.0)]
    (found,) = figures.of_loader({"memory": {"evidence": {"curve": curve}, "limits": {}}})
    assert [trace["mode"] for trace in found["data"]] == ["lines+markers"]


def test_memory_of_what_is_no_data_loader_is_drawn_too() -> None:
    seen = {"private_bytes": [10**7, 2 * 10**7], "children_bytes": [0, 0], "batches_between": 16}
    (found,) = figures.of_loader({"memory": {"evidence": seen, "limits": {}}})
    assert [(trace["name"], trace["x"], trace["y"]) for trace in found["data"]] == [("main", [0, 16], [10.0, 20.0])]


def test_indices_of_samples_are_no_markup(evidence: dict[str, Any]) -> None:
    evidence["loaders"][0]["checks"]["stages"]["evidence"]["timeline"]["batches"][0]["indices"] = ["<b>\u202e", 7]
    told = drawn(evidence)["Batches"]["data"][0]["text"][0]
    assert told.endswith("samples &lt;b&gt;\\u202e, 7, ...")
