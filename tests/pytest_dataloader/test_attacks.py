"""What comes with a repository neither holds a run up nor speaks for it, and nothing that was there is lost."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import sys
from typing import TYPE_CHECKING, Any

import pytest

from pytest_dataloader import baselines
from pytest_dataloader.errors import BadBaseline, BadLimit
from pytest_dataloader.printable import printable
from pytest_dataloader.report import json as report
from pytest_dataloader.settings import limits, targets
from tests.pytest_dataloader.conftest import WITHOUT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.pytest_dataloader.conftest import Project

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes and devices with names")

BLOCKED_SECONDS = 300
OBEYED = {"\x1b", "\x9b", "\u202e", "\r", "\x07", "\u2066"}
SAMPLE = "\x1b]0;owned\x07 \x9b31m \u202egnp\u2066 \r\udcff\n::error file=a.py::owned\n  ::add-mask::x"


@pytest.fixture(autouse=True)
def awake() -> Iterator[None]:
    """A read that waits for a writer for ever is a failure and no end of the suite."""

    def wake(*_: object) -> None:
        raise AssertionError("it waits for what never comes")

    before = signal.signal(signal.SIGALRM, wake)
    signal.alarm(BLOCKED_SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def put(path: Path, kind: str) -> Path:
    """Something at a path that is no regular file."""
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "socket":
            with socket.socket(socket.AF_UNIX) as bound:
                os.chdir(path.parent)
                bound.bind(path.name)
        case "directory":
            path.mkdir()
        case "ring":
            path.symlink_to(path.name)
        case device:
            path.symlink_to(f"/dev/{device}")
    return path


LIMIT_KINDS = ["pipe", "socket", "directory", "ring", "full", "zero", "null"]


# --- paths of options ------------------------------------------------------------------


@pytest.mark.parametrize("kind", LIMIT_KINDS)
@pytest.mark.parametrize("option", ["--dataloader-json", "--dataloader-markdown", "--dataloader-baseline"])
def test_a_path_to_no_regular_file_is_refused_before_anything_runs_and_stays(
    pytester: pytest.Pytester, option: str, kind: str
) -> None:
    path = put(pytester.path / "there", kind)
    before = path.lstat()
    with pytest.raises(pytest.UsageError, match=rf"^{option}: {path}: (is a |Too many levels)") as caught:
        pytester.parseconfigure("--dataloader-bench", f"{option}={path}")
    assert len(str(caught.value).splitlines()) == 1
    after = path.lstat()
    assert (after.st_ino, after.st_mode) == (before.st_ino, before.st_mode)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--dataloader-json=" + "a" * 300],
        ["--dataloader-json=~nobody-of-that-name/seen.json"],
        ["--dataloader-json=a\0b"],
        ["--dataloader-baseline=pyproject.toml/base.json"],
        ["--dataloader-seconds=1e400"],
        ["--dataloader-seconds=nan"],
        ["--dataloader-tolerance=nan"],
        ["-o", "dataloader_seconds=" + "9" * 100_000],
    ],
)
def test_an_option_of_any_shape_is_one_line(pytester: pytest.Pytester, arguments: list[str]) -> None:
    pytester.path.joinpath("pyproject.toml").touch()
    with pytest.raises(pytest.UsageError) as caught:
        pytester.parseconfigure(*arguments)
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 2000


def test_what_an_option_is_given_is_written_out(pytester: pytest.Pytester) -> None:
    with pytest.raises(pytest.UsageError) as caught:
        pytester.parseconfigure(f"--dataloader-json=/nowhere/{SAMPLE}/seen.json")
    assert not OBEYED & set(str(caught.value))


# --- reports ---------------------------------------------------------------------------


def test_a_full_device_in_the_place_of_the_report_is_said_in_a_line(pytester: pytest.Pytester) -> None:
    path = put(pytester.path / "seen.json", "full")
    pytester.makepyfile("def test_it(): pass")
    done = pytester.runpytest_subprocess(*WITHOUT, f"--dataloader-json={path}")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines([f"ERROR: --dataloader-json: {path}: is a pipe, a socket or a device; name a file"])
    assert path.is_symlink()


FULL = """
import resource, pytest
before = resource.getrlimit(resource.RLIMIT_FSIZE)

@pytest.hookimpl(wrapper=True)
def pytest_sessionfinish():
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    return (yield)

class Afterwards:
    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self):  # what pytest prints goes to a file, too
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

def pytest_configure(config):
    config.pluginmanager.register(Afterwards())
"""


def test_a_disk_that_takes_no_more_is_said_and_the_last_report_stays(pytester: pytest.Pytester) -> None:
    path = pytester.path / "seen.json"
    path.write_text("the last one")
    pytester.makeconftest(FULL)
    pytester.makepyfile("def test_it(): pass")
    done = pytester.runpytest_subprocess(*WITHOUT, "--dataloader-json=seen.json", "-p", "no:cacheprovider")
    done.stdout.fnmatch_lines([f"--dataloader-json: cannot write {path}: File too large"])
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert path.read_text() == "the last one"
    assert not list(pytester.path.glob(".pytest-dataloader-*"))


def test_what_becomes_a_device_while_a_run_lasts_is_not_replaced(tmp_path: Path) -> None:
    path = put(tmp_path / "seen.json", "full")
    with pytest.raises(OSError, match="is a pipe, a socket or a device"):
        report.write_json(path, {"schema": 1})
    assert path.is_symlink()


def test_a_link_stays_a_link_and_what_it_leads_to_is_written(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    target = tmp_path / "kept" / "seen.json"
    target.write_text("the last one")
    target.chmod(0o600)
    link, dangling = tmp_path / "seen.json", tmp_path / "next.json"
    link.symlink_to("kept/seen.json")
    dangling.symlink_to("kept/next.json")
    for path in (link, dangling):
        report.write_json(path, {"schema": 1})
        assert path.is_symlink()
        assert json.loads(path.read_text()) == {"schema": 1}
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert sorted(each.name for each in (tmp_path / "kept").iterdir()) == ["next.json", "seen.json"]


# --- baselines -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", LIMIT_KINDS)
def test_a_baseline_that_is_no_regular_file_is_not_waited_for(tmp_path: Path, kind: str) -> None:
    with pytest.raises(BadBaseline, match=r"cannot be read: (is a |Is a |Too many|No such device)"):
        baselines.read_baselines(put(tmp_path / "base.json", kind))


ENTRY = '{"schema": 1, "loaders": {"train": [{"cpu_model": "a", "python": "b", "torch": "c", "num_workers": 0, %s}]}}'
BASELINES = {
    "deep": "[" * 200_000,
    "deep inside": '{"schema": 1, "loaders": {"train": ' + "[" * 900 + "]" * 900 + "}}",
    "NaN": ENTRY % '"kernel_ms": {"copy": 1}, "wait_ms_per_sample": 0, "cpu_ms_per_sample": NaN',
    "infinite": ENTRY % '"kernel_ms": {"copy": 1}, "wait_ms_per_sample": 0, "cpu_ms_per_sample": 1e400',
    "huge": ENTRY % ('"kernel_ms": {"copy": 1}, "wait_ms_per_sample": 0, "cpu_ms_per_sample": 1' + "0" * 400),
    "more digits than Python reads": '{"schema": 1' + "0" * 5000 + "}",
    "no text": b"\xff\xfe",
    "a long value": '{"schema": "' + "a" * 10**6 + '", "loaders": {}}',
    "long values": ENTRY % ('"kernel_ms": "' + "a" * 10**6 + '"'),
    "a hostile name": '{"schema": 1, "loaders": {"\\u001b[31m\\u202e\\n::error::": 1}}',
    "without an end": b" " * 11_000_000,
}


@pytest.mark.parametrize("content", BASELINES.values(), ids=BASELINES.keys())
def test_a_baseline_of_any_content_is_one_line(tmp_path: Path, content: str | bytes) -> None:
    path = tmp_path / "base.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(BadBaseline) as caught:
        baselines.read_baselines(path)
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 1000
    assert not OBEYED & set(str(caught.value))


def test_a_baseline_as_a_pipe_ends_the_run_with_a_line(pytester: pytest.Pytester) -> None:
    put(pytester.path / "base.json", "pipe")
    done = pytester.runpytest_subprocess(*WITHOUT, "--dataloader-bench", "--dataloader-baseline=base.json")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["ERROR: --dataloader-baseline: */base.json: is a pipe, a socket or a device; *"])
    assert "INTERNALERROR" not in done.stdout.str() + done.stderr.str()


# --- settings --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", LIMIT_KINDS)
def test_settings_that_are_no_regular_file_declare_nothing(pytester: pytest.Pytester, kind: str) -> None:
    pytester.makeini("[pytest]\n")
    put(pytester.path / "pyproject.toml", kind)
    assert targets.find_file(pytester.path, pytester.path) is None


TABLE = "[tool.pytest-dataloader.targets.train]\nloader = 'proj.data:make'\n"
SETTINGS = {
    "deep": f"{TABLE}checks = " + "[" * 5_000 + "]" * 5_000,
    "deep tables": f"{TABLE}checks = " + "{a = " * 500 + "1" + "}" * 500,
    "NaN": f"{TABLE}max_stall = nan",
    "infinite": f"{TABLE}min_samples_per_second = 1e400",
    "huge": f"{TABLE}min_samples_per_second = 1" + "0" * 400,
    "huge in words": f"{TABLE}max_worker_growth = '" + "9" * 400 + "MB'",
    "huge bytes": f"{TABLE}max_worker_growth = 1" + "0" * 400,
    "more digits than Python writes": f"{TABLE}max_fd_use = 0x1" + "0" * 5_000,
    "more digits than Python reads": f"{TABLE}max_fd_use = 1" + "0" * 5_000,
    "a date": f"{TABLE}step_ms = 1979-05-27",
    "a long value": f"{TABLE}max_stall = '" + "a" * 10**6 + "'",
    "a long key": f"{TABLE}{'a' * 10**5} = 1",
    "a hostile name": '[tool.pytest-dataloader.targets."\\u001b[31m\\u202e\\n::error::"]\nloader = "a:b"',
    "no text": b"[tool.pytest-dataloader]\n\xff",
    "without an end": b"# pytest-dataloader" + b" " * 11_000_000,
}


@pytest.mark.parametrize("content", SETTINGS.values(), ids=SETTINGS.keys())
def test_settings_of_any_content_are_faults_of_a_target(tmp_path: Path, content: str | bytes) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert targets.find_file(tmp_path, tmp_path) == file
    found = targets.read_file(file, "pyproject.toml")
    faults = [fault for target in found for fault in target.faults]
    assert faults
    for fault in faults:
        assert fault.startswith("pyproject.toml: ")
        assert not OBEYED & set(printable(fault))
        assert len(fault) < 200_000


@pytest.mark.parametrize("value", [10**400, -(10**400), 16**5000, float("inf"), float("nan")], ids=range(5))
@pytest.mark.parametrize("kind", ["Rate", "Share", "Bytes"])
def test_a_limit_that_no_float_holds_is_a_bad_limit(kind: str, value: float) -> None:
    with pytest.raises(BadLimit):
        limits.LIMIT_KINDS[kind].read(value)


# --- what is printed -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain: naïve ☃ 👩\u200d💻\tand a tab", "plain: naïve ☃ 👩\u200d💻\tand a tab"),
        ("\x1b[0m\x9b\x00\x7f\r", "\\x1b[0m\\x9b\\x00\\x7f\\r"),
        ("\u202e\u2066\u200f\u2028\x85", "\\u202e\\u2066\\u200f\\u2028\\x85"),
        ("\udcff\ud800", "\\xff\\ud800"),
        ("one\n two", "one\n two"),
        ("::error::a\n \t::error::b\na::b", "\\x3a:error::a\n \t\\x3a:error::b\na::b"),
        ("a\r::error::b", "a\\r::error::b"),
    ],
)
def test_what_would_be_obeyed_is_written_out_as_in_python(text: str, expected: str) -> None:
    assert printable(text) == expected
    assert printable(expected) == expected


HOSTILE = f"""
import torch
from torch.utils.data import DataLoader, Dataset
SAMPLE = {SAMPLE!r}

class Rows(Dataset):
    def __len__(self):
        return 64
    def __getitem__(self, index):
        return torch.zeros(2)

class Raises(Rows):
    def __getitem__(self, index):
        raise ValueError(SAMPLE)

Evil = type(SAMPLE.replace("\\udcff", ""), (Rows,), {{}})  # the name of a class is text

class Keeps(Rows):
    def __init__(self):
        vars(self)[SAMPLE] = [str(number) for number in range(50_000)]
    def __getitem__(self, index):
        vars(self)[SAMPLE][index]
        return torch.zeros(2)

def make_evil():
    return DataLoader(Evil(), batch_size=8)
def make_raising():
    return DataLoader(Raises(), batch_size=8, num_workers=1)
def make_keeping():
    return DataLoader(Keeps(), batch_size=8, num_workers=1)
def make_nothing():
    raise RuntimeError(SAMPLE)
something = Evil()
"""
TESTS = """
from proj.hostile import make_evil
def test_it(dataloader_order):
    dataloader_order(make_evil())
def test_misuse(dataloader_order):
    dataloader_order(make_evil().dataset)
"""


@pytest.mark.parametrize(
    "mode", [pytest.param((), id="alone"), pytest.param(("-n1",), id="xdist", marks=pytest.mark.slow)]
)
def test_names_and_messages_that_would_be_obeyed_are_written_out(project: Project, mode: tuple[str, ...]) -> None:
    project.path.joinpath("proj", "hostile.py").write_text(HOSTILE)
    project.path.joinpath("test_it.py").write_text(TESTS)
    project.declare(
        evil='loader = "proj.hostile:make_evil"\nchecks = ["throughput"]\nmin_samples_per_second = 1e12',
        raising='loader = "proj.hostile:make_raising"\nchecks = ["workers", "order"]',
        keeping='loader = "proj.hostile:make_keeping"\nchecks = ["memory"]',
        nothing='loader = "proj.hostile:make_nothing"\nchecks = ["order"]',
        something='loader = "proj.hostile:something"\nchecks = ["order"]',
        **{'"a\\u001b[31m\\n::error::\\u202e"': 'loader = "a\\u009b:b\\u202e"'},
    )
    done = project.bench("-v", "-p", "no:cacheprovider", *mode)
    output = done.stdout.str() + done.stderr.str()
    assert "INTERNALERROR" not in output
    assert not OBEYED & set(output)
    assert not [line for line in output.split("\n") if line.lstrip().startswith("::")]
    assert "\\x1b]0;owned" in output
    assert "\\x3a:error" in output
    assert project.loaders["evil"]["checks"]["throughput"]["verdict"] == "failed"
    assert project.path.joinpath("seen.json").read_bytes().isascii()
    failure = project.cases["pyproject.toml.raising::workers"].find("failure")
    assert failure is not None
    assert "owned" in str(failure.get("message"))


def test_a_test_whose_name_is_no_utf_8_is_measured_and_reported(project: Project) -> None:
    test = project.path / os.fsdecode(b"test_\xff\x1b\xe2\x80\xae.py")
    test.write_text("from proj.data import make\ndef test_it(dataloader_order): dataloader_order(make())\n")
    # pytest's own cache and --junitxml end with an error on such a name.
    options = ("-p", "no:cacheprovider", "--dataloader-json=seen.json")
    done = project.pytester.runpytest_subprocess(*WITHOUT, *options, test.name)
    done.assert_outcomes(passed=1)
    [summary] = [line for line in done.outlines if line.endswith("  order passed")]
    assert summary.startswith("test_\\xff\\x1b\\u202e.py::test_it  ")
    assert list(project.loaders) == [f"{test.name}::test_it"]


def test_a_report_under_a_name_that_is_no_utf_8_is_written(project: Project) -> None:
    project.path.joinpath("test_it.py").write_text("def test_it(): pass\n")
    name = os.fsdecode(b"seen\xff\x1b.json")
    done = project.run(f"--dataloader-json={name}")
    done.stdout.fnmatch_lines(["*dataloader evidence: */seen\\xff\\x1b.json*"])
    content: dict[str, Any] = json.loads(project.path.joinpath(name).read_text())
    assert content["loaders"] == []
