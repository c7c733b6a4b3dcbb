"""README.md is executed: its settings are read, its test is run, its commands and options exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_dataloader import checks
from pytest_dataloader.checks import NAMES
from tests.variants import variants

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()

PIPELINE = """
import torch
from torch.utils.data import DataLoader, TensorDataset


def make_train_loader():
    return DataLoader(TensorDataset(torch.zeros(512, 8)), batch_size=32, shuffle=True, num_workers=2)
"""


def blocks(language: str) -> list[str]:
    """The fenced blocks of README.md in one language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def run(*command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *command], cwd=cwd, capture_output=True, text=True, check=False)


def console_lines(program: str) -> list[str]:
    lines = "".join(blocks("console")).splitlines()
    return [line.partition("#")[0].strip() for line in lines if line.startswith(f"$ {program} ")]


@pytest.mark.parametrize(
    ("more", "skipped"), variants({"whole": ((), 3), "quick": (("--dataloader-quick",), 0)}, ["quick"])
)
def test_the_declared_target_and_the_test_of_the_readme_run(
    tmp_path: Path, more: tuple[str, ...], skipped: int
) -> None:
    settings = next(block for block in blocks("toml") if "pytest-dataloader" in block)
    (tmp_path / "pyproject.toml").write_text(settings)
    (tmp_path / "proj").mkdir()
    (tmp_path / "proj" / "__init__.py").write_text("")
    (tmp_path / "proj" / "data.py").write_text(PIPELINE)
    (tmp_path / "test_data.py").write_text(blocks("python")[0])
    options = ("--dataloader-bench", "--dataloader-seconds=0.3", "-p", "no:cacheprovider")
    done = run("pytest", *options, *more, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    # No ranks, no state and no accelerator: shards, resume and transfer are not measured.
    assert re.search(rf"\b{len(NAMES) - 2} passed{f', {skipped} skipped' if skipped else ' in'}", done.stdout), (
        done.stdout
    )


def test_the_linter_reads_the_settings_of_the_readme(tmp_path: Path) -> None:
    settings = next(block for block in blocks("toml") if "dl-lint" in block)
    (tmp_path / "pyproject.toml").write_text(settings)
    (tmp_path / "data.py").write_text(PIPELINE)
    done = run("dl_lint", ".", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("line", console_lines("dl-lint"))
def test_the_linter_commands_of_the_readme_are_understood(line: str, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "data.py").write_text(PIPELINE)
    done = run("dl_lint", *line.split()[2:], cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_option_of_the_readme_and_of_its_page_exists() -> None:
    help_text = run("pytest", "--help", cwd=ROOT).stdout
    options = set(re.findall(r"--dataloader-[a-z]+", README + (ROOT / "docs" / "pytest.md").read_text()))
    assert {"--dataloader-bench", "--dataloader-json"} <= options
    assert not {option for option in options if option not in help_text}


def test_every_make_target_of_the_readme_exists() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = re.findall(r"`make (\w+)`", README)
    assert targets == ["demo", "test"]
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)


def test_every_hook_of_the_readme_is_offered() -> None:
    wanted = re.findall(r"- id: (\S+)", blocks("yaml")[0])
    offered = re.findall(r"- id: (\S+)", (ROOT / ".pre-commit-hooks.yaml").read_text())
    assert wanted
    assert set(wanted) <= set(offered)


def test_every_check_is_named_with_its_limits() -> None:
    page = (ROOT / "docs" / "checks.md").read_text()
    rows = {row[0]: row[1] for row in re.findall(r"^\| `(\w+)` \|[^|]*\|([^|]*)\|", page, re.MULTILINE)}
    assert set(rows) == set(NAMES)
    for name, limits in rows.items():
        assert {each for each in checks.limits_of(name) if f"`{each}`" not in limits} == set()


def test_every_command_of_the_readme_exists(tmp_path: Path) -> None:
    commands = {line.split()[2] for line in console_lines("pytest-dataloader")}
    assert commands == {"run", "check"}
    help_text = run("pytest_dataloader", "--help", cwd=tmp_path).stdout
    assert all(f"\n  {command} " in help_text for command in commands)


def test_the_readme_is_short() -> None:
    assert len(README.split()) <= 500


def test_every_file_that_the_readme_links_to_exists() -> None:
    links = re.findall(r"\]\(((?!https?:)[^)#]+)\)", README)
    assert links
    assert not [link for link in links if not (ROOT / link).exists()]
