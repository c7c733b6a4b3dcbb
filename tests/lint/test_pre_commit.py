"""The hook of docs/dl-lint.md, installed and run by pre-commit itself: it brings the linter, and no pytest."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.lint.conftest import Project

ROOT = Path(__file__).parents[2]
HOOK = re.findall(r"^```yaml\n(repos:.*?)^```", (ROOT / "docs" / "dl-lint.md").read_text(), re.MULTILINE | re.DOTALL)[0]

# What pip says when it cannot reach an index.
OFFLINE = ("No matching distribution found", "Could not find a version", "Temporary failure in name resolution")


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def skip_where_offline(text: str) -> None:
    if any(said in text for said in OFFLINE):
        pytest.skip("pip cannot install what is needed: no package index can be reached")


@pytest.fixture
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel of the linter as it is now, where pip looks for it."""
    folder = tmp_path_factory.mktemp("wheels")
    copy = tmp_path_factory.mktemp("lint") / "lint"
    shutil.copytree(ROOT / "lint", copy, ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", str(folder), str(copy)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    skip_where_offline(done.stderr)
    assert done.returncode == 0, done.stderr
    return folder


def run_hooks(project: Project, wheels: Path, config: str) -> tuple[int, str]:
    pytest.importorskip("pre_commit", reason="pre-commit is not installed")
    project.write({".pre-commit-config.yaml": config})
    links = f"{os.environ.get('PIP_FIND_LINKS', '')} {wheels}".strip()
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", "run", "--all-files", "--color=never"],
        cwd=project.root,
        env={**os.environ, "PRE_COMMIT_HOME": str(wheels / "home"), "PIP_FIND_LINKS": links},
        capture_output=True,
        text=True,
        timeout=580,
        check=False,
    )
    skip_where_offline(done.stdout + done.stderr)
    return done.returncode, done.stdout


@pytest.mark.slow
def test_the_hook_names_a_fault_fixes_it_and_then_passes(
    project: Project, wheels: Path, faulty: str, mended: str
) -> None:
    project.write({"data.py": faulty, "notes.txt": faulty, ".gitignore": "build/\n"})
    git(project.root, "init")
    git(project.root, "add", ".")
    status, shown = run_hooks(project, wheels, HOOK)
    assert status == 1, shown
    assert "- hook id: dl-lint\n- exit code: 1\n" in shown
    assert "DL209 ignored-pin-memory-device" in shown
    assert "--> data.py:5:64" in shown
    assert not list(wheels.glob("home/**/site-packages/pytest"))
    assert list(wheels.glob("home/**/site-packages/libcst"))
    status, shown = run_hooks(project, wheels, HOOK.replace("entry: dl-lint ", "entry: dl-lint --fix "))
    assert "- files were modified by this hook" in shown
    assert "Fixed 1 finding; 0 left." in shown
    assert project.read("data.py") == mended
    assert project.read("notes.txt") == faulty
    git(project.root, "add", ".")
    status, shown = run_hooks(project, wheels, HOOK)
    assert (status, "Passed" in shown) == (0, True), shown


@pytest.mark.slow
def test_the_hooks_of_the_repository_install_the_linter_of_its_checkout(
    project: Project, wheels: Path, faulty: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    copy = tmp_path_factory.mktemp("repository") / "hooks"
    names = ("pyproject.toml", "hatch_build.py", ".pre-commit-hooks.yaml", "README.md", "LICENSE")
    for name in ("pytest_dataloader", "lint"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in names:
        shutil.copy(ROOT / name, copy)
    git(copy, "init")
    git(copy, "add", ".")
    git(copy, "commit", "-m", "hooks")
    project.write({"data.py": faulty})
    git(project.root, "init")
    git(project.root, "add", ".")
    revision = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=copy, capture_output=True, text=True, check=True
    ).stdout.strip()
    config = f"repos:\n  - repo: {copy}\n    rev: {revision}\n    hooks:\n      - id: dl-lint\n"
    status, shown = run_hooks(project, wheels, config)
    assert status == 1, shown
    assert "DL209 ignored-pin-memory-device" in shown
