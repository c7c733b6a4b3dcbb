"""A fault of ours stays with the rule or the file that has it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from dl_lint.engine import analysis, catalogue
from dl_lint.project import Project as Linked
from dl_lint.rule import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dl_lint.engine.report import Entry

    from tests.lint.conftest import Project


@pytest.fixture
def break_rule(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Linked], Iterator[Finding]]], None]:
    """Puts a check in place of that of DL211."""

    def put(check: Callable[[Linked], Iterator[Finding]]) -> None:
        def load(chosen: Iterable[Entry]) -> Iterator[Rule]:
            for rule in catalogue.load(chosen):
                yield Rule(rule.code, rule.name, rule.severity, check, rule.module) if rule.code == "DL211" else rule

        monkeypatch.setattr(analysis, "load", load)

    return put


def test_a_rule_that_breaks_down_is_named_with_its_file_and_the_others_run(
    project: Project, faulty: str, break_rule: Callable[[Callable[[Linked], Iterator[Finding]]], None]
) -> None:
    def check(linked: Linked) -> Iterator[Finding]:
        for file in linked.files:
            if file.path == "pkg/data.py":
                raise LookupError("no such\nscope")
            yield from ()

    break_rule(check)
    project.write({"pkg/data.py": faulty + "y = 1  # dl-lint: ignore[DL211]\n", "a.py": faulty})
    for _ in range(2):  # nothing of it is kept
        ran = project.lint_json()
        assert ran.status == 2
        assert ran.places == [("a.py", 5, "DL209"), ("pkg/data.py", 5, "DL209")]
        assert ran.err == (
            "dl-lint: pkg/data.py: the rule DL211 loader-argument-set-later broke down, please report it: "
            "LookupError: no such scope\n"
        )


def test_a_rule_that_overflows_the_stack_is_one_line_too(
    project: Project, faulty: str, break_rule: Callable[[Callable[[Linked], Iterator[Finding]]], None]
) -> None:
    def check(linked: Linked) -> Iterator[Finding]:
        yield from check(linked)

    break_rule(check)
    project.write({"data.py": faulty})
    ran = project.lint_json()
    assert (ran.status, [code for _, _, code in ran.places]) == (2, ["DL209"])
    assert len(ran.err.splitlines()) == 1


def test_files_that_cannot_be_linked_are_no_traceback(
    project: Project, faulty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stumble(*_: object) -> None:
        raise ZeroDivisionError("paths")

    monkeypatch.setattr(Linked, "load", stumble)
    project.write({"data.py": faulty})
    ran = project.lint()
    assert (ran.status, ran.err) == (
        2,
        "dl-lint: linking the files broke down, please report it: ZeroDivisionError: paths\n",
    )


def test_only_files_asked_about_get_findings_though_the_project_is_linked(project: Project) -> None:
    loaders = "from torch.utils.data import DataLoader\n\n\ndef make():\n    return DataLoader([1], num_workers=1)\n"
    train = "import torch\nfrom pkg.loaders import make\n\nmake().dataset = None\n"
    project.write({"pkg/loaders.py": loaders, "train.py": train})
    assert project.lint_json("pkg").places == []
    assert project.lint_json("train.py").places == [("train.py", 4, "DL211")]


def test_what_a_file_without_torch_does_to_the_dataset_is_seen(project: Project) -> None:
    train = (
        "from torch.utils.data import DataLoader\nfrom pkg.hooks import act\n\n\ndef train(model, dataset, epochs):\n"
        "    loader = DataLoader(dataset, num_workers=4)\n    for _ in range(epochs):\n        batches = iter(loader)\n"
        "        act(batches)\n        for one in batches:\n            model(one)\n"
    )
    project.write({"pkg/hooks.py": "def act(dataloader_iter):\n    print(dataloader_iter)\n", "train.py": train})
    assert project.lint_json().places == [("train.py", 6, "DL204")]
    project.write({"pkg/hooks.py": "def act(dataloader_iter):\n    dataloader_iter._dataset.augment = False\n"})
    assert project.lint_json().places == []


@pytest.mark.parametrize("top", [".", "..", "pkg", "ABSOLUTE"])
def test_findings_carry_the_paths_that_the_user_named(
    project: Project, faulty: str, monkeypatch: pytest.MonkeyPatch, top: str
) -> None:
    project.write({"pkg/data.py": faulty, "elsewhere/x.txt": ""})
    if top == "..":
        monkeypatch.chdir(project.root / "elsewhere")
    named = str(project.root) if top == "ABSOLUTE" else top
    [record] = project.lint_json(named).records
    expected = {".": "pkg/data.py", "pkg": "pkg/data.py"}.get(top, f"{named}/pkg/data.py")
    assert record["filename"] == expected
    assert {edit["filename"] for edit in record["fix"]["edits"]} == {expected}
    assert {related["filename"] for related in record["related"]} <= {expected}


def test_python_s_warnings_about_a_file_that_is_named_are_not_shown(project: Project) -> None:
    project.write({"notes.py": "x = '\\d'\n"})
    ran = project.command("notes.py", environment={**os.environ, "PYTHONWARNINGS": "always"})
    assert (ran.status, ran.err) == (0, "")
