"""Targets as pytest collects them: their node ids, and which arguments select them. Nothing here imports torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch

from pytest_dataloader import checks, collection
from pytest_dataloader.settings import targets

if TYPE_CHECKING:
    from tests.pytest_dataloader.conftest import Project

# Loaded here, they are not loaded anew by each run in this process.
LOADED = (collection, targets, *map(checks.check_module, checks.NAMES))

TRAIN = [f"pyproject.toml::train::{check}" for check in checks.NAMES]
TRAIN_MEMORY = ["pyproject.toml::train::memory"]
VAL = ["pyproject.toml::val::memory"]
TEST = ["checks/test_mine.py::test_mine"]
QUICK = [f"dataloader-target::quick::{check}" for check in checks.NAMES]
QUICK_MEMORY = ["dataloader-target::quick::memory"]
AD_HOC = "--dataloader-target=quick=proj.data:make"


@pytest.fixture
def declared(project: Project) -> Project:
    project.declare(train='loader = "proj.data:make"', val='loader = "proj.data:make"\nchecks = ["memory"]')
    project.path.joinpath("checks").mkdir()
    project.path.joinpath("checks", "test_mine.py").write_text("def test_mine(): pass\n")
    return project


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), [*TRAIN, *VAL, *TEST]),
        ((".",), [*TRAIN, *VAL, *TEST]),
        (("pyproject.toml",), [*TRAIN, *VAL]),
        pytest.param(
            ("pyproject.toml", "checks", "pyproject.toml::train"),
            [*TRAIN, *VAL, *TEST],
            marks=pytest.mark.skipif(
                pytest.version_tuple < (9, 0), reason="pytest 8 runs the narrower of two arguments, for tests as well"
            ),
        ),
        (("pyproject.toml::val",), VAL),
        (("pyproject.toml::train::memory",), TRAIN_MEMORY),
        (("-k", "train and memory"), TRAIN_MEMORY),
        (("--deselect", "pyproject.toml::train"), [*VAL, *TEST]),
        (("--ignore", "pyproject.toml"), TEST),
        # Naming paths narrows a run to them, as it does for tests.
        (("checks",), TEST),
        (("checks/test_mine.py",), TEST),
        # What was asked for ad hoc always runs.
        (("checks", AD_HOC), [*TEST, *QUICK]),
        ((AD_HOC, "-k", "quick"), QUICK),
        ((AD_HOC, "dataloader-target::quick"), QUICK),
        ((AD_HOC, "dataloader-target::quick::memory"), QUICK_MEMORY),
        ((AD_HOC, "dataloader-target::quick::memory", "pyproject.toml::val"), [*VAL, *QUICK_MEMORY]),
        ((AD_HOC, "--dataloader-target=other=m:f", "dataloader-target::quick"), QUICK),
    ],
)
def test_arguments_select_targets_as_they_select_tests(
    declared: Project, arguments: tuple[str, ...], expected: list[str]
) -> None:
    assert sorted(declared.collected(*arguments)) == sorted(expected)


def test_testpaths_do_not_leave_targets_out(declared: Project) -> None:
    declared.path.joinpath("pytest.ini").write_text("[pytest]\ntestpaths = checks\n")
    assert declared.collected() == [*TEST, *TRAIN, *VAL]


def test_targets_run_from_a_folder_below(declared: Project) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(declared.path / "checks")
        assert sorted(declared.collected()) == sorted([*TRAIN, *VAL, *TEST])


def test_a_project_inside_a_repository_has_targets_of_its_own(declared: Project) -> None:
    declared.path.joinpath("pytest.ini").touch()
    inner = declared.path / "inner"
    inner.mkdir()
    own = '[tool.pytest-dataloader.targets.own]\nloader = "m:f"\nchecks = ["memory"]'
    inner.joinpath("pyproject.toml").write_text(own)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(inner)
        assert declared.collected() == ["inner/pyproject.toml::own::memory"]


def test_nothing_is_collected_without_the_flag(declared: Project) -> None:
    done = declared.collect("-q")
    assert [line for line in done.outlines if "::" in line] == TEST
    done = declared.collect("pyproject.toml")
    assert done.ret == pytest.ExitCode.USAGE_ERROR


def test_checks_named_on_the_command_line_are_collected_alone(declared: Project) -> None:
    found = declared.collected("--dataloader-checks=order, memory", "pyproject.toml")
    assert found == ["pyproject.toml::train::order", *TRAIN_MEMORY, *VAL]
    assert declared.collected("--dataloader-checks=fds", AD_HOC, "dataloader-target::quick") == [
        "dataloader-target::quick::fds"
    ]


def test_the_list_names_each_limit_with_the_checks_that_hold_it(declared: Project) -> None:
    declared.declare(
        train='loader = "proj.data:make"\nstep_ms = 3.5\nmax_stall = 0.05\nmax_worker_growth = "32MB"\n'
        "min_samples_per_second = 2000",
        val='loader = "nowhere:make"\nchecks = ["memory"]',
        bad='loader = "m:f"\nmax_wroker_growth = 3',
    )
    done = declared.pytester.runpytest_inprocess("--dataloader-list", "--dataloader-target=more=m:f")
    assert done.ret == 0
    assert done.outlines == [
        "train  proj.data:make",
        "  step_ms = 3.5                  used by throughput, stages, transfer",
        "  min_samples_per_second = 2000  used by throughput",
        "  max_stall = 0.05               used by stages",
        "  max_worker_growth = 32.0 MB    used by memory",
        "  without a limit: workers, fds, shm, order, randomness, shards, resume, portability",
        "",
        "val  nowhere:make",
        "  no limits: memory",
        "",
        "bad  m:f",
        "  fault: pyproject.toml: [tool.pytest-dataloader.targets.bad] max_wroker_growth = 3: unknown key; "
        "did you mean max_worker_growth?",
        "",
        "more  m:f",
        f"  no limits: {', '.join(checks.NAMES)}",
    ]
    declared.path.joinpath("pyproject.toml").unlink()
    done = declared.pytester.runpytest_inprocess("--dataloader-list")
    done.stdout.fnmatch_lines(["no loaders are declared: no pyproject.toml with *"])


def test_an_ad_hoc_target_needs_no_configuration(project: Project) -> None:
    assert project.collected(AD_HOC) == QUICK


@pytest.mark.parametrize("argument", ["pyproject.toml", "pyproject.toml::train::memory"])
def test_targets_that_are_named_and_not_asked_for_say_what_is_missing(declared: Project, argument: str) -> None:
    done = declared.collect(argument)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines([f"ERROR: {argument}: the loaders declared there are measured with --dataloader-bench"])


def test_an_unknown_target_or_check_is_a_usage_error(declared: Project) -> None:
    for argument in ("pyproject.toml::tarin", "pyproject.toml::train::mem", "dataloader-target::quick"):
        done = declared.collect("--dataloader-bench", argument)
        assert done.ret == pytest.ExitCode.USAGE_ERROR
        done.stderr.fnmatch_lines([f"ERROR: *{argument.rpartition('/')[2]}*"])


def test_a_broken_declaration_is_still_collected_under_its_name(declared: Project) -> None:
    declared.declare(bad="loader = 3\nskip = 4")
    bad = [f"pyproject.toml::bad::{check}" for check in checks.NAMES]
    assert sorted(declared.collected()) == sorted(["checks/test_mine.py::test_mine", *bad])


@pytest.mark.parametrize(
    ("arguments", "header"),
    [
        ((), "dataloader: measuring, 0.3 s per check; targets: train, val"),
        (("--dataloader-strict", AD_HOC), "dataloader: *; inconclusive fails; targets: train, val, quick"),
        (("checks",), "dataloader: measuring, 0.3 s per check; the paths given leave pyproject.toml out"),
        (("--rootdir=checks", "checks"), "dataloader: *; no pyproject.toml in */checks"),
    ],
)
def test_one_header_line_says_what_is_measured(declared: Project, arguments: tuple[str, ...], header: str) -> None:
    done = declared.collect("--dataloader-bench", *arguments)
    done.stdout.fnmatch_lines([header])
    assert len([line for line in done.outlines if line.startswith("dataloader:")]) == 1
    quiet = declared.collect()
    assert not [line for line in quiet.outlines if line.startswith("dataloader:")]


def test_a_table_that_is_called_as_the_package_is_told_its_name(project: Project) -> None:
    project.path.joinpath("pyproject.toml").write_text(
        '[tool.pytest_dataloader.targets.x]\nloader = "proj.data:make"\n'
    )
    told = "[[]tool.pytest_dataloader[]] is called [[]tool.pytest-dataloader[]]"
    done = project.collect("--dataloader-bench")
    done.stdout.fnmatch_lines([f"dataloader: *; no targets declared in */pyproject.toml: {told}"])
    done = project.pytester.runpytest_inprocess("--dataloader-list")
    done.stdout.fnmatch_lines(["no loaders are declared: *", told])


def test_tests_that_measure_are_one_group_for_loadgroup_and_targets_need_none(declared: Project) -> None:
    declared.path.joinpath("checks", "test_mine.py").write_text(
        "import pytest\n"
        "def test_plain(): pass\n"
        "def test_bench(dataloader_memory): pass\n"
        "@pytest.mark.xdist_group('own')\ndef test_own(dataloader_memory): pass\n"
    )
    items, _ = declared.pytester.inline_genitems("--dataloader-bench")
    groups = {item.name: [mark.args[0] for mark in item.iter_markers("xdist_group")] for item in items}
    assert groups == {
        **{check: [] for check in checks.NAMES},
        "test_plain": [],
        "test_bench": ["dataloader"],
        "test_own": ["own"],
    }
    items, _ = declared.pytester.inline_genitems()
    assert not [item for item in items if item.name != "test_own" and item.get_closest_marker("xdist_group")]


@pytest.mark.parametrize(
    ("nodeid", "expected"),
    [
        ("pyproject.toml::train::memory", True),
        ("python@3/pyproject.toml::train::memory", True),
        ("dataloader-target::quick::memory", True),
        ("pyproject.toml::train::memory@gpu", False),
        ("test_it.py::test_it@dataloader", True),
        ("test_it.py::test_it[a@b]@dataloader", True),
        ("test_it.py::test_it[user@dataloader]", False),
        ("test_it.py::test_it@own", False),
        ("pyproject.toml.py::test_it", False),
    ],
)
def test_what_one_worker_measures_is_told_by_node_ids(nodeid: str, *, expected: bool) -> None:
    assert collection.is_measured(nodeid) == expected


@pytest.mark.parametrize("options", [(), ("--dataloader-quick",)])
def test_a_seed_that_one_loader_sets_is_not_that_of_the_next(project: Project, options: tuple[str, ...]) -> None:
    project.path.joinpath("proj", "seeds.py").write_text(
        "import pathlib\nimport torch\nfrom proj import data\n\n"
        "def make_seeded():\n    torch.manual_seed(0)\n    return data.make()\n\n"
        "def make_next():\n    pathlib.Path('drawn').write_text(str(torch.rand(()).item()))\n    return data.make()\n"
    )
    checks = 'checks = ["workers", "randomness"]'
    project.declare(
        first=f'loader = "proj.seeds:make_seeded"\n{checks}', second=f'loader = "proj.seeds:make_next"\n{checks}'
    )
    project.bench(*options).assert_outcomes(passed=4)
    seeded = torch.rand((), generator=torch.Generator().manual_seed(0)).item()
    assert float(project.path.joinpath("drawn").read_text()) != seeded
