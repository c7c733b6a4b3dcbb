"""The hooks, installed and run by pre-commit itself from a copy of this checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.lint.conftest import Project

ROOT = Path(__file__).parents[2]

# What pip says when it cannot reach an index.
OFFLINE = ("No matching distribution found", "Could not find a version", "Temporary failure in name resolution")


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What pre-commit would clone: the package and its hooks as they are now, in a repository of their own."""
    copy = tmp_path_factory.mktemp("hooks")
    for name in ("pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml"):
        shutil.copy(ROOT / name, copy)
    for name in ("lint", "pytest_dataloader"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    git(copy, "init")
    git(copy, "add", ".")
    git(copy, "commit", "-m", "all")
    return copy


def try_repo(project: Project, hooks: Path, *hook: str) -> tuple[int, str]:
    pytest.importorskip("pre_commit", reason="pre-commit is not installed")
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", "try-repo", str(hooks), *hook, "--all-files", "--color=never"],
        cwd=project.root,
        env={**os.environ, "PRE_COMMIT_HOME": str(hooks / "home")},
        capture_output=True,
        text=True,
        timeout=580,
        check=False,
    )
    if any(said in done.stdout + done.stderr for said in OFFLINE):
        pytest.skip("pip cannot install the hooks' environment: no package index can be reached")
    return done.returncode, done.stdout


@pytest.mark.slow
def test_hooks_name_a_fault_mend_it_and_then_pass(project: Project, hooks: Path, faulty: str, mended: str) -> None:
    project.write({"data.py": faulty, "notes.txt": faulty, ".gitignore": "build/\n"})
    git(project.root, "init")
    git(project.root, "add", ".")
    status, shown = try_repo(project, hooks)
    assert status == 1, shown
    report, _, repair = shown.partition("dl-lint --fix")
    assert "- hook id: dl-lint\n- exit code: 1\n" in report
    assert "DL209 ignored-pin-memory-device" in report
    assert "--> data.py:5:64" in report
    assert "- files were modified by this hook" in repair
    assert "Fixed 1 finding; 0 left." in repair
    assert project.read("data.py") == mended
    assert project.read("notes.txt") == faulty
    git(project.root, "add", ".")
    status, shown = try_repo(project, hooks, "dl-lint")
    assert (status, "Passed" in shown) == (0, True), shown
