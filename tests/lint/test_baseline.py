"""Accepted findings: matched by text, not by line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.lint.conftest import Project


@pytest.fixture
def accepted(project: Project, faulty: str) -> Project:
    """A project whose two findings are in the baseline that its settings name."""
    project.write(
        {"pyproject.toml": '[tool.dl-lint]\nbaseline = "ci/accepted.json"\n', "data.py": faulty, "b.py": faulty}
    )
    Path("ci").mkdir()
    assert project.lint("--write-baseline").out == f"{project.root}/ci/accepted.json: 2 accepted.\n"
    return project


def test_the_file_says_what_is_accepted_to_people_too(accepted: Project) -> None:
    document = json.loads(accepted.read("ci/accepted.json"))
    text = 'return DataLoader(dataset, num_workers=4, pin_memory=True, pin_memory_device="cuda")'
    assert document == {
        "schema": 1,
        "findings": [
            {"path": "../b.py", "code": "DL209", "text": text, "count": 1},
            {"path": "../data.py", "code": "DL209", "text": text, "count": 1},
        ],
    }


def test_accepted_findings_are_counted_not_shown(accepted: Project) -> None:
    ran = accepted.lint()
    assert (ran.status, ran.out) == (0, "No findings in 2 files.\n2 more findings in the baseline.\n")


def test_what_moved_or_was_indented_stays_accepted_and_what_is_new_shows(accepted: Project, faulty: str) -> None:
    moved = "# shifted\n\n\n" + faulty.replace("    return", "        return").replace("def", "if True:\n    def")
    accepted.write({"data.py": moved})
    assert accepted.lint().status == 0
    again = faulty.replace("make_loader", "make_another")
    accepted.write({"data.py": faulty + again, "c.py": faulty})
    assert accepted.lint_json().places == [("c.py", 5, "DL209"), ("data.py", 10, "DL209")]


def test_the_baseline_is_found_from_any_folder(accepted: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(accepted.root / "ci")
    assert accepted.lint("..").status == 0


def test_the_command_line_names_another_baseline(accepted: Project) -> None:
    accepted.write({"empty.json": '{"schema": 1, "findings": []}'})
    assert accepted.lint("--baseline", "empty.json").status == 1
    accepted.lint("--write-baseline", "--baseline", "empty.json")
    assert accepted.lint("--baseline", "empty.json").status == 0


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "accepted.json: cannot be read (No such file or directory); --write-baseline makes one"),
        ("{", "accepted.json: not a baseline of dl-lint"),
        ("[]", "accepted.json: not a baseline of dl-lint"),
        ('{"schema": 1, "findings": [{}]}', "accepted.json: not a baseline of dl-lint"),
        ('{"schema": 2, "findings": []}', "accepted.json: baseline of schema 2, this dl-lint reads 1"),
    ],
)
def test_a_baseline_that_cannot_be_one_is_an_error(project: Project, content: str | None, said: str) -> None:
    if content is not None:
        project.write({"accepted.json": content})
    ran = project.lint("--baseline", "accepted.json")
    assert ran.status == 2
    assert ran.err.startswith(f"dl-lint: error: {said}")


def test_writing_needs_a_name_and_a_place(project: Project) -> None:
    assert "needs --baseline FILE" in project.lint("--write-baseline").err
    ran = project.lint("--write-baseline", "--baseline", "nowhere/accepted.json")
    assert (ran.status, "nowhere/accepted.json: cannot be written" in ran.err) == (2, True)
