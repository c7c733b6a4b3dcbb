"""Declared targets: what a table in pyproject.toml means, and how a mistake in it is told."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from pytest_dataloader import checks
from pytest_dataloader.settings import targets
from pytest_dataloader.settings.options import AdHocTarget

if TYPE_CHECKING:
    from pathlib import Path

TRAIN = "[tool.pytest-dataloader.targets.train]\n"
LOADER = 'loader = "proj.data:make"\n'
AT_TRAIN = "pyproject.toml: [tool.pytest-dataloader.targets.train]"


def read(folder: Path, text: str) -> list[targets.Target]:
    file = folder / "pyproject.toml"
    file.write_text(text)
    return targets.read_file(file, file.name)


def is_like(text: str, pattern: str) -> bool:
    """Whether a text is the pattern, in which ``*`` is anything."""
    return re.fullmatch(re.escape(pattern).replace(r"\*", ".*"), text) is not None


def test_a_target_runs_every_check_with_the_limits_that_are_the_checks_own(tmp_path: Path) -> None:
    text = f'{TRAIN}{LOADER}min_samples_per_second = 200\nmax_worker_growth = "32MB"\n'
    (target,) = read(tmp_path, f"[project]\nname = 'proj'\n\n{text}")
    assert (target.name, target.loader, target.faults) == ("train", "proj.data:make", ())
    assert target.checks == checks.NAMES
    assert target.limits["throughput"] == {"min_samples_per_second": 200.0}
    assert target.limits["memory"] == {"max_worker_growth": 32_000_000}
    assert target.line == 3


@pytest.mark.parametrize(
    ("limits", "line"),
    [
        (("max_shm",), 5),
        (("max_worker_growth", "max_fd_use"), 4),
        (("max_total_memory",), 8),
        (("min_samples_per_second",), 2),  # of another target
        (("max_fd",), 2),
    ],
)
def test_the_line_of_a_limit_is_in_its_own_target(tmp_path: Path, limits: tuple[str, ...], line: int) -> None:
    keys = 'max_fd_use = 0.5\n"max_shm" = "1GB"\nchecks = [\n  "fds",]\n  max_total_memory = 1  # max_shm = 3\n'
    val = f"[tool.pytest-dataloader.targets.val] # [train]\n{LOADER}min_samples_per_second = 1\nmax_shm = 1\n"
    (train, _) = read(tmp_path, f"\n\n{TRAIN}{LOADER}{keys}\n{val}")
    assert targets.line_of_limit(tmp_path / "pyproject.toml", train.line, limits) == line
    for name in ("missing.toml", "."):
        assert targets.line_of_limit(tmp_path / name, 7, limits) == 7


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("checks = ['memory']", ("memory",)),
        ("skip = ['memory']", tuple(name for name in checks.NAMES if name != "memory")),
        ("checks = ['memory', 'throughput']\nskip = ['memory']", ("throughput",)),
        ("checks = 'memory'", ("memory",)),
        ("checks = ['memory']\nmax_worker_growth = '1MB'", ("memory",)),
        ("checks = ['memory']\nstep_ms = 35", ("memory",)),  # tuning takes it, whatever is checked
    ],
)
def test_checks_and_skip_narrow_a_target(tmp_path: Path, keys: str, expected: tuple[str, ...]) -> None:
    (target,) = read(tmp_path, f"{TRAIN}{LOADER}{keys}\n")
    assert (target.checks, target.faults) == (expected, ())


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (f"{TRAIN}", f'{AT_TRAIN}: has no loader; add loader = "MODULE:ATTR"'),
        (f"{TRAIN}loader = 3", f"{AT_TRAIN} loader = 3: expected MODULE:ATTR, such as proj.data:make_train_loader"),
        (f"{TRAIN}loader = 'proj.data'", f'{AT_TRAIN} loader = "proj.data": expected MODULE:ATTR*'),
        (f"{TRAIN}loader = 'proj/data.py:make'", f'{AT_TRAIN} loader = "proj/data.py:make": expected MODULE:ATTR*'),
        (f"{TRAIN}{LOADER}min_sample_per_second = 3", "*: unknown key; did you mean min_samples_per_second?"),
        (f"{TRAIN}{LOADER}skipp = ['memory']", '*skipp = ["memory"]: unknown key; did you mean skip?'),
        (f"{TRAIN}{LOADER}colour = 'red'", f'{AT_TRAIN} colour = "red": unknown key'),
        (f"{TRAIN}{LOADER}checks = ['memry']", "*[\"memry\"]: there is no check 'memry'; did you mean memory?"),
        (f"{TRAIN}{LOADER}skip = ['x']", "*there is no check 'x'; the checks are workers, fds, shm*"),
        (f"{TRAIN}{LOADER}checks = 3", "*checks = 3: expected a list of names*"),
        (f"{TRAIN}{LOADER}checks = ['order']\nmax_shm = 300000", f"{AT_TRAIN} max_shm = 300000: no check holds it*"),
        (f"{TRAIN}{LOADER}skip = ['fds']\nmax_fd_use = 0.5", "* = 0.5: no check holds it, as fds is not selected"),
        (f"{TRAIN}{LOADER}max_stall = 0.1", f"{AT_TRAIN}: max_stall needs step_ms, the time of one training step*"),
        (f"{TRAIN}{LOADER}max_worker_growth = [32]", '*: expected a size such as "32MB" or a whole number*32]'),
        (f"{TRAIN}{LOADER}checks = []", f"{AT_TRAIN}: checks and skip leave no check to run"),
        (f"{TRAIN}{LOADER}min_samples_per_second = 0", "*min_samples_per_second = 0: expected a number above 0, got 0"),
        (f"{TRAIN}{LOADER}min_samples_per_second = '9'", "*: expected a number, got '9'"),
        (f"{TRAIN}{LOADER}min_samples_per_second = true", "*= true: expected a number, got True"),
        (f"{TRAIN}{LOADER}min_samples_per_second = nan", "*: expected a number, got nan"),
        (f"{TRAIN}{LOADER}max_worker_growth = '32XB'", '*"32XB": expected a size such as "32MB"*'),
        ('[tool.pytest-dataloader.targets]\ntrain = "p:q"', f'{AT_TRAIN} = "p:q": expected a table with loader*'),
        (f'[tool.pytest-dataloader.targets."a b"]\n{LOADER}', "*.targets.a b]: a target's name*"),
        (f'[tool.pytest-dataloader.targets."a::b"]\n{LOADER}', "*targets.a::b]: a target's name may hold*"),
        ("[tool.pytest-dataloader]\ntargets = 3", "*[tool.pytest-dataloader] targets = 3: expected tables"),
        ("[tool]\npytest-dataloader = 3", "pyproject.toml: tool.pytest-dataloader = 3: expected a table"),
        (f"[tool.pytest-dataloader.target.train]\n{LOADER}", "*] target: unknown key; did you mean targets?"),
        ("[tool.pytest-dataloader]\nseconds = 3", "*] seconds: options belong to*ini_options] dataloader_seconds"),
        ("[tool.pytest-dataloader\n", "pyproject.toml: Expected*line 1*"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_place(tmp_path: Path, text: str, fault: str) -> None:
    (target,) = read(tmp_path, text)
    assert len(target.faults) == 1
    assert is_like(target.faults[0], fault)


def test_all_mistakes_of_a_target_are_told_at_once_and_other_targets_stay(tmp_path: Path) -> None:
    text = f"{TRAIN}loader = 'x'\nmin_samples_per_second = -1\nchecks = ['a']\n[tool.pytest-dataloader.targets.val]\n"
    train, val = read(tmp_path, text + LOADER)
    assert len(train.faults) == 3
    assert all(fault.startswith(AT_TRAIN) for fault in train.faults)
    assert val.faults == ()


def test_a_file_that_is_not_utf8_is_a_fault(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_bytes(b"# \xff\n[tool.pytest-dataloader]\n")
    (target,) = targets.read_file(file, "pyproject.toml")
    assert "utf-8" in target.faults[0]


def test_the_nearest_file_with_a_table_counts_up_to_the_rootdir(tmp_path: Path) -> None:
    root = tmp_path / "root"
    inner, deep = root / "packages" / "vision", root / "packages" / "vision" / "tests"
    deep.mkdir(parents=True)
    for folder in (tmp_path, root, inner):
        (folder / "pyproject.toml").write_text(f"{TRAIN}{LOADER}")
    (deep / "pyproject.toml").write_text("[project]\nname = 'tests'\ndependencies = ['pytest-dataloader']\n")
    assert targets.find_file(deep, root) == inner / "pyproject.toml"
    assert targets.find_file(root / "packages", root) == root / "pyproject.toml"
    assert targets.find_file(tmp_path / "elsewhere", root) == root / "pyproject.toml"
    (root / "pyproject.toml").write_text('[tool]\n"pytest-dataloader" = {targets = {}}')
    assert targets.find_file(root, root) == root / "pyproject.toml"
    (root / "pyproject.toml").write_text("pytest-dataloader =")  # the run is to say that it cannot be read
    assert targets.find_file(root, root) == root / "pyproject.toml"
    (root / "pyproject.toml").unlink()
    assert targets.find_file(root, root) is None


def test_modules_lie_in_the_folder_of_the_file_and_in_its_src(tmp_path: Path) -> None:
    assert read(tmp_path, f"{TRAIN}{LOADER}")[0].roots == (tmp_path,)
    (tmp_path / "src").mkdir()
    assert read(tmp_path, f"{TRAIN}{LOADER}")[0].roots == (tmp_path, tmp_path / "src")


@pytest.mark.parametrize(
    ("name", "loader", "fault"),
    [
        ("quick", "m:f", None),
        ("quick", "m", "--dataloader-target quick=m: expected MODULE:ATTR*"),
        ("qu ick", "m:f", "*a target's name may hold*"),
        ("train", "m:f", "*pyproject.toml declares a target 'train' already*"),
    ],
)
def test_an_ad_hoc_target_runs_all_checks_without_limits(name: str, loader: str, fault: str | None) -> None:
    given = AdHocTarget(name, loader, f"--dataloader-target {name}={loader}")
    target = targets.ad_hoc(given, ["train"], ())
    assert (target.checks, target.limits) == (checks.NAMES, {})
    assert len(target.faults) == (fault is not None)
    if fault is not None:
        assert is_like(target.faults[0], fault)
