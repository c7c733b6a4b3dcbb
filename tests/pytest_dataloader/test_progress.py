"""Progress: seen on a terminal while measuring, gone afterwards, absent everywhere else."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from pytest_dataloader import progress

if TYPE_CHECKING:
    from tests.pytest_dataloader.conftest import Project

pty = pytest.importorskip("pty", reason="there are no pseudo-terminals here")


def run_on_a_terminal(**environ: str) -> str:
    """Everything that a measuring run shows on a terminal 100 columns wide."""
    main, terminal = pty.openpty()
    command = [sys.executable, "-m", "pytest", "-p", "no:hypothesispytest", "-p", "no:memray", "--color=no"]
    environment = {name: value for name, value in os.environ.items() if name not in ("CI", "BUILD_NUMBER")}
    with subprocess.Popen(
        [*command, "--dataloader-bench", "--dataloader-seconds=0.5", "--tb=short"],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env={**environment, "TERM": "xterm", "COLUMNS": "100", **environ},
    ) as run:
        os.close(terminal)
        shown = b""
        while True:
            try:
                piece = os.read(main, 65536)
            except OSError:  # the last process has let go of the terminal
                break
            if not piece:
                break
            shown += piece
        os.close(main)
        assert run.wait(60) == 0, shown.decode()
    return shown.decode()


def test_a_terminal_shows_what_is_measured_and_keeps_the_lines_of_pytest(project: Project) -> None:
    keys = 'loader = "proj.data:make_with_workers"\nchecks = ["throughput"]\nmin_samples_per_second = 1000000000\n'
    project.declare(train=keys)
    project.path.joinpath("conftest.py").write_text(
        "import functools\nfrom pytest_dataloader.checks import throughput\n"
        "from pytest_dataloader.verdict import Verdict\n"
        "def passed(evidence, **limits): return Verdict('passed', 'as it were ' * 30)\n"
        "throughput.judge = functools.wraps(throughput.judge)(passed)\n"
    )
    shown = run_on_a_terminal()
    texts = re.findall(r"\x1b7([^\x1b]*)\x1b\[K\x1b8", shown)
    assert any(re.fullmatch(r"train throughput: .* \d+ %", text) for text in texts), texts
    assert texts[-1] == ""
    assert all(len(text) < 100 - len("pyproject.toml ") for text in texts)
    left = re.sub(r"\x1b7[^\x1b]*\x1b\[K\x1b8", "", shown)
    assert re.search(r"\r\npyproject\.toml \. +\[100%\]\r\n", left), left
    assert "\x1b" not in left
    summary = left.partition(" dataloader ")[2].splitlines()[1:]
    assert summary[0].startswith("train  throughput passed")
    assert max(map(len, summary)) <= 100


@pytest.mark.slow
def test_a_terminal_of_ci_shows_none(project: Project) -> None:
    project.declare(train='loader = "proj.data:make"\nchecks = ["throughput"]')
    assert "\x1b7" not in run_on_a_terminal(CI="true")


def config(*, worker: bool = False, terminal: bool = True, verbosity: int = 0) -> pytest.Config:
    plugins = SimpleNamespace(hasplugin=lambda _name: terminal, getplugin=lambda _name: None)
    fake: Any = SimpleNamespace(pluginmanager=plugins, get_verbosity=lambda: verbosity)
    if worker:
        fake.workerinput = {}
    return cast("pytest.Config", fake)


@pytest.mark.parametrize(
    ("given", "environ", "isatty", "expected"),
    [
        (config(), {"TERM": "xterm"}, True, True),
        (config(), {"TERM": "xterm", "CI": ""}, True, True),
        (config(), {"TERM": "xterm", "CI": "1"}, True, False),
        (config(), {"TERM": "dumb"}, True, False),
        (config(), {}, True, False),
        (config(), {"TERM": "xterm"}, False, False),
        (config(worker=True), {"TERM": "xterm"}, True, False),
        (config(terminal=False), {"TERM": "xterm"}, True, False),
        (config(verbosity=-1), {"TERM": "xterm"}, True, False),
    ],
)
def test_progress_is_for_somebody_who_watches(
    given: pytest.Config, environ: dict[str, str], isatty: bool, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(isatty=lambda: isatty))
    assert progress.wanted(given, environ) is expected


@pytest.mark.parametrize(
    ("what", "share", "room", "expected"),
    [
        ("train throughput: warm-up", 0.4, 80, "train throughput: warm-up 40 %"),
        ("train throughput: warm-up", 0.4, 30, "train throughput: warm-up 40 %"),
        ("train throughput: warm-up", 0.4, 29, "...n throughput: warm-up 40 %"),
        ("train throughput: warm-up", 0.4, 15, ""),
        ("done", 1.7, 80, "done 100 %"),
        ("done", -1.0, 80, "done 0 %"),
    ],
)
def test_a_text_fits_into_the_line(what: str, share: float, room: int, expected: str) -> None:
    assert progress.progress_text(what, share, room) == expected
    assert len(expected) <= room
