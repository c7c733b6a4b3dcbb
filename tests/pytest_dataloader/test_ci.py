"""What a run in a job of GitHub Actions leaves: a summary, and annotations on the lines of limits and of tests."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from pytest_dataloader import diagnose
from pytest_dataloader.diagnosis.command import main
from tests.pytest_dataloader.rendering import annotations_in, page

if TYPE_CHECKING:
    from pathlib import Path

    from tests.pytest_dataloader.conftest import Project

CHECKS = 'checks = ["fds", "order"]'
TESTS = """
import pytest
from proj.data import make


@pytest.mark.parametrize("name", ["a|b<c>::error::%"])
def test_limit(dataloader_fds, name):
    dataloader_fds(make(), max_fd_use=0.00001)


def test_kept(dataloader_fds):
    dataloader_fds(make())
"""


@pytest.fixture
def summary(project: Project, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The summary of a job that has begun."""
    path = project.path / "summary.md"
    path.write_text("# Tests\n\n| before |\n| --- |\n")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(project.path))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    return path


@pytest.mark.parametrize(
    "mode", [pytest.param((), id="alone"), pytest.param(("-n2",), id="xdist", marks=pytest.mark.slow)]
)
def test_a_job_has_a_summary_and_annotations_on_the_lines_that_matter(
    project: Project, summary: Path, mode: tuple[str, ...]
) -> None:
    project.declare(
        train=f'loader = "proj.data:make"\n{CHECKS}\n# of RLIMIT_NOFILE\nmax_fd_use = 0.00001',
        nowhere=f'loader = "proj.data:mke"\n{CHECKS}',
    )
    project.path.joinpath("test_it.py").write_text(TESTS)
    done = project.bench("--dataloader-markdown=deep/er/page.md", "-p", "no:cacheprovider", *mode)
    done.assert_outcomes(passed=2, failed=2, errors=1, skipped=1)
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.stdout.fnmatch_lines([f"-* dataloader summary: {project.path}/deep/er/page.md -*"])
    text = done.stdout.str()
    assert "\x1b" not in text
    found = {each.properties["title"]: each for each in annotations_in(text)}
    assert len(found) == 3
    assert {each.level for each in found.values()} == {"error"}
    lines = project.path.joinpath("pyproject.toml").read_text().splitlines()
    limit = found["dataloader train: fds"]
    assert limit.properties["file"] == "pyproject.toml"
    assert lines[int(limit.properties["line"]) - 1] == "max_fd_use = 0.00001"
    assert limit.message.startswith("peak ")
    declared = found["dataloader nowhere: fds"]
    assert lines[int(declared.properties["line"]) - 1] == "[tool.pytest-dataloader.targets.nowhere]"
    assert "has no attribute 'mke'; did you mean make?" in declared.message
    name = "test_it.py::test_limit[a|b<c>::error::%]"
    measured = found[f"dataloader {name}: fds"].properties
    assert TESTS.splitlines()[int(measured["line"]) - 1].startswith(("def test_limit", "@pytest.mark"))
    assert measured["file"] == "test_it.py"

    written = project.path.joinpath("deep", "er", "page.md").read_text()
    assert summary.read_text() == f"# Tests\n\n| before |\n| --- |\n\n\n{written}"
    seen = page(written)
    assert seen.headings == ["DataLoader checks: 3 failed, 2 passed"]
    assert sorted(row[1:3] for row in seen.tables[0][1:]) == [["nowhere", "fds"], [name, "fds"], ["train", "fds"]]
    assert "train DataLoader(Zeros, batch_size=16, num_workers=0): 1 failed, 1 passed" in seen.summaries


def test_the_summary_as_the_path_is_added_to_once(project: Project, summary: Path) -> None:
    project.declare(train='loader = "proj.data:make"\nchecks = ["fds"]')
    done = project.bench("--dataloader-markdown", str(summary))
    done.assert_outcomes(passed=1)
    assert page(summary.read_text()).headings == ["Tests", "DataLoader checks: 1 passed"]
    assert annotations_in(done.stdout.str()) == []


def test_a_summary_that_cannot_be_written_is_one_line_and_fails_nothing(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(project.path / "proj"))
    project.declare(train='loader = "proj.data:make"\nchecks = ["fds"]')
    done = project.bench()
    done.stdout.fnmatch_lines([f"GITHUB_STEP_SUMMARY: cannot write {project.path}/proj: is a directory; name a file"])
    assert done.stdout.str().count("GITHUB_STEP_SUMMARY") == 1
    assert "Traceback" not in done.stdout.str() + done.stderr.str()
    assert done.ret == pytest.ExitCode.OK


def test_a_run_that_measures_nothing_leaves_the_summary_alone(project: Project, summary: Path) -> None:
    before = summary.read_text()
    project.path.joinpath("test_it.py").write_text(
        "from proj.data import make\ndef test_it(dataloader_throughput): dataloader_throughput(make())\n"
    )
    project.run().assert_outcomes(skipped=1)
    assert summary.read_text() == before


@pytest.mark.slow
def test_every_limit_of_a_loader_that_is_missed_is_named() -> None:
    limits: dict[str, Any] = {
        "max_startup_seconds": 1e-9,
        "max_fd_use": 1e-9,
        "max_shm": "1B",
        "min_samples_per_second": 1e12,
    }
    waiting: dict[str, Any] = {"step_ms": 0.1, "max_stall": 0.0}
    loader = DataLoader(TensorDataset(torch.zeros(4_096, 8)), batch_size=16, num_workers=2)
    report = diagnose(loader, quick=True, checks=["workers", "fds", "shm", "throughput", "stages"], **limits, **waiting)
    missed = {record.check: record.missed for record in report.records if record.verdict == "failed"}
    assert missed.keys() >= {"fds", "shm"}  # on a busy machine the others are inconclusive
    assert set(missed.values()) <= {(limit,) for limit in (*limits, "max_stall")}


COMMAND = """
import functools

import torch
from torch.utils.data import DataLoader, TensorDataset


def passed_on(function):
    return functools.wraps(function)(lambda: function())


@passed_on
def make():
    return DataLoader(TensorDataset(torch.zeros(64, 4)), batch_size=16)
"""


def test_the_command_annotates_the_function_that_makes_the_loader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tmp_path.joinpath("in_a_job.py").write_text(COMMAND)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    command = ["in_a_job:make", "--checks=fds", "--quick", "--max-fd-use=0.00001", "--markdown=page.md"]
    assert main(command) == 1
    (found,) = annotations_in(capsys.readouterr().out)
    assert found.properties == {"file": "in_a_job.py", "line": "12", "title": "dataloader in_a_job:make: fds"}
    written = tmp_path.joinpath("page.md").read_text()
    assert page(written).rows[0][:3] == ["❌ failed", "in_a_job:make", "fds"]
    assert tmp_path.joinpath("summary.md").read_text() == written

    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "page.md"))
    assert main(command) == 1
    assert page(tmp_path.joinpath("page.md").read_text()).headings == ["DataLoader checks: 1 failed"] * 2

    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    assert main([*command[:-2], "--max-fd-use=0.99"]) == 0
    assert capsys.readouterr().err.splitlines() == [
        f"GITHUB_STEP_SUMMARY: cannot write {tmp_path}: is a directory; name a file"
    ]
