"""The rules as listed without importing them, and as they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from dl_lint import rules
from dl_lint.engine import catalogue
from dl_lint.engine.report import Entry
from dl_lint.rule import Rule

ROOT = Path(__file__).parents[3]
ENTRIES = catalogue.entries()


def test_every_module_of_rules_is_listed_as_it_declares_itself() -> None:
    listed = [entry for entry in ENTRIES.values() if entry != catalogue.UNUSED_SUPPRESSION]
    loaded = [*catalogue.load(listed)]
    assert [(rule.code, rule.name, rule.severity, rule.module) for rule in loaded] == [
        (entry.code, entry.name, entry.severity, entry.module) for entry in listed
    ]
    folder = Path(rules.__path__[0])
    assert {entry.module.rpartition(".")[2] for entry in listed} == {path.stem for path in folder.glob("[!_]*.py")}


def test_codes_and_names_are_unique_and_in_order() -> None:
    assert [*ENTRIES] == sorted(ENTRIES)
    assert len({entry.name for entry in ENTRIES.values()}) == len(ENTRIES)
    assert {code[:3] for code in ENTRIES} <= catalogue.FAMILIES.keys()


@pytest.mark.parametrize(
    ("head", "severity"),
    [
        ('@rule("DL999", "bug")\ndef sample(project):\n', "bug"),
        ('@rule("DL999", severity="slow")\ndef sample(project: Project) -> Iterator[Finding]:\n', "slow"),
        ('@rule(\n    "DL999",\n    "advice",\n)\ndef sample(\n    project):\n', "advice"),
    ],
)
def test_a_declaration_is_read_however_it_is_laid_out(tmp_path: Path, head: str, severity: str) -> None:
    path = tmp_path / "sample.py"
    path.write_text(f'"""A sample."""\n\n{head}    yield\n')
    assert catalogue._entry(str(path), "sample") == Entry("DL999", "sample", severity, "dl_lint.rules.sample")  # type: ignore[arg-type]  # one of the three


@pytest.mark.parametrize("text", ["", '@rule("DL999", "bug")\ndef other(project):\n', "def sample(project):\n"])
def test_a_module_without_its_rule_is_an_error_that_names_it(tmp_path: Path, text: str) -> None:
    path = tmp_path / "sample.py"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"sample\.py: no function sample under @rule"):
        catalogue._entry(str(path), "sample")


def test_a_module_that_holds_another_rule_than_listed_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = next(entry for entry in ENTRIES.values() if entry.module.startswith("dl_lint.rules."))
    module = __import__(entry.module, fromlist=["_"])
    other = Rule("DL998", entry.name, entry.severity, lambda _: iter(()), entry.module)
    monkeypatch.setattr(module, entry.name.replace("-", "_"), other)
    with pytest.raises(TypeError, match=f"does not hold the rule {entry.code}"):
        next(catalogue.load([entry]))


@pytest.mark.parametrize("code", ENTRIES)
def test_every_page_has_the_sections_of_the_contract(code: str) -> None:
    page = catalogue.page(ENTRIES[code])
    headings = [line for line in page.splitlines() if line.startswith("#")]
    required = ["## What it does", "## Why is this bad?", "## Example", "## Use instead"]
    assert [heading for heading in headings if heading in required] == required
    assert page.splitlines()[1] == ""
    assert page.count("```") % 2 == 0
    assert catalogue.summary(ENTRIES[code])


def test_the_page_of_all_rules_is_the_one_that_the_rules_make() -> None:
    """After a change to a rule's docstring: make docs."""
    assert (ROOT / "docs" / "rules.md").read_text() == catalogue.markdown(ENTRIES.values())


def test_links_of_the_page_lead_to_its_headings() -> None:
    text = catalogue.markdown(ENTRIES.values())
    for entry in ENTRIES.values():
        anchor = f"{entry.code} {entry.name}".lower().replace(" ", "-")
        assert f"](#{anchor})" in text
        assert f"\n## {entry.code} {entry.name}\n" in text
        assert catalogue.url(entry).endswith(f"/rules/{entry.code}/")
