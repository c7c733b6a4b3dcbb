"""SARIF: the parts that code scanning reads, and the rules of the standard that are easy to break."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote

import pytest
from dl_lint.engine.report import Report
from dl_lint.output import Look, sarif


@pytest.fixture
def run(report: Report, look: Look) -> Any:
    document = json.loads("".join(sarif.render(report, look)))
    assert document["version"] == "2.1.0"
    [run] = document["runs"]
    return run


def test_results_name_their_rules_by_id_and_position(run: Any) -> None:
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["DL001", "DL211"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    assert [result["level"] for result in run["results"]] == ["note", "error"]
    assert [result["rank"] for result in run["results"]] == [10.0, 90.0]
    assert all(rule["help"]["markdown"].startswith(rule["shortDescription"]["text"]) for rule in rules)


def test_regions_count_from_one_and_their_end_is_exclusive(run: Any) -> None:
    [location] = run["results"][1]["locations"]
    assert location["physicalLocation"] == {
        "artifactLocation": {"uri": "src/data.py"},
        "region": {"startLine": 4, "startColumn": 1, "endLine": 4, "endColumn": 15},
    }
    assert run["columnKind"] == "unicodeCodePoints"


def test_related_places_and_fixes_come_along(run: Any) -> None:
    result = run["results"][1]
    [related] = result["relatedLocations"]
    assert related["message"] == {"text": "built here"}
    [fix] = result["fixes"]
    assert [change["artifactLocation"]["uri"] for change in fix["artifactChanges"]] == [
        "src/data.py",
        "src/a%20b%2Cc%3A%25.py",
    ]
    [replacement] = fix["artifactChanges"][0]["replacements"]
    assert replacement == {
        "deletedRegion": {"startLine": 3, "startColumn": 21, "endLine": 3, "endColumn": 23},
        "insertedContent": {"text": "other"},
    }


def test_paths_are_encoded_as_uris(run: Any) -> None:
    uri = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert ":" not in uri
    assert unquote(uri) == "src/a b,c:%.py"
    assert sarif._uri("/abs/\udcff.py") == "file:///abs/%FF.py"


def test_what_could_not_be_checked_is_a_notification_of_an_unsuccessful_run(run: Any) -> None:
    [invocation] = run["invocations"]
    assert invocation["executionSuccessful"] is False
    [notice] = invocation["toolExecutionNotifications"]
    assert notice["message"] == {"text": "syntax error"}
    assert notice["locations"][0]["physicalLocation"]["region"] == {"startLine": 3}


def test_a_clean_run_is_successful_and_empty(look: Look) -> None:
    [run] = json.loads("".join(sarif.render(Report((), (), 3), look)))["runs"]
    assert (run["results"], run["invocations"][0]["executionSuccessful"]) == ([], True)
