"""README.md is executed: its settings are read, its test is run, its commands and options exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import dl_lint
import pytest
import yaml

from pytest_dataloader import checks
from pytest_dataloader.checks import NAMES
from tests.variants import variants

ROOT = Path(__file__).parent.parent
SITE = "https://pytest-dataloader.github.io/pytest-dataloader/"
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


def test_the_hook_of_the_readme_is_that_of_the_linters_page() -> None:
    [hook] = yaml.safe_load(blocks("yaml")[0])["repos"]
    page = (ROOT / "docs" / "dl-lint.md").read_text(encoding="utf-8")
    [block] = [each for each in re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL) if "repos:" in each]
    assert [hook] == yaml.safe_load(block)["repos"]
    assert hook["hooks"][0]["additional_dependencies"] == [f"dl-lint=={dl_lint.__version__}"]


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


@pytest.mark.parametrize("text", [README, (ROOT / "lint" / "README.md").read_text()], ids=["plugin", "linter"])
def test_every_page_that_a_readme_links_to_exists(text: str) -> None:
    """PyPI shows a README without the files beside it: no link is relative. docs/pages.py makes some pages."""
    made = {"rules", "changelog", "project/contributing"}
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) > 3
    assert all(link.startswith("https://") for link in links)
    pages = [link.removeprefix(SITE).strip("/") for link in links if link.startswith(SITE)]
    docs = ROOT / "docs"
    assert not [
        page
        for page in pages
        if page and page not in made and not (docs / f"{page}.md").exists() and not (docs / page).is_file()
    ]
