"""[tool.dl-lint]: where it is looked for, what it may say, and how it refuses what cannot be meant."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from dl_lint import config
from dl_lint.config import Home
from dl_lint.engine import catalogue
from dl_lint.engine.selection import ConfigError, Selectors

if TYPE_CHECKING:
    from tests.lint.conftest import Project

RULES = catalogue.entries()


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty git checkout with a folder in it, current."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "pkg").mkdir()
    return tmp_path


def read(text: str, path: str = "pyproject.toml") -> config.Config:
    Path(path).write_text(text)
    return config.read(path, str(Path.cwd()), RULES)


# --- where -----------------------------------------------------------------------------


def test_the_nearest_table_is_home_past_a_pyproject_without_one(checkout: Path) -> None:
    (checkout / "pyproject.toml").write_text("[tool.dl-lint]\n")
    (checkout / "pkg" / "pyproject.toml").write_text("[project]\n")
    assert config.locate(["pkg/data.py"]) == Home(str(checkout), str(checkout / "pyproject.toml"), str(checkout))


def test_without_a_table_the_nearest_pyproject_is_home_and_the_checkout_is_kept(checkout: Path) -> None:
    (checkout / "pyproject.toml").write_text("[project]\n")
    (checkout / "pkg" / "pyproject.toml").write_text("[project]\n")
    assert config.locate(["pkg"]) == Home(str(checkout / "pkg"), None, str(checkout))


def test_a_checkout_is_home_where_there_is_no_pyproject_and_is_not_left(checkout: Path) -> None:
    (checkout / "pkg" / ".git").touch()  # a worktree or a submodule has a file
    (checkout / "pyproject.toml").write_text("[tool.dl-lint]\n")
    assert config.locate(["pkg"]) == Home(str(checkout / "pkg"), None, str(checkout / "pkg"))


def test_several_paths_share_the_home_above_them_all(checkout: Path) -> None:
    (checkout / "pkg" / "pyproject.toml").write_text("[tool.dl-lint]\n")
    assert config.locate(["pkg/data.py", "train.py"]).root == str(checkout)


def test_the_home_folder_is_nobodys_project(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(checkout))
    (checkout / "pyproject.toml").write_text("[tool.dl-lint]\n")
    assert config.locate(["pkg"]) == Home()


# --- what ------------------------------------------------------------------------------


def test_every_key_is_read(checkout: Path) -> None:
    found = read(
        """
        [tool.dl-lint]
        select = ["DL2", "ignored-pin-memory-device"]
        extend-select = ["ALL"]
        ignore = ["DL211"]
        exclude = ["vendored/", "*_pb2.py"]
        pedantic = true
        baseline = "lint/accepted.json"
        [tool.dl-lint.per-file-ignores]
        "tests/**" = ["DL2"]
        """
    )
    assert found == config.Config(
        base=str(checkout),
        selectors=Selectors(("DL2", "ignored-pin-memory-device"), ("ALL",), ("DL211",)),
        per_file_ignores=(("tests/**", ("DL2",)),),
        exclude=("vendored/", "*_pb2.py"),
        pedantic=True,
        baseline=str(checkout / "lint" / "accepted.json"),
    )


@pytest.mark.usefixtures("checkout")
def test_a_file_named_by_hand_may_hold_the_keys_alone() -> None:
    assert read('ignore = ["DL2"]\n', "lint.toml").selectors == Selectors(ignore=("DL2",))
    assert read("[tool.other]\n").selectors == Selectors()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[tool.dl-lint\n", "pyproject.toml: not TOML: "),
        ("[tool]\ndl-lint = 3\n", "pyproject.toml: [tool.dl-lint] must be a table, not 3"),
        ("[tool.dl-lint]\nselekt = []\n", '[tool.dl-lint] has no key "selekt" (did you mean "select"?)'),
        ("[tool.dl-lint]\nzzz = 1\n", '[tool.dl-lint] has no key "zzz"; there are select, '),
        ('[tool.dl-lint]\nselect = "DL2"\n', "[tool.dl-lint] select must be a list of strings, not 'DL2'"),
        ("[tool.dl-lint]\nignore = [2]\n", "[tool.dl-lint] ignore must be a list of strings, not [2]"),
        ('[tool.dl-lint]\nignore = ["DL999"]\n', '[tool.dl-lint] ignore: no rule "DL999"'),
        ("[tool.dl-lint]\nper-file-ignores = []\n", "per-file-ignores must be a table of patterns"),
        (
            '[tool.dl-lint.per-file-ignores]\n"tests/*" = ["DL999"]\n',
            '[tool.dl-lint] per-file-ignores."tests/*": no rule "DL999"',
        ),
        ('[tool.dl-lint]\npedantic = "yes"\n', "pedantic must be true or false, not 'yes'"),
        ("[tool.dl-lint]\nbaseline = true\n", "baseline must be the name of a file, not True"),
        ('[tool.dl-lint]\nexclude = ["!"]\n', "[tool.dl-lint] exclude: '!' is not a pattern"),
    ],
)
@pytest.mark.usefixtures("checkout")
def test_what_cannot_be_meant_is_an_error_that_names_file_and_key(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as error:
        read(text)
    assert str(error.value).startswith("pyproject.toml: ")
    assert said in str(error.value)


def test_bytes_that_are_not_utf_8_are_an_error_too(checkout: Path) -> None:
    (checkout / "pyproject.toml").write_bytes(b"[tool.dl-lint]\nselect = ['\xff']\n")
    with pytest.raises(ConfigError, match=r"pyproject\.toml: not TOML"):
        config.read("pyproject.toml", str(checkout), RULES)


# --- through the command ---------------------------------------------------------------


def test_settings_reach_the_run_and_errors_exit_2(project: Project, faulty: str) -> None:
    project.write({"pyproject.toml": '[tool.dl-lint]\nignore = ["DL209"]\n', "data.py": faulty})
    assert project.lint().status == 0
    assert project.lint("--select", "DL209").status == 1
    project.write({"pyproject.toml": "[tool.dl-lint]\nignored = []\n"})
    ran = project.lint()
    assert (ran.status, ran.out) == (2, "")
    assert ran.err == 'dl-lint: error: pyproject.toml: [tool.dl-lint] has no key "ignored" (did you mean "ignore"?)\n'


def test_the_error_names_the_file_from_where_the_command_runs(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write({"pyproject.toml": "[tool.dl-lint]\nignored = []\n", "pkg/data.py": ""})
    monkeypatch.chdir(project.root / "pkg")
    assert project.lint().err.startswith("dl-lint: error: ../pyproject.toml: [tool.dl-lint] ")


def test_config_replaces_the_nearest_pyproject(project: Project, faulty: str) -> None:
    project.write({"pyproject.toml": '[tool.dl-lint]\nignore = ["DL2"]\n', "data.py": faulty, "other.toml": ""})
    assert project.lint("--config", "other.toml").status == 1
    missing = project.lint("--config", "missing.toml")
    assert (missing.status, missing.err) == (
        2,
        "dl-lint: error: missing.toml: cannot be read (No such file or directory)\n",
    )


@pytest.mark.parametrize(
    ("pattern", "flagged"),
    [
        ("tests/*", ["src/data.py"]),
        ("tests/", ["src/data.py"]),
        ("**/data.py", []),
        ("data.py", []),
        ("/data.py", ["src/data.py", "tests/data.py"]),
        ("src/**", ["tests/data.py"]),
    ],
)
def test_per_file_ignores_take_patterns_as_git_does(
    project: Project, faulty: str, pattern: str, flagged: list[str]
) -> None:
    settings = f'[tool.dl-lint.per-file-ignores]\n"{pattern}" = ["DL209"]\n'
    project.write({"pyproject.toml": settings, "src/data.py": faulty, "tests/data.py": faulty})
    assert [path for path, _, _ in project.lint_json().places] == flagged
