"""Formats that programs read."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from dl_lint.engine.report import Report
from dl_lint.output import Look, concise, github, gitlab, renderer
from dl_lint.output import json as ruffs_json
from dl_lint.source.positions import Place

Make = Callable[..., Report]


def test_concise_is_one_line_a_finding(report: Report, look: Look) -> None:
    assert "".join(concise.render(report, look)) == (
        "src/a b,c:%.py:1:8: DL001 [*] silences nothing\n"
        "src/data.py:4:1: DL211 assigning `dataset` raises ValueError: 100 % of the time\n"
    )
    unsafe = Look(look.lines, unsafe=True)
    assert "src/data.py:4:1: DL211 [*] " in "".join(concise.render(report, unsafe))


def test_json_has_the_shape_of_ruffs_with_name_severity_and_related_places(report: Report, look: Look) -> None:
    advice, bug = json.loads("".join(ruffs_json.render(report, look)))
    at = {"filename": "src/data.py", "location": {"row": 4, "column": 1}, "end_location": {"row": 4, "column": 15}}
    assert {key: bug[key] for key in at} == at
    assert (bug["code"], bug["name"], bug["severity"]) == ("DL211", "loader-argument-set-later", "bug")
    assert bug["message"].startswith("assigning")
    assert bug["bytes_per_sample"] is None
    assert (bug["cell"], bug["noqa_row"]) == (None, 4)
    assert bug["url"].endswith("/rules/DL211/")
    assert bug["related"] == [
        {
            "message": "built here",
            "filename": "src/data.py",
            "cell": None,
            "location": {"row": 3, "column": 10},
            "end_location": {"row": 3, "column": 27},
        }
    ]
    assert bug["fix"]["applicability"] == "unsafe"
    assert [edit["content"] for edit in bug["fix"]["edits"]] == ["other", "y = 2\n"]
    assert advice["fix"] == {
        "applicability": "safe",
        "message": "remove it",
        "edits": [
            {
                "content": "",
                "filename": "src/a b,c:%.py",
                "cell": None,
                "location": {"row": 1, "column": 6},
                "end_location": {"row": 1, "column": 25},
            }
        ],
    }


def test_github_annotations_escape_what_the_workflow_would_read(report: Report, look: Look) -> None:
    advice, bug = "".join(github.render(report, look)).splitlines()
    assert advice.startswith(
        "::notice title=dl-lint DL001 unused-suppression,"
        "file=src/a b%2Cc%3A%25.py,line=1,endLine=1,col=8,endColumn=25::"
    )
    assert bug == (
        "::error title=dl-lint DL211 loader-argument-set-later,file=src/data.py,line=4,endLine=4,col=1,endColumn=15::"
        "src/data.py:4:1: DL211 assigning `dataset` raises ValueError: 100 %25%0Aof the time"
        "%0Ahelp: build another loader"
    )


def test_github_gets_no_columns_for_a_stretch_of_several_lines(one: Make, look: Look) -> None:
    [line] = github.render(one(Place("a.py", (4, 2, 6, 3))), look)
    assert line.startswith("::warning title=dl-lint DL209 ignored-pin-memory-device,file=a.py,line=4,endLine=6::")


def test_gitlab_issues_have_what_the_widget_reads(report: Report, look: Look) -> None:
    issues = json.loads("".join(gitlab.render(report, look)))
    assert [issue["severity"] for issue in issues] == ["info", "critical"]
    assert {"description", "check_name", "fingerprint", "severity", "location"} <= issues[1].keys()
    assert issues[1]["location"] == {
        "path": "src/data.py",
        "positions": {"begin": {"line": 4, "column": 1}, "end": {"line": 4, "column": 15}},
    }
    assert len({issue["fingerprint"] for issue in issues}) == 2


def test_a_gitlab_fingerprint_survives_a_shift_and_tells_twins_apart(one: Make) -> None:
    def fingerprints(report: Report, *lines: str) -> list[str]:
        return [issue["fingerprint"] for issue in json.loads("".join(gitlab.render(report, Look(lambda _: lines))))]

    here, below = one(Place("a.py", (1, 0, 1, 1))), one(Place("a.py", (3, 0, 3, 1)))
    both = Report(here.findings + below.findings, (), 1)
    assert fingerprints(here, "x = 1") == fingerprints(below, "", "", "  x = 1")
    twins = fingerprints(both, "x = 1", "", "x = 1")
    assert len(set(twins)) == 2
    assert twins[0] == fingerprints(here, "x = 1")[0]


def test_gitlab_paths_start_at_the_top_of_the_project(one: Make, look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI_PROJECT_DIR", "/builds/group/project")
    [issue] = json.loads("".join(gitlab.render(one(Place("/builds/group/project/src/a.py", (1, 0, 1, 1))), look)))
    assert issue["location"]["path"] == "src/a.py"


@pytest.mark.parametrize("name", ["json", "gitlab"])
def test_no_findings_are_an_empty_list(name: str, look: Look) -> None:
    assert json.loads("".join(renderer(name)(Report((), (), 3), look))) == []
