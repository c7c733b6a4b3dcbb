"""The cache: spares work, never changes an answer, never stops a run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from dl_lint.engine import cache, catalogue
from dl_lint.engine.cache import Cache, tool_version, users_folder
from dl_lint.source.disk import digest

if TYPE_CHECKING:
    from tests.lint.conftest import Project

RECORD = {"a": [1, 2.5, None, True, "\N{SNOWMAN}"], "b": {}}


def records(root: Path) -> list[Path]:
    return sorted(root.glob("*/*.json"))


def test_a_record_comes_back_and_the_folder_keeps_out_of_backups(tmp_path: Path) -> None:
    Cache(str(tmp_path)).write("runs", "key", RECORD)
    assert Cache(str(tmp_path)).read("runs", "key") == RECORD
    assert Cache(str(tmp_path)).read("ignored", "key") is None
    assert Cache(str(tmp_path), "another project").read("runs", "key") is None
    assert (tmp_path / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55\n")
    assert [path.name for path in tmp_path.rglob("*.tmp")] == []


def test_nothing_is_kept_without_a_folder() -> None:
    cache = Cache(None)
    cache.write("runs", "key", RECORD)
    cache.trim(0)
    assert cache.read("runs", "key") is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-1],
        lambda _: b"",
        lambda data: data[:20],
        lambda data: data.replace(b"2.5", b"9.5"),
        lambda data: b"\xff" + data[1:],
        lambda data: data.partition(b"\n")[2],
        lambda _: digest(b"[" * 10**6).encode() + b"\n" + b"[" * 10**6,
    ],
)
def test_a_damaged_record_is_as_good_as_none(tmp_path: Path, damage: object) -> None:
    Cache(str(tmp_path)).write("runs", "key", RECORD)
    [path] = records(tmp_path)
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]  # a function from the table above
    assert Cache(str(tmp_path)).read("runs", "key") is None


def test_trimming_deletes_the_oldest_records_and_nothing_else(tmp_path: Path) -> None:
    cache = Cache(str(tmp_path))
    for number in range(10):
        cache.write("runs", f"key{number}", "x" * 1000)
        [new] = [path for path in records(tmp_path) if path.stat().st_mtime > 1_000]
        os.utime(new, (number, number))
    (tmp_path / "notes.txt").write_text("mine")
    cache.trim(limit_bytes=8_000)
    left = [number for number in range(10) if cache.read("runs", f"key{number}") is not None]
    assert left == [7, 8, 9]
    assert (tmp_path / "notes.txt").exists()


def test_a_link_or_a_record_of_another_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Cache(str(tmp_path)).write("runs", "key", RECORD)
    [path] = records(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
        assert Cache(str(tmp_path)).read("runs", "key") is None
    assert Cache(str(tmp_path)).read("runs", "key") == RECORD
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert Cache(str(tmp_path)).read("runs", "key") is None
    path.unlink()
    os.mkfifo(path)
    assert Cache(str(tmp_path)).read("runs", "key") is None


def test_a_folder_in_what_is_linted_is_not_used(tmp_path: Path) -> None:
    cache = Cache(str(tmp_path / "cache"), str(tmp_path))
    cache.write("runs", "key", RECORD)
    assert cache.read("runs", "key") is None
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"DL_LINT_CACHE_DIR": "/chosen", "XDG_CACHE_HOME": "/xdg"}, "/chosen"),
        ({"XDG_CACHE_HOME": "/xdg"}, "/xdg/dl-lint"),
        ({"XDG_CACHE_HOME": "relative"}, "/home/somebody/.cache/dl-lint"),
        ({}, "/home/somebody/.cache/dl-lint"),
    ],
)
def test_the_folder_is_the_users(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], folder: str) -> None:
    for name in ("DL_LINT_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    for name, value in ({"HOME": "/home/somebody"} | environment).items():
        monkeypatch.setenv(name, value)
    assert users_folder() == folder


def test_digests_tell_apart_what_joins_to_the_same() -> None:
    assert digest("ab", "c") != digest("a", "bc")
    assert digest("a") == digest(b"a")


def test_the_version_follows_the_code_of_the_linter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module, rule = tmp_path / "engine" / "cache.py", tmp_path / "rules" / "one.py"
    for path in (module, rule):
        path.parent.mkdir()
        path.write_text("x = 1\n")
    monkeypatch.setattr(cache, "__file__", str(module))
    before = tool_version()
    assert tool_version() == before
    rule.write_text("x = 12\n")
    longer = tool_version()
    rule.rename(rule.with_name("two.py"))
    assert len({before, longer, tool_version()}) == 3


# --- in runs ---------------------------------------------------------------------------


def test_a_warm_run_answers_as_a_cold_one(project: Project, faulty: str) -> None:
    project.write({"data.py": faulty, "broken.py": "DataLoader = (\n", "quiet.py": "x = 1\n"})
    for output_format in ("full", "json", "sarif"):
        runs = [project.lint("--no-cache", "--output-format", output_format)]
        runs += [project.lint("--output-format", output_format) for _ in range(2)]
        assert runs[0] == runs[1] == runs[2]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("data.py", "x = 1\n"),
        ("pyproject.toml", '[tool.dl-lint]\nignore = ["DL2"]\n'),
        ("pyproject.toml", '[tool.dl-lint]\nexclude = ["data.py"]\n'),
        ("pyproject.toml", '[tool.dl-lint.per-file-ignores]\n"data.py" = ["DL209"]\n'),
        (".gitignore", "data.py\n"),
    ],
)
def test_whatever_an_answer_rests_on_renews_it(project: Project, faulty: str, name: str, content: str) -> None:
    project.write({"data.py": faulty})
    assert project.lint().status == 1
    project.write({name: content})
    assert project.lint().status == 0


def test_a_change_in_one_file_renews_findings_in_another(project: Project) -> None:
    train = "import torch\nfrom loaders import make\n\nmake().dataset = None\n"
    loaders = "from torch.utils.data import DataLoader\n\n\ndef make():\n    return DataLoader([1], num_workers=1)\n"
    project.write({"train.py": train, "loaders.py": loaders})
    assert project.lint_json("train.py").places == [("train.py", 4, "DL211")]
    project.write({"loaders.py": loaders.replace("DataLoader([1], num_workers=1)", "object()")})
    assert project.lint_json("train.py").places == []
    project.write({"loaders.py": loaders})
    assert project.lint_json("train.py").places == [("train.py", 4, "DL211")]


def test_a_file_beyond_the_project_that_an_answer_rests_on_renews_it(
    tmp_path: Path, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyproject.toml").unlink()
    monkeypatch.setenv("HOME", str(tmp_path.parent))
    train = "import torch\nfrom loaders import make\n\nmake().dataset = None\n"
    loaders = "from torch.utils.data import DataLoader\n\n\ndef make():\n    return DataLoader([1], num_workers=1)\n"
    project.write({"train.py": train, "loaders.py": loaders})
    for _ in range(2):
        assert project.lint_json("train.py").places == [("train.py", 4, "DL211")]
    project.write({"loaders.py": "def make():\n    return object()\n"})
    assert project.lint_json("train.py").places == []
    Path("loaders.py").unlink()
    assert project.lint_json("train.py").places == []


def test_a_word_in_a_notebook_beside_renews_findings(project: Project) -> None:
    page = catalogue.page(catalogue.entries()["DL401"])
    example = page.partition("## Example")[2].split("```python\n")[1].partition("```")[0]
    project.write({"train.py": example, "explore.ipynb": "{}"})
    for _ in range(2):
        assert [code for _, _, code in project.lint_json("--select", "DL401").places] == ["DL401"]
    project.write({"explore.ipynb": '{"source": "sampler.set_epoch(1)"}'})
    assert project.lint_json("--select", "DL401").places == []


def test_every_damaged_record_is_worked_out_again(project: Project, cache_folder: Path, faulty: str) -> None:
    project.write({"data.py": faulty, ".gitignore": "x\n"})
    project.lint()
    assert {path.parent.name for path in records(cache_folder)} == {"ignored", "runs"}
    for path in records(cache_folder):
        path.write_bytes(path.read_bytes()[:30])
    assert project.lint_json().places == [("data.py", 5, "DL209")]


SHAPES = ['{"failure": []}', "[]", "3", '{"report": {}, "outside": {}}', "{}", '{"data.py": "yes"}', '{"outside": []}']


@pytest.mark.parametrize("body", SHAPES)
def test_a_record_of_the_wrong_shape_is_worked_out_again(
    project: Project, cache_folder: Path, faulty: str, body: str
) -> None:
    project.write({"data.py": faulty, ".gitignore": "x\n"})
    project.lint()
    for path in records(cache_folder):
        path.write_bytes(digest(body).encode() + b"\n" + body.encode())
    assert project.lint_json().places == [("data.py", 5, "DL209")]


def test_a_cache_that_cannot_be_written_is_no_reason_to_stop(project: Project, cache_folder: Path, faulty: str) -> None:
    project.write({"data.py": faulty})
    cache_folder.chmod(0o500)
    try:
        ran = project.unprivileged("--output-format", "json")
    finally:
        cache_folder.chmod(0o700)
    assert (ran.status, ran.err) == (1, "")


def test_a_file_in_place_of_the_cache_is_no_reason_to_stop(project: Project, cache_folder: Path, faulty: str) -> None:
    project.write({"data.py": faulty})
    cache_folder.rmdir()
    cache_folder.write_text("mine")
    ran = project.lint_json()
    assert (ran.status, ran.err) == (1, "")
    assert cache_folder.read_text() == "mine"


def test_no_cache_leaves_no_record_and_no_run_leaves_one_in_the_project(
    project: Project, cache_folder: Path, faulty: str
) -> None:
    project.write({"data.py": faulty})
    project.lint("--no-cache")
    assert not list(cache_folder.iterdir())
    project.lint()
    assert records(cache_folder)
    assert {path.name for path in project.root.iterdir()} == {"data.py", "pyproject.toml"}


def test_concurrent_runs_agree(project: Project, faulty: str) -> None:
    project.write({f"data{number}.py": faulty + f"# {number}\n" for number in range(20)})
    command = [sys.executable, "-m", "dl_lint", "--output-format", "json"]
    running = [
        subprocess.Popen(command, cwd=project.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(4)
    ]
    answers = {process.communicate(timeout=120) for process in running}
    [(out, err)] = answers
    assert (out.decode(), err) == (project.lint_json().out, b"")
