"""What a page shows of evidence."""

from __future__ import annotations

from typing import Any

from pytest_dataloader.report.page import content


def test_a_loader_has_its_gravest_verdict_and_its_changes_with_their_rules(evidence: dict[str, Any]) -> None:
    faulty, healthy = content.loaders_of(evidence)
    assert (faulty.verdict, faulty.counts) == ("failed", "2 failed, 8 passed, 2 not measured")
    assert healthy.verdict == "passed"
    (container,) = [change for change in faulty.changes if change.code]
    assert container.check == "memory"
    assert container.address.endswith("/rules/DL301/")


def test_the_first_line_of_a_reason_is_told_apart_from_its_details(evidence: dict[str, Any]) -> None:
    memory = next(each for each in content.loaders_of(evidence)[0].checks if each.check == "memory")
    assert memory.reason.startswith("each worker copies dataset.rows")
    assert memory.details[0] == "reading 164 samples copied 91 % of what was looked at, an idle worker copied none"
    assert memory.limits == "max_worker_growth = 8.0 MB"


def test_tables_tell_the_slowest_batches_the_attributes_that_pay_and_the_tuning(evidence: dict[str, Any]) -> None:
    tables = {table.title: table for table in content.loaders_of(evidence)[0].tables}
    assert list(tables) == ["Slowest batches", "Copied attributes", "Tuning", "Batch sizes"]
    times = [float(row[2]) for row in tables["Slowest batches"].rows]
    assert times == sorted(times, reverse=True)
    assert len(times) == 5
    assert tables["Copied attributes"].rows == (("dataset.rows", "100,000 dict", "21.5 MB", "91 %", "19.7 MB"),)
    assert tables["Tuning"].head == ("settings", "samples/s", "vs baseline", "vs previous", "note")
    assert tables["Tuning"].rows[1][0] == "+ num_workers=3"


def test_an_attribute_pays_if_it_grows_or_is_copied_and_the_dearest_comes_first(evidence: dict[str, Any]) -> None:
    memory = evidence["loaders"][0]["checks"]["memory"]["evidence"]
    (paying,) = [each for each in memory["attributes"] if each["path"] == "dataset.rows"]
    memory["attributes"] = [
        {**paying, "path": "copied a little", "copied": True, "growth_bytes": 0},
        {**paying, "path": "neither", "copied": False, "growth_bytes": 0},
        {**paying, "path": "grows", "copied": False, "growth_bytes": 5},
        {**paying, "path": "both", "copied": True, "growth_bytes": 9},
    ]
    tables = {table.title: table for table in content.loaders_of(evidence)[0].tables}
    assert [row[0] for row in tables["Copied attributes"].rows] == ["both", "grows", "copied a little"]


def test_slow_samples_are_told_by_index(evidence: dict[str, Any]) -> None:
    slow = {"samples": 50, "median_ms": 2.0, "p95_ms": 3.0, "slowest": [{"index": "17", "ms": 90.0}], "slow": 1}
    evidence["loaders"][0]["checks"]["stages"]["evidence"]["sample_times"] = slow
    tables = {table.title: table for table in content.loaders_of(evidence)[0].tables}
    assert tables["Slowest samples"].rows == (("17", "90", "45 times"),)


def test_a_loader_that_was_not_measured_and_a_run_without_any_have_their_place() -> None:
    judged = {"verdict": "not_measured", "reason": "", "evidence": {}, "limits": {}, "advice": []}
    loader = {"id": "a", "nodeid": "a", "description": "", "checks": {"memory": judged}}
    (shown,) = content.loaders_of({"environment": {}, "loaders": [loader]})
    assert (shown.verdict, shown.figures, shown.tables) == ("not_measured", (), ())
    assert content.loaders_of({"environment": {}, "loaders": []}) == []


def test_ranks_are_told_one_by_one(evidence: dict[str, Any]) -> None:
    evidence["loaders"][0]["checks"]["order"]["ranks"] = [
        {"rank": 0, "verdict": "passed", "reason": "fine\nand more", "evidence": {}},
        {"rank": 1, "verdict": "not_measured", "reason": "late", "evidence": {}},
    ]
    order = next(each for each in content.loaders_of(evidence)[0].checks if each.check == "order")
    assert order.ranks == ((0, "passed", "fine"), (1, "not measured", "late"))
