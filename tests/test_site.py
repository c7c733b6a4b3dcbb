"""The documentation site: it builds without a broken link, its search finds, its how-to pages name what exists."""

from __future__ import annotations

import importlib.util
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from dl_lint import cli
from dl_lint.engine import catalogue

from pytest_dataloader.probe.timing import bottleneck
from tests import chromium

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
NEW = [DOCS / "index.md", DOCS / "start.md", *sorted((DOCS / "how-to").glob("*.md"))]
MADE = {"changelog.md", "project/contributing.md", "project/security.md", "reference/command-line.md"}
MADE |= {"reference/python.md", *(f"rules/{code}.md" for code in catalogue.entries())}
MADE |= {"schemas/pyproject.json", "schemas/report.json"}


TRAIN = """
import torch
from torch.utils.data import DataLoader, TensorDataset


def make_loader():
    return DataLoader(TensorDataset(torch.zeros(512, 8)), batch_size=32, shuffle=True, num_workers=2)
"""


def leaves(nav: Any) -> Iterator[str]:
    """The pages of a navigation."""
    if isinstance(nav, str):
        yield nav
    for each in nav if isinstance(nav, list) else nav.values() if isinstance(nav, dict) else ():
        yield from leaves(each)


def consoles(page: Path, program: str) -> list[str]:
    blocks = re.findall(r"^```console\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [line[2:] for block in blocks for line in block.splitlines() if line.startswith(f"$ {program} ")]


def test_every_page_is_in_the_navigation_once() -> None:
    nav = list(leaves(yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]))
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    nav = [page for page in nav if not page.startswith("https://")]
    assert len(nav) == len(set(nav))
    assert pages <= set(nav)
    assert set(nav) - pages <= MADE


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.stem)
def test_links_of_a_page_lead_to_pages(page: Path) -> None:
    links = re.findall(r"\]\(((?!https?:|#)[^)#\s]+)", page.read_text(encoding="utf-8"))
    targets = [(page.parent / link).resolve() for link in links]
    assert not [
        str(target) for target in targets if not target.exists() and target.relative_to(DOCS).as_posix() not in MADE
    ]


@pytest.mark.parametrize("command", sorted({line for page in NEW for line in consoles(page, "dl-lint")}))
def test_commands_of_the_linter_run(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "data.py").write_text("import torch\n")
    monkeypatch.chdir(tmp_path)
    assert cli.main(shlex.split(command)[1:]) == 0
    assert "No findings" in capsys.readouterr().out


COMMANDS = sorted({line for page in NEW for line in consoles(page, "pytest-dataloader") if " run " not in line})


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_commands_measure(command: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    words = [sys.executable, "-m", "pytest_dataloader", *shlex.split(command)[1:]]
    ran = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    nothing_to_measure = {"resume", "shards"} & set(words)  # no state, no ranks
    assert ran.returncode == (2 if nothing_to_measure else 0), ran.stdout + ran.stderr


def test_each_bottleneck_that_stages_names_has_its_remedy() -> None:
    page = (DOCS / "how-to" / "gpu-waits.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| (\w[^|]*) \| ", page, re.MULTILINE)[1:] == list(bottleneck._WHAT.values())


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built."""
    if importlib.util.find_spec("material") is None:
        pytest.skip("mkdocs-material is not installed: make .venv/.installed-docs")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return folder


@pytest.mark.slow
def test_the_site_has_a_page_for_each_rule_at_its_address(site: Path) -> None:
    for entry in catalogue.entries().values():
        path = site / catalogue.url(entry).removeprefix(f"{catalogue.SITE}/") / "index.html"
        assert f"{entry.code} {entry.name}" in path.read_text(encoding="utf-8")


@pytest.mark.slow
def test_pages_fit_a_narrow_and_a_wide_window_and_the_filter_of_rules_filters(site: Path) -> None:
    program = chromium.found() or pytest.skip("no Chromium is installed")
    with chromium.browser(program) as running, running.tab() as page:
        for path in ("index.html", "memory/index.html", "rules/index.html", "reference/memory/index.html"):
            for width in (390, 1280):
                page.look(width, mobile=width == 390)
                page.open(site / path)
                assert page.evaluate("document.documentElement.scrollWidth") <= width, (path, width)
        page.open(site / "rules" / "index.html")
        page.evaluate(
            "(f => { f.value = 'dl30 bug'; f.dispatchEvent(new Event('input')); })(document.getElementById('filter'))"
        )
        shown = page.evaluate("[...document.querySelectorAll('article tbody tr')].filter(r => !r.hidden).length")
        assert 0 < shown < len(catalogue.entries()) / 2
