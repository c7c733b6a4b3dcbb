"""The workflows, the action and the metadata of a release: each step's script is run, and what it names exists."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import requires
from pathlib import Path
from typing import Any

import dl_lint
import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = {path.stem: path for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))}
FAULTY = """
from torch.utils.data import DataLoader

loader = DataLoader([1], pin_memory_device="cuda")
"""
LOADER = """
import torch
from torch.utils.data import DataLoader, TensorDataset


def make():
    return DataLoader(TensorDataset(torch.zeros(64, 2)), batch_size=8)
"""


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


def steps(name: str) -> list[dict[str, Any]]:
    return [step for job in read(WORKFLOWS[name])["jobs"].values() for step in job["steps"]]


def bash(script: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a step as a runner does, with this Python as ``python``."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("name", WORKFLOWS)
def test_actions_are_pinned_by_digest_and_no_job_may_write_without_saying_so(name: str) -> None:
    used = [step["uses"] for step in steps(name) if "uses" in step]
    assert used
    assert not [each for each in used if not re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", each)]
    assert read(WORKFLOWS[name])["permissions"] == {"contents": "read"}


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_script_of_a_workflow_is_a_target_of_make_that_ci_runs_too(name: str) -> None:
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    others = {"bash .ci/run", "python -m pip install ./lint", "dl-lint examples/jpeg"}
    for step in steps(name):
        if "run" in step and "name" not in step and step["run"] not in others:
            target = re.fullmatch(r"make (\w+)( ONLY=.*)?", step["run"])
            assert target
            assert f"\nmake {target[1]}" in ci


def test_the_linter_finds_nothing_in_the_example_that_a_workflow_lints() -> None:
    assert bash("dl-lint examples/jpeg", ROOT).returncode == 0


def test_the_matrix_has_the_releases_of_torch_that_are_tried_here() -> None:
    spec = importlib.util.spec_from_file_location("matrix", ROOT / "benchmarks" / "matrix" / "run.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["matrix"] = module
    spec.loader.exec_module(module)
    tried = {each.torch.rpartition(".")[0] for each in module.ENVIRONMENTS}
    assert set(read(WORKFLOWS["tests"])["jobs"]["matrix"]["strategy"]["matrix"]["torch"]) == tried


def test_the_tag_of_a_release_is_compared_with_the_files(tmp_path: Path) -> None:
    [script] = [step["run"] for step in steps("release") if step.get("name") == "The tag is the version of both"]
    (tmp_path / "dist").mkdir()
    for name in ("dl_lint", "pytest_dataloader"):
        (tmp_path / "dist" / f"{name}-{dl_lint.__version__}-py3-none-any.whl").touch()
    assert bash(script, tmp_path, GITHUB_REF_NAME=f"v{dl_lint.__version__}").returncode == 0
    assert bash(script, tmp_path, GITHUB_REF_NAME="v9.9.9").returncode != 0


def test_the_action_lints_and_measures(tmp_path: Path) -> None:
    lint, measure = read(ROOT / "action.yml")["runs"]["steps"]
    install, *rest = lint["run"].splitlines()
    assert install == 'python -m pip install --quiet "dl-lint==$VERSION"'
    (tmp_path / "data.py").write_text(FAULTY)
    ran = bash("\n".join(rest), tmp_path, ARGS="data.py")
    assert ran.returncode == 1
    assert ran.stdout.startswith("::warning title=dl-lint DL209 ignored-pin-memory-device,file=data.py,line=4,")
    install, *rest = measure["run"].splitlines()
    assert install == 'python -m pip install --quiet "pytest-dataloader==$VERSION"'
    (tmp_path / "data.py").write_text(LOADER)
    (tmp_path / "pyproject.toml").write_text('[tool.pytest-dataloader.targets.train]\nloader = "data:make"\n')
    ran = bash("\n".join(rest), tmp_path, ARGS="--dataloader-quick --dataloader-checks fds -p no:cacheprovider")
    assert ran.returncode == 0, ran.stdout
    assert "1 passed" in ran.stdout


def test_one_version_is_said_everywhere() -> None:
    version = dl_lint.__version__
    plugin = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert plugin["version"] == version
    assert read(ROOT / "CITATION.cff")["version"] == version
    assert json.loads((ROOT / "editors" / "vscode" / "package.json").read_text())["version"] == version
    assert read(ROOT / "action.yml")["inputs"]["version"]["default"] == version


def test_both_distributions_say_whose_they_are_and_depend_on_what_they_import() -> None:
    plugin = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = [each for each in requires("pytest-dataloader") or () if "extra ==" not in each]
    linter = tomllib.loads((ROOT / "lint" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for project in (plugin, linter):
        assert {"Documentation", "Source", "Issues", "Changelog"} <= project["urls"].keys()
        assert project["authors"]
    names = {re.split(r"[<>=]", each)[0] for each in linter["dependencies"]}
    assert names == {"libcst", "pathspec", "pyyaml", "rich"}
    assert {re.split(r"[<>= ]", each)[0] for each in needed} == {"dl-lint", "psutil", "pytest", "rich"}
    assert (ROOT / "lint" / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


@pytest.mark.parametrize(
    "path", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")), ids=lambda path: path.stem
)
def test_a_form_has_what_forms_need(path: Path) -> None:
    form = read(path)
    if path.stem == "config":
        assert form["contact_links"]
        return
    assert {"name", "description", "body"} <= form.keys()
    ids = [part["id"] for part in form["body"]]
    assert len(ids) == len(set(ids))
    assert all(part["attributes"]["label"] for part in form["body"])
