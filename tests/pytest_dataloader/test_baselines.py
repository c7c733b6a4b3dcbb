"""The file of baselines: read, found in, updated; and held to in real runs."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from pytest_dataloader.baselines import find_baseline, here, read_baselines, update
from pytest_dataloader.errors import BadBaseline
from pytest_dataloader.probe.timing.evidence import BaselineEntry, Platform

if TYPE_CHECKING:
    from pathlib import Path

    from tests.pytest_dataloader.conftest import Project

pytestmark = pytest.mark.xdist_group("cpu")

KERNELS = {"compute": 0.2, "copy": 0.1}
PLACE = Platform("CPU A", "CPython 3.12", "2.9.0")
ENTRY = BaselineEntry(PLACE, 2, 1.5, 0.0, KERNELS)


def moved(**changes: str) -> Platform:
    return Platform(**{"cpu_model": "CPU A", "python": "CPython 3.12", "torch": "2.9.0", **changes})


def test_what_is_written_is_read_and_a_missing_file_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "new" / "base.json"
    assert read_baselines(path) == {}
    update(path, {"train": ENTRY})
    assert read_baselines(path) == {"train": [ENTRY]}
    assert [entry.name for entry in path.parent.iterdir()] == ["base.json"]


def test_updating_replaces_the_same_loader_and_place_and_keeps_all_else(tmp_path: Path) -> None:
    path = tmp_path / "base.json"
    elsewhere = BaselineEntry(moved(torch="2.10.0"), 2, 1.4, 0.1, KERNELS)
    update(path, {"train": ENTRY, "val": ENTRY})
    update(path, {"train": elsewhere})
    dearer = BaselineEntry(PLACE, 4, 3.0, 0.0, KERNELS)
    update(path, {"train": dearer})
    assert read_baselines(path) == {"train": [elsewhere, dearer], "val": [ENTRY]}
    before = path.read_text()
    update(path, {"train": dearer})
    assert path.read_text() == before  # nothing to review where nothing changed


@pytest.mark.parametrize(
    ("place", "words"),
    [
        (moved(cpu_model="CPU B"), "CPU A, CPython 3.12, torch 2.9.0; here it is CPU B"),
        (moved(python="CPython 3.13"), "here it is CPU A, CPython 3.13"),
        (moved(torch="2.10.0"), "torch 2.10.0"),
    ],
)
def test_another_place_is_said_and_not_compared(place: Platform, words: str) -> None:
    entry, reason = find_baseline({"train": [ENTRY]}, "train", place)
    assert entry is None
    assert words in reason
    assert find_baseline({"train": [ENTRY]}, "train", PLACE) == (ENTRY, "")
    assert "holds none of this loader" in find_baseline({"train": [ENTRY]}, "val", PLACE)[1]


GOOD = {
    "cpu_model": "a", "python": "b", "torch": "c", "num_workers": 0,
    "cpu_ms_per_sample": 1.0, "wait_ms_per_sample": 0, "kernel_ms": {"compute": 0.1},
}  # fmt: skip


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "is no JSON"),
        ("", "is no JSON"),
        ("[]", "is no file of baselines"),
        ('{"schema": 1}', "is no file of baselines"),
        ('{"schema": 2, "loaders": {}}', "schema 2 is not 1"),
        ({"train": {}}, 'loaders["train"]: expected a list'),
        ({"train": [3]}, 'loaders["train"][0]: expected a table, got 3'),
        ({"train": [{**GOOD, "torch": None}]}, 'loaders["train"][0].torch: expected text, got null'),
        ({"train": [GOOD, {**GOOD, "cpu_ms_per_sample": "1"}]}, '[1].cpu_ms_per_sample: expected a number above 0'),
        ({"train": [{**GOOD, "cpu_ms_per_sample": True}]}, "cpu_ms_per_sample: expected a number above 0, got true"),
        ({"train": [{**GOOD, "cpu_ms_per_sample": -1}]}, "expected a number above 0, got -1"),
        ({"train": [{**GOOD, "wait_ms_per_sample": -1}]}, "wait_ms_per_sample: expected a number from 0"),
        ({"train": [{**GOOD, "num_workers": 1.5}]}, "num_workers: expected a whole number"),
        ({"train": [{**GOOD, "kernel_ms": {}}]}, "kernel_ms: expected a table of numbers"),
        ({"train": [{**GOOD, "kernel_ms": {"compute": 0}}]}, "kernel_ms.compute: expected a number above 0, got 0"),
    ],
)  # fmt: skip
def test_a_broken_file_names_itself_and_stays_as_it_is(tmp_path: Path, content: Any, words: str) -> None:
    path = tmp_path / "base.json"
    text = content if isinstance(content, str) else json.dumps({"schema": 1, "loaders": content})
    path.write_text(text)
    for use in (lambda: read_baselines(path), lambda: update(path, {"train": ENTRY})):
        with pytest.raises(BadBaseline) as raised:
            use()
        assert str(raised.value).startswith(str(path))
        assert words in str(raised.value)
    assert path.read_text() == text


UPDATE = """
import sys
from pathlib import Path
from pytest_dataloader.baselines import update
from pytest_dataloader.probe.timing.evidence import BaselineEntry
from pytest_dataloader.probe.timing.evidence import Platform
for number in range(20):
    entry = BaselineEntry(Platform("a", "b", "c"), 0, 1.0, 0.0, {"compute": 1.0})
    update(Path(sys.argv[1]), {f"{sys.argv[2]}{number}": entry})
"""


@pytest.mark.skipif(sys.platform == "win32", reason="folders cannot be locked")
def test_processes_that_update_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "base.json"
    runs = [subprocess.Popen([sys.executable, "-c", UPDATE, str(path), name]) for name in "abc"]
    assert [run.wait(timeout=60) for run in runs] == [0, 0, 0]
    assert len(read_baselines(path)) == 60


def test_this_place_is_named() -> None:
    place = here()
    assert place == here()
    assert place.python.endswith(f"{sys.version_info[0]}.{sys.version_info[1]}")
    assert place.cpu_model
    assert place.torch[0].isdigit()


ONLY = 'checks = ["throughput"]'
TWO = dict.fromkeys(("one", "two"), f'loader = "proj.data:make_with_workers"\n{ONLY}')
TEST = "from proj.data import make\ndef test_it(dataloader_throughput): dataloader_throughput(make())\n"
BASE = "--dataloader-baseline=base.json"
LONGER = "--dataloader-seconds=0.6"


@pytest.mark.parametrize(
    "mode", [pytest.param((), id="alone"), pytest.param(("-n2",), id="xdist", marks=pytest.mark.slow)]
)
def test_a_run_records_and_a_later_one_is_held_to_it(project: Project, mode: tuple[str, ...]) -> None:
    project.declare(**TWO)
    project.path.joinpath("test_it.py").write_text(TEST)
    base = project.path / "base.json"
    project.bench(BASE, LONGER, "--dataloader-update-baseline", *mode).assert_outcomes(passed=3)
    assert sorted(read_baselines(base)) == ["one", "test_it.py::test_it", "two"]
    assert project.loaders["one"]["checks"]["baseline"]["reason"].endswith("ms of CPU per sample, recorded")

    content = json.loads(base.read_text())
    content["loaders"]["one"][0]["cpu_ms_per_sample"] /= 20
    content["loaders"]["two"][0]["cpu_ms_per_sample"] *= 20
    content["loaders"]["test_it.py::test_it"][0]["python"] = "CPython 2.7"
    base.write_text(json.dumps(content))
    done = project.bench(BASE, LONGER, *mode)
    done.assert_outcomes(passed=2, failed=1)
    failure = next(case.find("failure") for name, case in project.cases.items() if "one" in name)
    assert failure is not None
    assert "times the baseline" in str(failure.get("message"))
    assert "pytest --dataloader-update-baseline, if this cost is accepted" in str(failure.get("message"))
    seen = {name: loader["checks"]["baseline"] for name, loader in project.loaders.items()}
    assert {name: each["verdict"] for name, each in seen.items()} == {
        "one": "failed", "two": "passed", "test_it.py::test_it": "not_measured",
    }  # fmt: skip
    assert "CPython 2.7" in seen["test_it.py::test_it"]["reason"]
    assert json.loads(base.read_text()) == content


def test_a_broken_file_ends_the_run_before_it_begins(project: Project) -> None:
    project.declare(**TWO)
    project.path.joinpath("base.json").write_text("{")
    done = project.bench(BASE, "--dataloader-update-baseline")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines([f"ERROR: --dataloader-baseline: {project.path}/base.json is no JSON*"])
    assert "Traceback" not in done.stderr.str()
    assert project.path.joinpath("base.json").read_text() == "{"


def test_without_a_file_the_header_says_how_to_get_one(project: Project) -> None:
    project.declare(**TWO)
    done = project.collect("--dataloader-bench", BASE)
    done.stdout.fnmatch_lines(["dataloader:*baselines: base.json, which does not exist: --dataloader-update-baseline*"])
    done = project.collect("--dataloader-bench", "--dataloader-update-baseline")
    done.stderr.fnmatch_lines(["ERROR: --dataloader-update-baseline needs --dataloader-baseline PATH*"])
