"""Every page that users read is in plain words: what a test can hold of it (tests/wording.py)."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests import wording

ROOT = Path(__file__).parent.parent
PAGES = [
    *sorted((ROOT / "docs").rglob("*.md")),
    *(ROOT / name for name in ("README.md", "lint/README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")),
]
RULES = sorted((ROOT / "lint" / "dl_lint" / "rules").glob("[!_]*.py"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_has_no_private_words(page: Path) -> None:
    assert wording.private_words(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.stem)
def test_the_page_of_a_rule_has_no_private_words(rule: Path) -> None:
    documentation = ast.get_docstring(ast.parse(rule.read_text(encoding="utf-8"))) or ""
    assert documentation
    assert wording.private_words(documentation) == []


@pytest.mark.parametrize("package", [ROOT / "pytest_dataloader", ROOT / "lint" / "dl_lint"], ids=lambda path: path.name)
def test_no_text_in_code_has_private_words(package: Path) -> None:
    found = {
        f"{path.relative_to(ROOT)}:{text.lineno}": words
        for path in sorted(package.rglob("*.py"))
        for text in wording.texts(ast.parse(path.read_text(encoding="utf-8")))
        if (words := wording.private_words(str(text.value)))
    }
    assert found == {}


def test_private_words_are_found_outside_code() -> None:
    text = "A page is un-shared and `told`.\n```\nheld\n```\nNeighbours pay."
    assert wording.private_words(text) == ["un-shared", "Neighbours", "pay"]
