"""Figures of many runs in a table, and of one in the formats of services."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from pytest_dataloader.diagnosis.command import main
from pytest_dataloader.report import comparison, history

if TYPE_CHECKING:
    from pathlib import Path

BENCHER = {
    "type": "object",
    "additionalProperties": {
        "type": "object",
        "additionalProperties": {
            "type": "object",
            "properties": {each: {"type": "number"} for each in ("value", "lower_value", "upper_value")},
            "required": ["value"],
            "additionalProperties": False,
        },
    },
}
"""As Bencher documents its format."""


def document(rate: float, peak: object = 8) -> dict[str, Any]:
    rest = {"verdict": "passed", "reason": "", "limits": {}, "advice": []}
    throughput = {**rest, "evidence": {"samples_per_second": rate, "interval": [rate - 1, rate + 1]}}
    checks = {"throughput": throughput, "fds": {**rest, "evidence": {"peak": peak}}}
    loader = {"id": "train", "nodeid": "pyproject.toml::train", "description": "", "checks": checks}
    return {"schema": 1, "environment": {}, "loaders": [loader]}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, rate in (("a", 100.0), ("b", 200.0), ("c", 400.0)):
        (tmp_path / f"{name}.json").write_text(json.dumps(document(rate)))
    return tmp_path


def test_a_row_has_the_figure_of_each_run_and_nothing_where_a_run_has_none() -> None:
    runs = [comparison.read_run(each) for each in (document(100), document(200, peak="many"))]
    assert history.history_rows(runs) == [
        ("train", "throughput", "samples/s", "100", "200"),
        ("train", "fds", "peak of descriptors", "8", ""),
    ]


@pytest.mark.usefixtures("folder")
def test_of_more_than_two_runs_all_figures_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "a.json", "b.json", "c.json"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0] == "a.json -> c.json: 2 the same"
    assert "train throughput samples/s 100 200 400" in " ".join(out.split())
    assert main(["compare", "a.json", "b.json", "c.json", "--markdown"]) == 0
    assert "| train | throughput | samples/s | 100 | 200 | 400 |" in capsys.readouterr().out
    assert main(["compare", "a.json", "c.json"]) == 0
    assert "200" not in capsys.readouterr().out


def test_markdown_in_a_file_has_the_list_too(folder: Path) -> None:
    assert main(["compare", "a.json", "b.json", "c.json", "--markdown", "page.md"]) == 0
    assert "| 100 | 200 | 400 |" in (folder / "page.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("folder")
def test_a_run_in_the_formats_of_services(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "a.json"]) == 0
    found = json.loads(capsys.readouterr().out)
    jsonschema.validate(found, BENCHER)
    assert found == {
        "train/throughput": {"samples-per-second": {"value": 100.0, "lower_value": 99.0, "upper_value": 101.0}},
        "train/fds": {"peak": {"value": 8.0}},
    }
    assert main(["export", "a.json", "--format", "bigger-is-better"]) == 0
    assert json.loads(capsys.readouterr().out) == [
        {"name": "train/throughput: samples/s", "unit": "samples/s", "value": 100.0, "range": "99 to 101"}
    ]
    assert main(["export", "a.json", "--format", "smaller-is-better"]) == 0
    [peak] = json.loads(capsys.readouterr().out)
    assert peak == {"name": "train/fds: peak of descriptors", "unit": "descriptors", "value": 8.0}


@pytest.mark.usefixtures("folder")
def test_what_is_no_report_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "missing.json"]) == 2
    assert capsys.readouterr().err == "pytest-dataloader export: cannot read missing.json: No such file or directory\n"
