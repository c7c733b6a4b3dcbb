"""``compare``: two files of real runs, in a terminal and as Markdown, its statuses, and files that are none."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from pytest_dataloader.diagnosis import documents
from pytest_dataloader.diagnosis.command import main
from tests.pytest_dataloader.rendering import page

if TYPE_CHECKING:
    from pathlib import Path

COMMAND = "pytest-dataloader compare"


def document(verdict: str, reason: str = "peak 8 of 1,024", peak: int = 8, name: str = "train") -> dict[str, Any]:
    seen = {"verdict": verdict, "reason": reason, "evidence": {"peak": peak}, "limits": {}, "advice": []}
    loader = {"id": name, "nodeid": f"pyproject.toml::{name}", "description": "", "checks": {"fds": seen}}
    return {"schema": 1, "environment": {}, "loaders": [loader]}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    tmp_path.joinpath("old.json").write_text(json.dumps(document("passed")))
    tmp_path.joinpath("new.json").write_text(json.dumps(document("failed", "it leaks", 110)))
    return tmp_path


@pytest.mark.parametrize(
    ("old", "new", "status", "headline"),
    [
        ("old.json", "new.json", 1, "1 worse"),
        ("new.json", "old.json", 0, "1 better"),
        ("old.json", "old.json", 0, "1 the same"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_the_status_says_whether_something_got_worse(
    old: str, new: str, status: int, headline: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", old, new]) == status
    out, err = capsys.readouterr()
    assert out.splitlines()[0] == f"{old} -> {new}: {headline}"
    assert err == ""
    assert "\x1b" not in out  # nobody watches


@pytest.mark.usefixtures("folder")
def test_markdown_is_printed_or_written_beside_what_is_printed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", "old.json", "new.json", "--markdown"]) == 1
    printed = capsys.readouterr().out
    assert page(printed).rows[0] == ["❌ worse", "train", "fds", "passed → failed", "it leaks"]
    assert main(["compare", "old.json", "new.json", "--markdown", "deep/er/page.md"]) == 1
    assert folder.joinpath("deep", "er", "page.md").read_text() == printed
    assert capsys.readouterr().out.startswith("old.json -> new.json: 1 worse\n")


def test_the_summary_of_a_job_is_added_to(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    summary = folder / "summary.md"
    summary.write_text("# of others\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert main(["compare", "old.json", "new.json"]) == 1
    assert summary.read_text() == "# of others\n"  # nobody asked for it
    assert main(["compare", "old.json", "new.json", "--markdown", "summary.md"]) == 1
    assert page(summary.read_text()).headings == ["of others", "DataLoader checks compared: 1 worse"]


def test_any_encoding_shows_it(folder: Path) -> None:
    folder.joinpath("new.json").write_text(json.dumps(document("failed", "größer \x1b[31m\u202e ")))
    for arguments, shown in (([], "gr\\xf6\\xdfer \\x1b[31m\\u202e"), (["--markdown"], "\\u274c worse")):
        command = [sys.executable, "-m", "pytest_dataloader", "compare", "old.json", "new.json", *arguments]
        environ = os.environ | {"PYTHONIOENCODING": "ascii"}
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (1, "")
        assert shown in done.stdout


def test_compressed_files_are_read(folder: Path) -> None:
    folder.joinpath("old.json.gz").write_bytes(gzip.compress(folder.joinpath("old.json").read_bytes()))
    assert main(["compare", "old.json.gz", "new.json"]) == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot read new.json: No such file or directory"),
        (b"", "new.json is no JSON: "),
        (b'{"schema": 1,', "new.json is no JSON: "),
        (b"\xff\xfe\x00\xd8", "new.json is no JSON: "),
        (b"[" * 100_000, "new.json is no JSON: "),
        (b'{"schema": 1' + b"0" * 5_000 + b"}", "new.json is no JSON: "),
        (b"null", "new.json: it is no report of --dataloader-json: it has no list of loaders"),
        (b'{"traceEvents": []}', "new.json: it is no report of --dataloader-json"),
        (b'{"schema": 7, "loaders": []}', "new.json: schema 7 is not 1; another version wrote it"),
        (b'{"schema": 1, "environment": {}, "loaders": [{"id": "a\\n::error::b"}]}', "new.json: loaders[0].nodeid: "),
        (b'{"schema": 1, "environment": {}, "loaders": []}', "they have no check of a loader in common"),
        (gzip.compress(b"{}", mtime=0)[:-6], "cannot read new.json: "),
        (gzip.compress(b" " * 1_000_001, mtime=0), "cannot read new.json: unpacks to more than 1 MB"),
        (b" " * 1_000_001, "cannot read new.json: larger than 1 MB"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_compared_is_told_in_a_line(
    content: bytes | None,
    words: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(documents, "_MOST_BYTES", 1_000_000)
    folder.joinpath("new.json").unlink()
    if content is not None:
        folder.joinpath("new.json").write_bytes(content)
    assert main(["compare", "old.json", "new.json", "--markdown", "page.md"]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"{COMMAND}: {words}")
    assert not folder.joinpath("page.md").exists()


def test_what_is_no_file_makes_nobody_wait(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(folder / "pipe")
    for path, words in (("pipe", "is a pipe"), (".", "s a directory"), ("/dev/zero", "or a device"), ("\x1b", "\\x1b")):
        assert main(["compare", path, "new.json"]) == 2
        err = capsys.readouterr().err
        assert words in err
        assert "\x1b" not in err


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--markdown", "/nowhere/page.md"], "there is no folder /nowhere"),
        (["--markdown", "/dev/full"], "is a pipe, a socket or a device; name a file"),
        (["--mark"], "unrecognized arguments: --mark"),
    ],
)
def test_arguments_that_are_none_are_told_before_anything_is_read(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["compare", "no.json", "none.json", *arguments])
    assert ended.value.code == 2
    assert words in capsys.readouterr().err


def test_a_page_that_cannot_be_written_is_a_line(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder / "summary.md"))
    folder.joinpath("summary.md").write_text("x" * 2**20)
    assert main(["compare", "old.json", "new.json", "--markdown", "summary.md"]) == 2
    assert "it is full: GitHub takes 1 MiB" in capsys.readouterr().err


def test_its_arguments_are_explained(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--help"], ["a.json"]):
        with pytest.raises(SystemExit):
            main(["compare", *arguments])
    out, err = capsys.readouterr()
    assert "1 where a check that passed fails now" in " ".join(out.split())
    assert "the following arguments are required: NEW.json" in err
