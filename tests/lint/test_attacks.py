"""What comes with a repository is not trusted, and nothing of the user's is lost."""

from __future__ import annotations

import json
import os
import re
import threading
import time
from typing import TYPE_CHECKING

import pytest
from dl_lint import fixes
from dl_lint.engine.cache import Cache, tool_version
from dl_lint.source.disk import digest
from dl_lint.texts import visible

from tests.lint import growing
from tests.variants import variants

if TYPE_CHECKING:
    from pathlib import Path

    from tests.lint.conftest import Project

HOSTILE = [b"\xff\xfe.py", b"a\x1b[31m.py", b"b\n::error::x.py", "c\u202egnp.py".encode(), b"d\xc2\x9b31m.py"]
"""Names that are no UTF-8, that colour a terminal, begin a workflow command, or turn what follows around."""

OBEYED = {"\x1b", "\x9b", "\u202e", "\r"}


def test_a_cache_that_comes_with_the_repository_is_not_read(
    project: Project, faulty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write({"data.py": faulty})
    monkeypatch.setenv("DL_LINT_CACHE_DIR", str(project.root / ".dl_lint_cache"))
    planted = project.root / ".dl_lint_cache"
    for folder in (planted, planted / "runs"):
        folder.mkdir()
    body = json.dumps({"report": {}, "outside": {}})
    (planted / "runs" / f"{digest(tool_version())}.json").write_text(f"{digest(body)}\n{body}")
    assert project.lint_json().places == [("data.py", 5, "DL209")]


def test_a_fix_is_never_taken_from_a_record(project: Project, cache_folder: Path, faulty: str, mended: str) -> None:
    project.write({"data.py": faulty})
    project.lint()
    for path in (cache_folder / "runs").iterdir():
        _, _, body = path.read_text().partition("\n")
        forged = re.sub(r'"[^"]*","remove argument"]', '"import os","replace"]', body)
        assert forged != body
        path.write_text(f"{digest(forged)}\n{forged}")
    project.lint("--fix")
    assert project.read("data.py") == mended


def test_names_that_would_be_obeyed_are_written_out(project: Project, faulty: str) -> None:
    for name in HOSTILE:
        (project.root / os.fsdecode(name)).write_text(faulty)
    for output_format in ("full", "concise", "json", "github", "gitlab", "sarif"):
        ran = project.command("--output-format", output_format)
        assert ran.status == 1
        assert not OBEYED & set(ran.out + ran.err), output_format
        assert ran.out.count("DL209") >= len(HOSTILE), output_format
        assert not [line for line in ran.out.splitlines() if line.startswith("::error")], output_format
        if output_format in ("json", "gitlab", "sarif"):
            json.loads(ran.out)
    assert project.command("--fix", "--no-cache").status == 0


def test_a_diff_of_such_names_can_be_applied_and_begins_no_line_of_its_own(project: Project, faulty: str) -> None:
    project.write({"b\n::error::x.py": faulty})
    assert '--- "b\\012::error::x.py"\n' in project.lint("--diff").out


def test_failures_on_standard_error_are_written_out(project: Project, faulty: str) -> None:
    project.write({"\x1b[31m.py": faulty + "def\n"})
    ran = project.lint()
    assert ran.status == 2
    assert "\\x1b[31m.py" in ran.err
    assert "\x1b" not in ran.err


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("naïve ☃", "naïve ☃"),
        ("a\tb", "a\\tb"),
        ("\x1b[0m\x9b\x00", "\\x1b[0m\\x9b\\x00"),
        ("\u202e\u2066\u200f\u2028", "\\u202e\\u2066\\u200f\\u2028"),
        ("\udcff\ud800", "\\xff\\ud800"),
        ("👩\u200d💻", "👩\u200d💻"),
    ],
)
def test_what_a_terminal_would_obey_is_written_out_as_in_python(text: str, shown: str) -> None:
    assert visible(text) == shown


IGNORED = {
    "stars": "*a" * 30 + "b\n",
    "classes": "[a-z]*" * 25 + "!\n",
    "folders": "/".join(["**/a"] * 12) + "/b\n",
    "a long line": "x" * 900_000 + "\n",
}


@pytest.mark.parametrize("pattern", IGNORED.values(), ids=IGNORED.keys())
def test_patterns_that_take_ages_are_left_out_and_said_so(project: Project, faulty: str, pattern: str) -> None:
    name = "a" * 200 + ".py"
    project.write({".gitignore": f"{pattern}build/\n", name: faulty, "build/data.py": faulty})
    began = time.process_time()
    ran = project.lint_json("--no-cache")
    assert time.process_time() - began < 20  # without the bound: hours
    assert ran.places == [(name, 5, "DL209")]
    assert "dl-lint: .gitignore: patterns left out" in ran.err
    settings = json.dumps([pattern.strip()])
    assert project.lint("--config", f"exclude = {settings}").status == 2


READ = (".gitignore", "pyproject.toml", "accepted.json", "requirements.txt")
IRREGULAR = {f"{kind}-{name}": (kind, name) for kind in ("pipe", "device", "large") for name in READ}


@pytest.mark.parametrize(
    ("kind", "name"),
    variants(IRREGULAR, ["pipe-.gitignore", "pipe-accepted.json", "device-requirements.txt", "large-pyproject.toml"]),
)
def test_what_is_no_regular_file_of_sensible_size_is_not_read(
    project: Project, faulty: str, name: str, kind: str
) -> None:
    project.write({"kit/data.py": faulty})
    path = project.root / name
    path.unlink(missing_ok=True)
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "device":
            path.symlink_to("/dev/zero")
        case _:
            path.touch()
            os.truncate(path, 70_000_000)
    options = ["--baseline", name] if name == "accepted.json" else []
    ran = project.command("--output-format", "json", *options)
    is_setting = name == "accepted.json" or (name == "pyproject.toml" and kind == "large")
    assert ran.status == (2 if is_setting else 1)
    assert "Traceback" not in ran.err
    if is_setting or name == ".gitignore":
        assert len(ran.err.splitlines()) == 1
        assert name in ran.err


BASELINES = ["[" * 200_000, '{"schema": 1, "findings": [{"path": 1, "code": [], "text": null, "count": 1e400}]}',
             '{"schema": 1, "findings": [{"path": "", "code": "", "text": "", "count": NaN}]}', "3", "null",
             '{"schema": 1, "findings": {"a": 1}}', '{"schema": 1}', ""]  # fmt: skip


@pytest.mark.parametrize("text", BASELINES)
def test_a_baseline_of_any_shape_is_one_line(project: Project, faulty: str, text: str) -> None:
    project.write({"data.py": faulty, "accepted.json": text})
    ran = project.lint("--baseline", "accepted.json")
    assert ran.status == 2
    assert ran.err == "dl-lint: error: accepted.json: not a baseline of dl-lint; --write-baseline makes one\n"


@pytest.mark.parametrize(
    "settings",
    [
        "[tool.dl-lint]\nselect = " + "[" * 5_000 + "]" * 5_000,
        "[tool.dl-lint]\nselect = nan",
        "[tool.dl-lint]\npedantic = 1e400",
        "[tool.dl-lint.per-file-ignores]\nx = 1979-05-27",
        '[tool]\ndl-lint = "all"',
        "[tool.dl-lint]\nexclude = [1]",
        "\x00dl-lint",
    ],
)
def test_settings_of_any_shape_are_one_line(project: Project, faulty: str, settings: str) -> None:
    project.write({"data.py": faulty, "pyproject.toml": settings})
    ran = project.lint()
    assert ran.status == 2
    assert len(ran.err.splitlines()) == 1
    assert "pyproject.toml" in ran.err


def test_files_whose_names_only_look_like_ours_are_not_deleted(project: Project, faulty: str, mended: str) -> None:
    theirs = {".dl-lint-baseline.json": "{}", ".dl-lint-notes.md": "mine", ".dl-lint-0123456789abcdef-1.tmp": "mine"}
    project.write({"data.py": faulty, **theirs})
    project.lint("--fix")
    assert project.read("data.py") == mended
    assert {name: project.read(name) for name in theirs} == theirs


def test_a_full_disk_leaves_no_half_a_baseline(project: Project, faulty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write({"data.py": faulty})

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("dl_lint.baseline.os.replace", full)
    ran = project.lint("--write-baseline", "--baseline", "accepted.json")
    assert (ran.status, ran.err) == (2, "dl-lint: error: accepted.json: cannot be written: No space left on device\n")
    assert {path.name for path in project.root.iterdir()} == {"data.py", "pyproject.toml"}


# --- editors ---------------------------------------------------------------------------


@pytest.mark.parametrize("in_place", [True, False], ids=["written", "renamed"])
def test_what_an_editor_saves_at_the_last_moment_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, in_place: bool
) -> None:
    target = tmp_path / "data.py"
    target.write_bytes(b"before")
    exchanged = fixes._exchanged

    def save_first(one: str, other: str) -> bool:
        monkeypatch.setattr(fixes, "_exchanged", exchanged)
        if in_place:
            target.write_bytes(b"edited")
        else:
            (tmp_path / "new").write_bytes(b"edited")
            (tmp_path / "new").replace(target)
        return exchanged(one, other)

    monkeypatch.setattr(fixes, "_exchanged", save_first)
    with pytest.raises(fixes.Changed):
        fixes.write(str(target), b"before", b"after")
    assert target.read_bytes() == b"edited"
    assert {path.name for path in tmp_path.iterdir()} == {"data.py"}


def test_what_an_editor_saved_stays_when_it_takes_the_file_away_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "data.py"
    target.write_bytes(b"before")
    exchanged, calls = fixes._exchanged, []

    def beside_an_editor(one: str, other: str) -> bool:
        calls.append(one)
        if len(calls) == 1:
            target.write_bytes(b"edited")
        else:
            target.unlink()
        return exchanged(one, other)

    monkeypatch.setattr(fixes, "_exchanged", beside_an_editor)
    with pytest.raises(fixes.Changed):
        fixes.write(str(target), b"before", b"after")
    assert target.read_bytes() == b"edited"
    assert {path.name for path in tmp_path.iterdir()} == {"data.py"}


def test_a_race_with_an_editor_that_waits_for_the_moment_loses_nothing(tmp_path: Path) -> None:
    target = tmp_path / "data.py"
    lost = 0
    for number in range(100):
        target.write_bytes(b"before")
        edit = f"edited {number}".encode()
        done = threading.Event()

        def save(edit: bytes, done: threading.Event) -> None:
            while not done.is_set() and not any(one.name.startswith(".dl-lint-") for one in tmp_path.iterdir()):
                pass
            (tmp_path / "new").write_bytes(edit)
            (tmp_path / "new").replace(target)

        editor = threading.Thread(target=save, args=(edit, done))
        editor.start()
        try:
            fixes.write(str(target), b"before", b"after")
        except fixes.Changed:
            lost += 1
            assert target.read_bytes() == edit
        done.set()
        editor.join()
        assert target.read_bytes() == edit
    print(f"{lost} of 100 races went to the editor")


# --- how the time grows ----------------------------------------------------------------


def seconds(project: Project, text: str) -> float:
    project.write({"data.py": text})
    began = time.process_time()
    assert project.lint("--no-cache").status in (0, 1)
    return time.process_time() - began


@pytest.mark.parametrize("kind", growing.KINDS)
def test_time_grows_with_the_text_and_not_with_its_square(project: Project, faulty: str, kind: growing.Kind) -> None:
    seconds(project, faulty)
    small, large = (seconds(project, growing.text(kind, faulty, times)) for times in (2, 16))
    assert large < 24 * small  # of 8 times the text; of its square, 64


def test_the_cache_of_one_project_says_nothing_of_another(tmp_path: Path) -> None:
    Cache(str(tmp_path), "/one").write("runs", "key", {"a": 1})
    assert Cache(str(tmp_path), "/other").read("runs", "key") is None
