"""The command's surface: options, exit status, streams."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import termios
import time
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from dl_lint import __version__

if TYPE_CHECKING:
    from tests.lint.conftest import Project

ROOT = Path(__file__).parents[2]


OF_EACH_WEIGHT = """
from torch.utils.data import DataLoader, DistributedSampler


def make(dataset):
    return DataLoader(dataset, num_workers=4, pin_memory=True, pin_memory_device="cuda")


def make_val_loader(val_dataset):
    sampler = DistributedSampler(val_dataset, shuffle=False)
    return DataLoader(val_dataset, sampler=sampler, shuffle=True)
"""


def test_a_clean_project_exits_0_and_says_how_many_files_it_saw(project: Project, mended: str) -> None:
    project.write({"data.py": mended, "pkg/other.py": "x = 1\n"})
    ran = project.lint()
    assert (ran.status, ran.out, ran.err) == (0, "No findings in 2 files.\n", "")


def test_findings_exit_1_with_frame_reason_and_remedy(project: Project, faulty: str) -> None:
    project.write({"data.py": faulty})
    ran = project.lint()
    assert ran.status == 1
    assert ran.out.startswith("DL209 ignored-pin-memory-device [*] ")
    assert "--> data.py:5:64\n" in ran.out
    assert '5 |     return DataLoader(dataset, num_workers=4, pin_memory=True, pin_memory_device="cuda")' in ran.out
    assert "help: " in ran.out
    assert ran.out.endswith("\nFound 1 slow in 1 file of 1.\n[*] 1 can be fixed with --fix.\n")


def test_a_run_tells_bugs_first_and_counts_by_weight_with_the_advice_that_it_hides(project: Project) -> None:
    project.write({"data.py": OF_EACH_WEIGHT})
    ran = project.lint()
    assert [line[:5] for line in ran.out.splitlines() if line.startswith("DL")] == ["DL203", "DL209"]
    assert "Found 1 bug, 1 slow in 1 file of 1; 1 piece of advice hidden (--pedantic shows it).\n" in ran.out
    assert "Found 1 bug, 1 slow, 1 piece of advice in 1 file of 1.\n" in project.lint("--pedantic").out
    assert "Found 1 bug in 1 file of 1.\n" in project.lint("--select", "DL203").out
    assert "advice" not in project.lint("--ignore", "DL409").out
    assert [one["severity"] for one in project.lint_json("--pedantic").records] == ["bug", "slow", "advice"]


def test_a_file_that_cannot_be_read_is_not_counted_as_clean(project: Project, mended: str) -> None:
    project.write({"broken.py": "import torch\nnum_workers = (\n", "data.py": mended})
    assert project.lint("broken.py").out == "No Python file was read.\n"
    for _ in ("cold", "warm"):
        ran = project.lint()
        assert (ran.status, ran.out) == (2, "No findings in 1 file; 1 could not be checked.\n")


def test_exit_zero_hides_findings_but_not_what_could_not_be_checked(project: Project, faulty: str) -> None:
    project.write({"data.py": faulty})
    assert project.lint("--exit-zero").status == 0
    project.write({"broken.py": "import torch\nnum_workers = (\n"})
    assert project.lint("--exit-zero").status == 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"from torch.utils.data import DataLoader\ndef f(:\n", r"broken\.py:\d+: syntax error"),
        (b"name = '\xff'\n", r"broken\.py:1: is not utf-8: byte 0xff cannot be decoded"),
        (b"# coding: klingon\nname = '\xff'\n", r"broken\.py:1: declares the unknown encoding 'klingon'"),
        (b"DataLoader = '\0'\n", r"broken\.py:1: holds a NUL byte"),
    ],
)
def test_what_cannot_be_checked_is_one_line_and_the_rest_is_linted(
    project: Project, faulty: str, content: bytes, said: str
) -> None:
    project.write({"broken.py": content, "data.py": faulty})
    for _ in ("cold", "warm"):
        ran = project.lint_json()
        assert ran.status == 2
        assert ran.places == [("data.py", 5, "DL209")]
        [line] = ran.err.splitlines()
        assert re.match(f"dl-lint: {said}", line)


def test_a_file_that_no_rule_is_about_must_be_python_only_if_it_is_named(project: Project) -> None:
    project.write({"snippet.py": "def f(:\n"})
    assert project.lint().status == 0
    ran = project.lint("snippet.py")
    assert ran.status == 2
    assert re.match(r"dl-lint: snippet\.py:\d+: syntax error", ran.err)


@pytest.mark.parametrize("arguments", [["--selct", "DL1"], ["--jobs", "2"], ["--output-format", "xml"]])
def test_a_wrong_option_exits_2_and_names_it(project: Project, arguments: list[str]) -> None:
    ran = project.lint(*arguments)
    assert ran.status == 2
    assert arguments[0] in ran.err


def test_writing_a_baseline_excludes_fixing(project: Project) -> None:
    ran = project.lint("--fix", "--write-baseline", "--baseline", "accepted.json")
    assert ran.status == 2
    assert "choose one" in ran.err


def test_version_is_the_packages() -> None:
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert __version__ == pyproject["project"]["version"]


ANALYSING = (
    "dl_lint.rules.",
    "dl_lint.project",
    "dl_lint.flow.program",
    "dl_lint.pipeline",
    "dl_lint.transfers",
    "dl_lint.source.parser",
)
"""Beginnings of the names of modules that only a run which reads Python needs."""


def test_start_up_loads_neither_parser_nor_rules_nor_terminal_library(project: Project) -> None:
    slow = {"libcst", "rich", "pathspec", "dataclasses"} - _loaded_by_argparse()
    for arguments in (["--version"], ["--help"]):
        loaded = _modules(project, *arguments)
        assert "dl_lint.cli" in loaded
        assert not _top(loaded) & slow
        assert not {name for name in loaded if name.startswith(ANALYSING)}


def test_a_run_with_nothing_to_parse_loads_nothing_that_reads_python(project: Project) -> None:
    empty = _modules(project)
    assert not {name for name in empty if name.startswith(ANALYSING)}
    slow = {"libcst", "rich", "pathspec", "hashlib", "json", "dataclasses"} - _loaded_by_argparse()
    assert not _top(empty) & slow
    project.write({"plain.py": "print('nothing about loaders')\n"})
    assert "dl_lint.engine.relevance" in _modules(project)  # its first run, without a cache
    plain = _modules(project, "--no-cache")
    assert not {name for name in plain if name.startswith((*ANALYSING, "dl_lint.rule"))}


def test_a_warm_run_loads_no_parser_no_project_no_rules(project: Project, faulty: str) -> None:
    project.write({"data.py": faulty, ".gitignore": "build/\n", "tool/pyproject.toml": "", "pyproject.toml": _SETTINGS})
    cold = _modules(project)
    assert "dl_lint.source.parser" in cold
    warm = _modules(project)
    assert not _top(warm) & {"libcst", "rich", "pathspec", "concurrent", "multiprocessing"}
    assert not {name for name in warm if name.startswith(ANALYSING)}
    assert project.lint().out == project.command().out


def test_only_a_fix_loads_the_library_that_changes_code(project: Project, faulty: str) -> None:
    project.write({"data.py": faulty})
    for arguments in (("--no-cache",), ("--output-format", "github"), ()):
        assert "libcst" not in _top(_modules(project, *arguments))
    for arguments in (("--diff",), ("--output-format", "json")):
        assert "libcst" in _top(_modules(project, *arguments))
    project.write({"data.py": faulty.replace('pin_memory_device="cuda"', '**{"pin_memory_device": "cuda"}')})
    assert project.lint_json().places == [("data.py", 5, "DL209")]
    assert "libcst" not in _top(_modules(project, "--output-format", "json"))


_SETTINGS = '[tool.dl-lint]\nexclude = ["vendored/"]\nper-file-ignores = {"tests/*" = ["DL2"]}\n'


def _modules(project: Project, *arguments: str) -> set[str]:
    """Names of the modules that a run of the command has loaded at its end."""
    code = "import sys; from dl_lint.cli import main; main(sys.argv[1:]); print('\\n' + '\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=project.root, capture_output=True, text=True, check=True
    )
    return set(done.stdout.splitlines())


def _loaded_by_argparse() -> set[str]:
    """What any command loads that has an option: since Python 3.14 dataclasses, for the colours of its help."""
    code = "import argparse, sys; argparse.ArgumentParser(); print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines())


def _top(names: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in names}


# --- the catalogue ---------------------------------------------------------------------


def test_rules_are_listed_as_a_table_and_as_json(project: Project) -> None:
    table = project.lint("--list-rules")
    assert table.status == 0
    assert "DL001  unused-suppression" in table.out
    records = project.lint("--list-rules", "--output-format", "json").records
    assert [record["code"] for record in records] == [line.split()[0] for line in table.out.splitlines()]
    assert all(record["explanation"].startswith(record["summary"]) for record in records)


@pytest.mark.parametrize("wanted", ["DL209", "ignored-pin-memory-device"])
def test_explain_prints_the_page_of_a_rule(project: Project, wanted: str) -> None:
    ran = project.lint("--explain", wanted)
    assert ran.status == 0
    assert ran.out.startswith("# DL209 ignored-pin-memory-device (slow)\n")
    assert "## Use instead" in ran.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--explain", "DL2090"], 'no rule "DL2090" (did you mean "DL209"?)'),
        (["--explain", "ignored-pin-memory"], 'did you mean "ignored-pin-memory-device"?'),
        (["--select", "DL20,DL9"], '--select: no rule "DL9"'),
        (["--ignore", "dl209"], '--ignore: no rule "dl209" (did you mean "DL209"?)'),
        (["--extend-select", "al"], "--extend-select: no rule"),
    ],
)
def test_an_unknown_rule_is_an_error_with_the_likely_one(project: Project, arguments: list[str], said: str) -> None:
    ran = project.lint(*arguments)
    assert ran.status == 2
    assert said in ran.err


# --- standard input --------------------------------------------------------------------


def test_standard_input_is_linted_under_the_name_given(project: Project, faulty: str) -> None:
    ran = project.command("-", "--stdin-filename", "pkg/data.py", "--output-format", "json", stdin=faulty.encode())
    assert (ran.status, ran.places) == (1, [("pkg/data.py", 5, "DL209")])
    nameless = project.command("-", "--output-format", "concise", stdin=faulty.encode())
    assert nameless.out.startswith("-:5:64: DL209 [*] ")


def test_standard_input_stands_for_the_file_on_disk_and_sees_its_neighbours(project: Project) -> None:
    train = "import torch\nfrom loaders import train_loader\n\ntrain_loader.dataset = None\n"
    loaders = "from torch.utils.data import DataLoader\n\ntrain_loader = DataLoader([1], num_workers=1)\n"
    project.write({"pkg/train.py": "import torch\n", "pkg/loaders.py": loaders})
    ran = project.command("--stdin-filename", "pkg/train.py", "--output-format", "json", stdin=train.encode())
    assert ran.places == [("pkg/train.py", 4, "DL211")]


def test_fixing_standard_input_prints_the_code_and_speaks_on_stderr(project: Project, faulty: str, mended: str) -> None:
    ran = project.command("-", "--fix", stdin=faulty.replace("\n", "\r\n").encode())
    assert ran.status == 0
    assert ran.out == mended.replace("\n", "\r\n")
    assert "Fixed 1 finding; 0 left." in ran.err


# --- streams and signals ---------------------------------------------------------------


def test_a_fault_of_ours_is_not_taken_for_findings(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def stumble(*_: object, **__: object) -> None:
        raise ZeroDivisionError("folders")

    monkeypatch.setattr("dl_lint.engine.files.find", stumble)
    ran = project.lint()
    assert ran.status == 2
    assert ran.err.endswith(
        "ZeroDivisionError: folders\ndl-lint: error: this is a fault of dl-lint, please report it\n"
    )


@pytest.mark.parametrize(
    ("redirection", "status", "said"),
    [
        (">&-", 1, ""),
        ("2>&- >/dev/null", 1, ""),
        (">/dev/full", 2, "dl-lint: error: cannot write what there is to say: No space left on device\n"),
    ],
)
def test_a_stream_that_cannot_be_written_to_is_no_fault_of_ours(
    redirection: str, status: int, said: str, project: Project, faulty: str
) -> None:
    project.write({f"data{number}.py": faulty for number in range(20)})
    shell = f"{sys.executable} -m dl_lint {redirection}"
    done = subprocess.run(shell, shell=True, cwd=project.root, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (status, said)


def test_a_reader_that_leaves_early_is_no_error(project: Project, faulty: str) -> None:
    project.write({f"data{number}.py": faulty for number in range(200)})
    shell = f"{sys.executable} -m dl_lint | head -1"
    done = subprocess.run(shell, cwd=project.root, shell=True, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("DL209")
    assert done.stderr == ""


def test_ctrl_c_exits_130_without_a_traceback_or_half_a_fix(project: Project, faulty: str) -> None:
    project.write({f"data{number}.py": f"{faulty}\nVALUE = {number}\n" for number in range(200)})
    process = subprocess.Popen(
        [sys.executable, "-m", "dl_lint", "--fix"], cwd=project.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    maps = Path(f"/proc/{process.pid}/maps")
    deadline = time.monotonic() + 60
    while "libcst" not in maps.read_text() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.001)  # until the first fix is made
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, b"", b"")
    assert all(project.read(f"data{number}.py").startswith(faulty) for number in range(200))


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)],
)
def test_colours_follow_the_environment_where_there_is_no_terminal(
    project: Project, faulty: str, environment: dict[str, str], coloured: bool
) -> None:
    project.write({"data.py": faulty})
    ran = project.command(environment={"TERM": "xterm-256color", **environment})
    assert ("\x1b[" in ran.out) is coloured


def on_terminal(project: Project, *arguments: str, environment: dict[str, str] | None = None) -> str:
    """What the command writes to a terminal of 100 columns."""
    leader, follower = pty.openpty()
    termios.tcsetwinsize(follower, (40, 100))
    with subprocess.Popen(
        [sys.executable, "-m", "dl_lint", *arguments],
        cwd=project.root,
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env={**os.environ, "TERM": "xterm-256color", **(environment or {})},
    ) as process:
        os.close(follower)
        shown = b""
        with suppress(OSError):  # Linux says so when the other side is closed
            while chunk := os.read(leader, 4096):
                shown += chunk
        os.close(leader)
    assert process.returncode in (0, 1)
    return shown.decode().replace("\r\n", "\n")


def test_a_terminal_gets_colours_unless_it_does_not_want_any(project: Project, faulty: str) -> None:
    project.write({"data.py": faulty})
    plain = project.lint().out
    coloured = on_terminal(project)
    assert "\x1b[1;31mDL209\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
    for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert on_terminal(project, environment=environment) == plain


def test_a_terminal_gets_the_page_of_a_rule_laid_out(project: Project) -> None:
    shown = on_terminal(project, "--explain", "DL209")
    assert "\x1b[" in shown
    assert "## What it does" not in shown
    assert "What it does" in shown
    assert on_terminal(project, "--explain", "DL209", environment={"NO_COLOR": "1"}).startswith("# DL209 ")


def test_what_the_terminal_cannot_show_is_escaped(project: Project, faulty: str) -> None:
    project.write({"daten_\N{LATIN SMALL LETTER U WITH DIAERESIS}.py": faulty})
    ran = project.command("--output-format", "concise", environment={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert ran.out.startswith("daten_\\xfc.py:5:64: DL209")


def test_statistics_count_findings_by_rule(project: Project, faulty: str) -> None:
    project.write({"one.py": faulty, "two.py": faulty})
    ran = project.lint("--statistics")
    assert ran.out.startswith("2  DL209  [*] ignored-pin-memory-device\n")
    [row] = json.loads(project.lint("--statistics", "--output-format", "json").out)
    assert (row["code"], row["count"], row["fixable_count"]) == ("DL209", 2, 2)
