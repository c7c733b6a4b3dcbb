"""Which files a run is about, and that nothing on disk can make it hang, loop or fall over."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from dl_lint.config import Config, Home, locate
from dl_lint.engine import files
from dl_lint.engine.cache import Cache
from dl_lint.engine.files import File
from dl_lint.engine.report import Failure

if TYPE_CHECKING:
    from tests.lint.conftest import Project


def asked(*paths: str, exclude: tuple[str, ...] = ()) -> list[str]:
    home = locate(paths)
    found = files.find(paths, home, Config(home.root or str(Path.cwd()), exclude=exclude), Cache(None))
    return [file.path for file in found.files if file.asked]


def failures(*paths: str) -> list[str]:
    return [str(one) for one in files.find(paths, locate(paths), Config(str(Path.cwd())), Cache(None)).failures]


def test_folders_are_walked_and_paths_keep_the_name_that_led_to_them(project: Project) -> None:
    project.write({"b.py": "", "pkg/a.py": "", "pkg/deep/c.py": "", "notes.txt": "", "pkg/stub.pyi": ""})
    top = str(project.root)
    assert asked(".") == ["b.py", "pkg/a.py", "pkg/deep/c.py"]
    assert asked("./pkg/") == ["pkg/a.py", "pkg/deep/c.py"]
    assert asked("../" + project.root.name) == [f"../{project.root.name}/{name}" for name in asked(".")]
    assert asked(top) == [f"{top}/{name}" for name in asked(".")]


def test_a_file_reached_by_several_names_is_linted_once(project: Project) -> None:
    project.write({"pkg/a.py": "", "pkg/b.py": ""})
    assert asked("pkg/a.py", "./pkg/a.py", "pkg", str(project.root / "pkg" / "b.py")) == ["pkg/a.py", "pkg/b.py"]


def test_the_rest_of_the_project_comes_along_without_being_asked_about(project: Project) -> None:
    project.write({"pkg/a.py": "", "pkg/b.py": "", "train.py": ""})
    home = locate(["pkg/a.py"])
    found = files.find(["pkg/a.py"], home, Config(str(project.root)), Cache(None))
    assert [(file.path, file.asked) for file in found.files] == [
        ("pkg/a.py", True),
        ("pkg/b.py", False),
        ("train.py", False),
    ]


def test_outside_a_project_only_the_named_files_are_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").touch()
    (tmp_path / "b.py").touch()
    found = files.find(["a.py"], Home(), Config(str(tmp_path)), Cache(None))
    assert [file.path for file in found.files] == ["a.py"]


@pytest.mark.parametrize(
    "name",
    [".venv/lib/x.py", ".git/hooks/x.py", "node_modules/x.py", "build/x.py", "my env/pyvenv.cfg", "__pycache__/x.py"],
)
def test_folders_that_hold_no_code_of_the_project_are_left_out(project: Project, name: str) -> None:
    project.write({name: "", str(Path(name).with_name("y.py")): "", "a.py": ""})
    assert asked(".") == ["a.py"]


def test_a_skipped_folder_is_walked_if_it_is_named_itself(project: Project) -> None:
    project.write({".hidden/x.py": "", "build/y.py": ""})
    assert asked(".hidden", "build") == [".hidden/x.py", "build/y.py"]


def test_excluded_files_are_left_out_even_if_they_are_named(project: Project) -> None:
    project.write({"vendored/x.py": "", "pkg/m_pb2.py": "", "pkg/a.py": ""})
    assert asked(".", "vendored/x.py", exclude=("vendored/", "*_pb2.py")) == ["pkg/a.py"]
    assert asked("vendored/x.py", "pkg/m_pb2.py", exclude=("vendored/", "*_pb2.py")) == []


# --- .gitignore ------------------------------------------------------------------------

IGNORES = {
    ".gitignore": "*_gen.py\n/out/\ndata/**\n!data/keep.py\nbroken[\n",
    "pkg/.gitignore": "!wanted_gen.py\nlocal.py\n# comment\n\n",
    ".git/info/exclude": "private.py\n",
}
TREE = [
    "a.py",
    "a_gen.py",
    "out/x.py",
    "pkg/out/x.py",
    "pkg/wanted_gen.py",
    "pkg/local.py",
    "local.py",
    "data/x.py",
    "data/keep.py",
    "pkg/private.py",
]


def test_gitignore_files_are_understood_as_git_does(project: Project) -> None:
    subprocess.run(["git", "init", "-q"], cwd=project.root, check=True)
    project.write({**IGNORES, **dict.fromkeys(TREE, "")})
    listed = subprocess.run(
        ["git", "ls-files", "--others", "--exclude-standard", "*.py"],
        cwd=project.root,
        capture_output=True,
        text=True,
        check=True,
    )
    assert asked(".") == sorted(listed.stdout.split())
    assert asked(".") == ["a.py", "data/keep.py", "local.py", "pkg/out/x.py", "pkg/wanted_gen.py"]


WHITELISTS = [
    "*\n!*/\n!*.*\n",
    "*\n!.gitignore\n!src/\n!src/**\n",
    "*\n!src/\n!src/*\n",
    "*\n!src/\n",
    "/*\n!/src/\nlocal.py\n",
    "src/*\n!src/pkg/\n",
    "**/pkg/\n!src/pkg/a.py\n",
]


@pytest.mark.parametrize("patterns", WHITELISTS)
def test_patterns_that_take_folders_back_mean_what_they_mean_to_git(project: Project, patterns: str) -> None:
    subprocess.run(["git", "init", "-q"], cwd=project.root, check=True)
    names = ["top.py", "local.py", "src/a.py", "src/local.py", "src/pkg/a.py", "src/pkg/deep/b.py", "other/a.py"]
    project.write({".gitignore": patterns, **dict.fromkeys(names, "")})
    command = ["git", "ls-files", "--others", "--exclude-standard", "*.py"]
    listed = subprocess.run(command, cwd=project.root, capture_output=True, text=True, check=True)
    assert asked(".") == sorted(listed.stdout.split())


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_what_git_tracks_belongs_to_the_project_though_it_is_ignored(project: Project, version: str) -> None:
    project.write({".gitignore": "*.py\ndata/\n", "a.py": "", "b.py": "", "data/deep/c.py": "", "data/deep/d.py": ""})
    git = ["git", "-c", f"index.version={version}"]
    subprocess.run([*git, "init", "-q"], cwd=project.root, check=True)
    subprocess.run([*git, "add", "-f", "a.py", "data/deep/c.py"], cwd=project.root, check=True)
    assert asked(".") == ["a.py", "data/deep/c.py"]
    assert asked("data") == ["data/deep/c.py"]


def test_an_index_that_is_damaged_tracks_nothing(project: Project) -> None:
    project.write({".gitignore": "*.py\n", "a.py": ""})
    subprocess.run(["git", "init", "-q"], cwd=project.root, check=True)
    subprocess.run(["git", "add", "-f", "a.py"], cwd=project.root, check=True)
    assert asked(".") == ["a.py"]
    index = project.root / ".git" / "index"
    index.write_bytes(index.read_bytes()[:40])
    assert asked(".") == []


def test_a_tree_of_which_nothing_is_read_says_what_left_it_out(project: Project) -> None:
    project.write({".gitignore": "gen/\n", "gen/a.py": "", "gen/deep/b.py": "", "build/c.py": "", "notes.txt": ""})
    ran = project.lint(".")
    assert (ran.status, ran.out) == (0, "No Python file was read.\n")
    said = "no Python file was read: 2 left out by .gitignore, 1 left out by the folder's name (build)"
    assert ran.err == f"dl-lint: {said}\n"
    assert project.lint("--output-format", "github", ".").out == f"::warning title=dl-lint::{said}\n"
    project.write({"a.py": ""})
    assert (project.lint(".").out, project.lint(".").err) == ("No findings in 1 file.\n", "")
    assert project.lint("--output-format", "github", ".").out == ""


def test_ignore_files_above_the_named_folder_count_up_to_the_checkout(project: Project) -> None:
    subprocess.run(["git", "init", "-q"], cwd=project.root, check=True)
    project.write({**IGNORES, **dict.fromkeys(TREE, ""), "pkg/pyproject.toml": "[tool.dl-lint]\n"})
    assert asked("pkg") == ["pkg/out/x.py", "pkg/wanted_gen.py"]


def test_a_named_file_is_linted_though_git_ignores_it(project: Project) -> None:
    project.write({".gitignore": "*.py\n", "a.py": ""})
    assert asked(".") == []
    assert asked("a.py") == ["a.py"]


def test_answers_about_patterns_are_kept_and_renewed_with_the_patterns(project: Project) -> None:
    project.write({".gitignore": "a.py\n", "a.py": "", "b.py": ""})
    cache = Cache(str(project.root))
    home, config = locate(["."]), Config(str(project.root))
    for _ in range(2):
        assert [file.path for file in files.find(["."], home, config, cache).files] == ["b.py"]
    project.write({".gitignore": "b.py\n"})
    assert [file.path for file in files.find(["."], home, config, cache).files] == ["a.py"]


# --- what is no file -------------------------------------------------------------------


def test_pipes_sockets_devices_and_folders_named_like_files_are_passed_over(project: Project) -> None:
    project.write({"a.py": "", "folder.py/inner.py": ""})
    os.mkfifo("pipe.py")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket.py")
        assert asked(".") == ["a.py", "folder.py/inner.py"]
        assert failures("pipe.py", "socket.py", "/dev/null", "a.py") == [
            "pipe.py: not a regular file",
            "socket.py: not a regular file",
            "/dev/null: not a regular file",
        ]


def test_a_pipe_put_in_place_of_a_file_does_not_block_the_reader(project: Project) -> None:
    os.mkfifo("a.py")
    file = File("a.py", str(project.root / "a.py"))
    assert files.read(file) == Failure("a.py", "not a regular file")


def test_loops_of_links_end_and_links_to_files_count_once(project: Project) -> None:
    project.write({"pkg/a.py": "", "elsewhere/b.txt": ""})
    Path("pkg/loop").symlink_to("..")
    Path("pkg/self.py").symlink_to("self.py")
    Path("pkg/same.py").symlink_to("a.py")
    Path("pkg/dangling.py").symlink_to("nowhere.py")
    Path("pkg/other.py").symlink_to("../elsewhere/b.txt")
    assert asked(".") == ["pkg/a.py", "pkg/other.py"]


def test_what_is_not_there_is_a_failure_if_it_was_named(project: Project) -> None:
    assert failures("missing.py", "missing/") == [
        "missing.py: cannot be read: no such file or directory",
        "missing/: cannot be read: no such file or directory",
    ]
    [impossible] = failures("nul\0.py")
    assert impossible.startswith("nul\0.py: cannot be read: ")
    project.write({"a.py": ""})
    vanished = File("a.py", str(project.root / "a.py"))
    Path("a.py").unlink()
    assert files.read(vanished) is None
    named = File("a.py", str(project.root / "a.py"), by_name=True)
    assert files.read(named) == Failure("a.py", "cannot be read: no such file or directory")


def test_what_may_not_be_read_is_a_failure_and_the_rest_is_linted(project: Project, faulty: str) -> None:
    project.write({"secret.py": "", "closed/x.py": "", "data.py": faulty})
    Path("secret.py").chmod(0)
    Path("closed").chmod(0)
    try:
        ran = project.unprivileged("--output-format", "json")
    finally:
        Path("closed").chmod(0o700)
    assert (ran.status, ran.places) == (2, [("data.py", 5, "DL209")])
    assert ran.err.splitlines() == [
        "dl-lint: closed: cannot be read: permission denied",
        "dl-lint: secret.py: cannot be read: permission denied",
    ]
