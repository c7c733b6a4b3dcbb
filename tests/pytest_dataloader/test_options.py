"""Options: command line over ini file over default, and bad values that name themselves."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from pytest_dataloader.settings import options
from tests.pytest_dataloader.conftest import WITHOUT
from tests.variants import variants

SETTINGS = {
    "pytest.ini": "[pytest]\ndataloader_{} = {}\n",
    "tox.ini": "[pytest]\ndataloader_{} = {}\n",
    "setup.cfg": "[tool:pytest]\ndataloader_{} = {}\n",
}
TOML = {"pyproject.toml": "[tool.pytest.ini_options]\ndataloader_{} = {}\n"}
NATIVE = pytest.mark.skipif(pytest.version_tuple < (9, 0), reason="native TOML came with pytest 9")


def read(pytester: pytest.Pytester, *arguments: str) -> options.Options:
    return options.read_options(pytester.parseconfigure(*arguments))


def test_nothing_is_measured_unless_asked_for(pytester: pytest.Pytester) -> None:
    found = read(pytester)
    assert (found.bench, found.targets, found.seconds, found.json, found.strict) == (False, (), 5.0, None, False)


@pytest.mark.parametrize(
    ("name", "text"), variants({name: (name, text) for name, text in SETTINGS.items()}, ["pytest.ini"])
)
def test_an_ini_file_switches_on_what_the_command_line_can(pytester: pytest.Pytester, name: str, text: str) -> None:
    extra = (
        "dataloader_strict = yes\ndataloader_json = out/seen.json\ndataloader_target =\n    a=m:f\n    b = m.n:g.h\n"
    )
    pytester.path.joinpath(name).write_text(text.format("bench", "true") + "dataloader_seconds = 0.5\n" + extra)
    found = read(pytester)
    assert (found.bench, found.strict, found.seconds) == (True, True, 0.5)
    assert found.json == pytester.path / "out" / "seen.json"
    assert [(target.name, target.loader) for target in found.targets] == [("a", "m:f"), ("b", "m.n:g.h")]


@pytest.mark.parametrize(
    "table",
    ["[tool.pytest.ini_options]", pytest.param("[tool.pytest]", marks=NATIVE)],
)
def test_pyproject_toml_takes_typed_values(pytester: pytest.Pytester, table: str) -> None:
    pytester.makepyprojecttoml(
        f"{table}\ndataloader_bench = true\ndataloader_seconds = 2\ndataloader_target = ['a=m:f']\n"
    )
    found = read(pytester)
    assert (found.bench, found.seconds, found.targets[0].loader) == (True, 2.0, "m:f")


def test_the_command_line_wins_over_the_ini_file(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\ndataloader_bench = true\ndataloader_seconds = 9\ndataloader_target = a=m:f\n")
    found = read(pytester, "--dataloader-seconds", "0.25", "--dataloader-target", "b=m:g")
    assert (found.seconds, [target.name for target in found.targets]) == (0.25, ["b"])
    assert not read(pytester, "-o", "dataloader_bench=false").bench


def test_a_quick_run_has_a_smaller_budget_unless_one_is_given(pytester: pytest.Pytester) -> None:
    quick = ("--dataloader-bench", "--dataloader-quick")
    assert read(pytester, *quick).seconds < 1
    assert read(pytester, *quick, "--dataloader-seconds=3").seconds == 3
    pytester.makeini("[pytest]\ndataloader_bench = yes\ndataloader_quick = yes\ndataloader_checks = order workers\n")
    found = read(pytester)
    assert (found.quick, found.checks) == (True, ("workers", "order"))


def test_a_relative_json_path_starts_where_it_was_written(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\ndataloader_json = seen.json\n")
    below = pytester.mkdir("below")
    pytester.chdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(below)
        assert read(pytester).json == pytester.path / "seen.json"
        assert read(pytester, "--dataloader-json", "here.json").json == below / "here.json"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--dataloader-seconds", "soon"], "--dataloader-seconds: expected a number of seconds above 0, got 'soon'"),
        (["--dataloader-seconds", "-1"], "--dataloader-seconds: expected a number of seconds above 0, got '-1'"),
        (["--dataloader-seconds", "inf"], "--dataloader-seconds: expected a number of seconds above 0, got 'inf'"),
        (["--dataloader-tolerance", "15"], "--dataloader-tolerance: expected a share between 0 and 1, * got '15'"),
        (["--dataloader-tolerance", "some"], "--dataloader-tolerance: expected a share between 0 and 1, * got 'some'"),
        (["--dataloader-json", "."], "--dataloader-json: * is a directory; name a file"),
        (["--dataloader-json", ""], "--dataloader-json: expected the path of a file, got nothing"),
        (["--dataloader-bench", "--dataloader-target", "train"], "--dataloader-target: expected NAME=MODULE:ATTR*"),
        (["--dataloader-bench", "--dataloader-target", "=m:f"], "--dataloader-target: expected NAME=MODULE:ATTR*"),
        (
            ["--dataloader-bench", "--dataloader-target", "a=m:f", "--dataloader-target", "a=m:g"],
            "--dataloader-target: 'a' is given twice",
        ),
        (["--dataloader-target", "a=m:f"], "--dataloader-target needs --dataloader-bench*"),
        (["--dataloader-quick"], "--dataloader-quick needs --dataloader-bench: *"),
        (["--dataloader-checks", "memory"], "--dataloader-checks needs --dataloader-bench: *"),
        (["--dataloader-checks", "memroy"], "--dataloader-checks: expected some of workers, *, got 'memroy'"),
        (["--dataloader-checks", " , "], "--dataloader-checks: expected some of workers, *, got nothing"),
        (["--dataloader-whole-epoch"], "--dataloader-whole-epoch needs --dataloader-bench: *"),
        (
            ["--dataloader-json=/nowhere/seen.json"],
            "--dataloader-json: there is no folder /nowhere; only folders below*",
        ),
        (["-o", "dataloader_seconds=soon"], "-o dataloader_seconds*soon*"),
        (["-o", "dataloader_strict=perhaps"], "-o dataloader_strict*perhaps*"),
    ],
)
def test_a_bad_option_is_named(pytester: pytest.Pytester, arguments: list[str], expected: str) -> None:
    with pytest.raises(pytest.UsageError) as caught:
        pytester.parseconfigure(*arguments)
    pytest.LineMatcher(str(caught.value).splitlines()).fnmatch_lines([expected])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *((name, text.format("seconds", "soon")) for name, text in SETTINGS.items()),
        ("pyproject.toml", TOML["pyproject.toml"].format("seconds", "'soon'")),
        ("pyproject.toml", TOML["pyproject.toml"].format("bench", "'perhaps'")),
        pytest.param("pyproject.toml", "[tool.pytest]\ndataloader_seconds = 'soon'\n", marks=NATIVE),
        pytest.param("pyproject.toml", "[tool.pytest]\ndataloader_bench = 'true'\n", marks=NATIVE),
        pytest.param("pyproject.toml", "[tool.pytest]\ndataloader_target = 'a=m:f'\n", marks=NATIVE),
    ],
)
def test_a_bad_ini_value_names_its_key_and_file(pytester: pytest.Pytester, name: str, text: str) -> None:
    pytester.path.joinpath(name).write_text(text)
    with pytest.raises(pytest.UsageError, match=r"dataloader_(seconds|bench|target)") as caught:
        pytester.parseconfigure()
    assert str(pytester.path / name) in str(caught.value)


def test_a_bad_option_is_one_line_and_no_traceback(pytester: pytest.Pytester) -> None:
    done = pytester.runpytest_subprocess(*WITHOUT, "--dataloader-seconds=soon")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["ERROR: --dataloader-seconds: expected a number of seconds above 0, got 'soon'"])
    assert "Traceback" not in done.stderr.str() + done.stdout.str()


def test_every_option_is_in_the_help_with_its_ini_key(pytester: pytest.Pytester) -> None:
    text = pytester.runpytest_subprocess(*WITHOUT, "--help").stdout.str()
    group = text.partition("measuring PyTorch DataLoaders:")[2]
    assert group
    for option in options.OPTIONS:
        assert option.flag in group
        assert f"{option.key} (" in text


def test_a_page_needs_what_makes_it(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read(pytester, "--dataloader-html=seen.html").html == pytester.path / "seen.html"
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "plotly" else found(name))
    with pytest.raises(pytest.UsageError) as caught:
        read(pytester, "--dataloader-html=seen.html")
    needs = "--dataloader-html: a page needs plotly: pip install 'pytest-dataloader[report]'"
    assert str(caught.value) == needs
    assert read(pytester, "--dataloader-json=seen.json").html is None


def test_paths_are_absolute(pytester: pytest.Pytester) -> None:
    found = read(pytester, "--dataloader-json", "~/seen.json").json
    assert found == Path("~/seen.json").expanduser()
