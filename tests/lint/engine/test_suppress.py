"""Comments that take findings back, and those that take nothing back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.lint.conftest import Project

HEAD = "from torch.utils.data import DataLoader\n\nds = [1]\n"
CALL = 'DataLoader(ds, 2, pin_memory=True, pin_memory_device="cuda")'
SPLIT = '\n    DataLoader(\n        ds,\n        pin_memory=True,\n        pin_memory_device="cuda",{inside}\n    )\n'


def codes(project: Project, text: str, *arguments: str) -> list[str]:
    project.write({"data.py": HEAD + text})
    return [code for _, _, code in project.lint_json(*arguments).places]


@pytest.mark.parametrize(
    "text",
    [
        f"x = {CALL}  # dl-lint: ignore[DL209]\n",
        f"x = {CALL}  # dl-lint: ignore[ignored-pin-memory-device] kept for torch 2.4\n",
        f"x = {CALL}  # dl-lint: ignore[DL211, DL209] two\n",
        f"x = {CALL}  # dl-lint: ignore[DL2]\n",
        f"x = {CALL}  # dl-lint: ignore\n",
        f"x = {CALL}  # noqa: DL209\n",
        f"x = {CALL}  # noqa: E501, DL209 too long\n",
        f"x = {CALL}  # noqa\n",
        f"x = {CALL}  # type: ignore  # dl-lint: ignore[DL209]\n",
        f"x = {CALL}\n# dl-lint: ignore-file[DL209] generated\n",
        f"# dl-lint: ignore-file\nx = {CALL}\n",
        "x = (  # dl-lint: ignore[DL209]" + SPLIT.format(inside="") + ")\n",
        "x = (" + SPLIT.format(inside="") + ")  # dl-lint: ignore[DL209]\n",
        "x = (" + SPLIT.format(inside="  # dl-lint: ignore[DL209]") + ")\n",
    ],
)
def test_a_comment_takes_the_finding_of_its_statement_back(project: Project, text: str) -> None:
    assert "DL209" not in codes(project, text)


@pytest.mark.parametrize(
    "text",
    [
        f"x = {CALL}  # dl-lint: ignore[DL211]\n",
        f"x = {CALL}  # noqa: E501\n",
        f"x = {CALL}  # nothing to do with dl-lint ignore[DL209]\n",
        f"x = {CALL}\n# noqa: DL209\n",
        f"y = 1  # dl-lint: ignore[DL209]\nx = {CALL}\n",
        f'y = "# dl-lint: ignore-file[DL209]"\nx = {CALL}\n',
    ],
)
def test_a_comment_elsewhere_or_about_another_rule_takes_nothing_back(project: Project, text: str) -> None:
    assert "DL209" in codes(project, text)


# --- comments that take nothing back ---------------------------------------------------


@pytest.mark.parametrize(
    ("line", "said", "left"),
    [
        ("y = 1  # dl-lint: ignore[DL209]", "DL209 finds nothing here", "y = 1"),
        ("y = 1  # dl-lint: ignore[DL209] forty entries", "DL209 finds nothing here", "y = 1"),
        ("y = 1  # dl-lint: ignore", "no rule finds anything here", "y = 1"),
        ("y = 1  # dl-lint: ignore[DL2]", "DL2 finds nothing here", "y = 1"),
        ("y = 1  # dl-lint: ignore[DL299]", 'no rule "DL299" (did you mean', "y = 1"),
        ("y = 1  # noqa: E501  # dl-lint: ignore[DL209]", "DL209 finds", "y = 1  # noqa: E501"),
        ("y = 1  # dl-lint: ignore[DL209]  # noqa", "DL209 finds", "y = 1  # noqa"),
        ("# dl-lint: ignore[DL209]", "DL209 finds nothing here", None),
        ("# dl-lint: ignore-file[DL209]", "DL209 finds nothing here", None),
        (
            f"x = {CALL}  # dl-lint: ignore[DL209, DL211] why",
            "DL211 finds nothing here",
            f"x = {CALL}  # dl-lint: ignore[DL209] why",
        ),
    ],
)
def test_an_unused_suppression_is_reported_and_removed(
    project: Project, line: str, said: str, left: str | None
) -> None:
    project.write({"data.py": f"{HEAD}{line}\nz = 2\n"})
    [record] = project.lint_json().records
    assert (record["code"], record["location"]["row"]) == ("DL001", 4)
    assert said in record["message"]
    assert project.lint("--fix").status == 0
    assert project.read("data.py") == HEAD + (f"{left}\n" if left else "") + "z = 2\n"


def test_the_last_line_without_an_end_can_lose_its_comment(project: Project) -> None:
    project.write({"data.py": HEAD + "# dl-lint: ignore[DL209]"})
    assert project.lint("--fix").status == 0
    assert project.read("data.py") == HEAD


@pytest.mark.parametrize(
    "text",
    [
        "y = 1  # noqa: DL209\n",
        "y = 1  # noqa\n",
        "y = 1  # dl-lint: ignore[DL207]\n",  # advice, which does not run by default
        "y = 1  # dl-lint: ignore[DL209, DL001] kept on purpose\n",
        "y = 1  # dl-lint: ignore[DL209]\n# dl-lint: ignore-file[DL001]\n",
    ],
)
def test_what_is_not_ours_did_not_run_or_is_accepted_is_not_reported(project: Project, text: str) -> None:
    assert codes(project, text) == []


def test_a_rule_that_did_not_run_does_not_make_its_suppressions_unused(project: Project) -> None:
    text = "y = 1  # dl-lint: ignore[DL209]\n"
    assert codes(project, text) == ["DL001"]
    assert codes(project, text, "--ignore", "DL209") == []
    assert codes(project, text, "--select", "DL001,DL211") == []
    assert codes(project, text, "--select", "DL209") == []
    assert codes(project, "y = 1  # dl-lint: ignore[DL207]\n", "--pedantic") == ["DL001"]
    settings = '[tool.dl-lint.per-file-ignores]\n"data.py" = ["DL209"]\n'
    project.write({"pyproject.toml": settings})
    assert codes(project, text) == []


def test_a_comment_that_means_nothing_is_reported_and_left_to_its_author(project: Project) -> None:
    project.write({"data.py": HEAD + "y = 1  # dl-lint: disable[DL209]\n"})
    [record] = project.lint_json().records
    assert record["message"] == "`# dl-lint: disable[DL209]` silences nothing: dl-lint knows no such comment"
    assert record["fix"] is None


def test_a_suppression_in_a_file_that_no_rule_is_about_is_unused(project: Project) -> None:
    project.write({"plain.py": "y = 1  # dl-lint: ignore[DL209]\n"})
    assert project.lint_json().places == [("plain.py", 1, "DL001")]
