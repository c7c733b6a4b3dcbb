"""Annotations as GitHub's runner reads them, and the summary of a job, which others write to as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_dataloader.printable import printable
from pytest_dataloader.record import Record
from pytest_dataloader.report import github, markdown
from pytest_dataloader.verdict import Advice, Outcome
from tests.pytest_dataloader.rendering import Annotation, annotations_in

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = "100 %25 a,b:c=d::error file=e::f\x1b[31m\r\n::stop-commands::g\n\u202eh\udcff"
PLACE = github.AnnotationLocation("pyproject.toml", 4)


def record(check: str, verdict: Outcome = "failed", reason: str = "it grows", id_: str = "train") -> Record:
    return Record(id_, f"pyproject.toml::{id_}", "", check, verdict, reason, {}, {}, (Advice("DL301", "use an array"),))


def told(*records: Record, place: github.AnnotationLocation = PLACE, strict: bool = False) -> list[Annotation]:
    lines = list(github.commands([(each, place) for each in records], strict=strict))
    found = annotations_in("\n".join(lines))
    assert len(found) == len(lines) == sum(len(line.splitlines()) for line in lines)
    return found


def test_a_failure_is_told_where_it_is_declared() -> None:
    assert told(record("memory"), record("fds", "passed"), record("resume", "not_measured")) == [
        Annotation(
            "error",
            {"file": "pyproject.toml", "line": "4", "title": "dataloader train: memory"},
            "it grows\nDL301: use an array",
        )
    ]


def test_what_is_inconclusive_is_a_warning_and_an_error_where_it_fails() -> None:
    assert [each.level for each in told(record("fds", "inconclusive"))] == ["warning"]
    assert [each.level for each in told(record("fds", "inconclusive"), strict=True)] == ["error"]


def test_there_are_no_more_than_are_shown_and_the_last_one_counts_the_rest() -> None:
    failed = [record("memory", id_=f"loader{number}") for number in range(25)]
    found = told(*failed, *(record("fds", "inconclusive", id_=f"loader{number}") for number in range(10)))
    errors, warnings = ([each for each in found if each.level == level] for level in ("error", "warning"))
    assert (len(errors), len(warnings)) == (10, 10)
    assert errors[8].properties["title"] == "dataloader loader8: memory"
    assert errors[9] == Annotation(
        "error", {"title": "dataloader 16 more failed"},
        "16 more checks failed; the log and the summary of the job have them all",
    )  # fmt: skip


def test_nothing_in_a_name_or_a_message_is_obeyed() -> None:
    place = github.AnnotationLocation("tests/test,a:b%.py", 7)
    (found,) = told(record("memory", reason=HOSTILE, id_=HOSTILE), place=place)
    clean = "\n".join(map(printable, HOSTILE.split("\n")))
    assert found.properties == {
        "file": "tests/test,a:b%.py",
        "line": "7",
        "title": f"dataloader {clean}: memory",
    }
    assert found.message == f"{clean}\nDL301: use an array"
    (line,) = github.commands([(record("memory", reason=HOSTILE, id_=HOSTILE), place)], strict=False)
    assert not {"\x1b", "\r", "\n", "\u202e"} & set(line)
    line.encode()


def test_a_long_message_is_cut() -> None:
    assert len(told(record("memory", reason="x" * 10**6))[0].message) == 4_000


def test_files_are_named_from_the_root_of_the_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "packages" / "vision" / "pyproject.toml"
    file.parent.mkdir(parents=True)
    file.touch()
    environ = {"GITHUB_WORKSPACE": str(tmp_path)}
    assert github.location_of(file, 3, environ) == github.AnnotationLocation("packages/vision/pyproject.toml", 3)
    above = tmp_path / "packages" / ".." / "packages" / "vision" / "pyproject.toml"
    assert github.location_of(above, 3, environ).file == "packages/vision/pyproject.toml"
    assert github.location_of(file, 3, {"GITHUB_WORKSPACE": "/elsewhere"}).file == str(file)
    monkeypatch.chdir(file.parent)
    assert github.location_of(file, 3, {}).file == "pyproject.toml"
    assert github.location_of(file.with_name("dataloader-target"), 3, environ) == github.AnnotationLocation()


def test_a_summary_is_added_to_what_is_there_and_stays_below_what_github_takes(tmp_path: Path) -> None:
    path = tmp_path / "summary"
    rooms: list[int] = []
    environ = {"GITHUB_STEP_SUMMARY": str(path)}

    def build(room: int) -> str:
        rooms.append(room)
        return "ours\n"

    assert github.try_summary(environ, build) == ""
    assert path.read_text() == "ours\n"
    path.write_text("| a table of others |")
    assert github.try_summary(environ, build) == ""
    assert path.read_text() == "| a table of others |\n\nours\n"
    assert rooms == [markdown.MOST_BYTES, markdown.MOST_BYTES - 21]
    path.write_text("x" * (markdown.MOST_BYTES - 100))
    wrong = github.try_summary(environ, build)
    assert wrong == f"GITHUB_STEP_SUMMARY: cannot write {path}: it is full: GitHub takes 1 MiB for a step"
    assert path.stat().st_size == markdown.MOST_BYTES - 100


def test_without_a_summary_nothing_is_built() -> None:
    for environ in ({}, {"GITHUB_STEP_SUMMARY": " "}):
        assert github.try_summary(environ, lambda _room: pytest.fail("built")) == ""


@pytest.mark.parametrize(
    ("name", "words"),
    [("", "is a directory; name a file"), ("no/such", "No such file"), ("/dev/full", "or a device; name a file")],
)
def test_a_summary_that_cannot_be_written_is_a_line(tmp_path: Path, name: str, words: str) -> None:
    wrong = github.try_summary({"GITHUB_STEP_SUMMARY": str(tmp_path / name)}, lambda _room: "ours")
    assert wrong.startswith(f"GITHUB_STEP_SUMMARY: cannot write {tmp_path / name}: ")
    assert words in wrong


def test_the_path_of_the_summary_is_added_to_and_any_other_one_replaced(tmp_path: Path) -> None:
    for name in ("summary", "other"):
        tmp_path.joinpath(name).write_text("theirs")
    tmp_path.joinpath("link").symlink_to("summary")
    environ = {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary")}
    for name in ("link", "other"):
        github.write_markdown(tmp_path / name, environ, lambda _room: "ours")
    assert tmp_path.joinpath("summary").read_text() == "theirs\n\nours"
    assert tmp_path.joinpath("other").read_text() == "ours"
    assert not github.is_summary(None, environ)
    assert not github.is_summary(tmp_path / "summary", {})
