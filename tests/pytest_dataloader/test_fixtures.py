"""The checks as fixtures in real runs of pytest: what a test gets, and what becomes of the test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_dataloader.checks import NAMES
from tests.pytest_dataloader.conftest import WITHOUT

if TYPE_CHECKING:
    from tests.pytest_dataloader.conftest import Project

TESTS = """
import pytest
import torch
from proj.data import Zeros, make, make_broken, make_empty

def test_floor(dataloader_throughput):
    seen = dataloader_throughput(make(2), min_samples_per_second=1)
    assert seen.samples_per_second > 1

def test_missed(dataloader_throughput):
    dataloader_throughput(make_empty(), min_samples_per_second=10)

def test_two_loaders(dataloader_throughput, dataloader_memory):
    first, second = make(), make()
    dataloader_memory(first, max_worker_growth="32MB")
    dataloader_throughput(first)
    dataloader_throughput(second)

def test_own_assertion_fails(dataloader_memory):
    assert dataloader_memory(make()).kind == "leak"

def test_own_failure_stays(dataloader_throughput):
    dataloader_throughput(make())
    assert not "a failure of the test itself"

def test_unknown_limit(dataloader_throughput):
    dataloader_throughput(make(), min_sample_per_second=3)

def test_bad_limit(dataloader_throughput):
    dataloader_throughput(make(), min_samples_per_second="many")

def test_no_loader(dataloader_memory):
    dataloader_memory([1, 2])

def test_a_dataset(dataloader_memory):
    dataloader_memory(Zeros())

def test_users_error(dataloader_throughput):
    dataloader_throughput(make_broken())

def test_users_error_can_be_expected(dataloader_throughput):
    with pytest.raises(KeyError, match="sample 0 is broken"):
        dataloader_throughput(make_broken())

@pytest.mark.xfail(reason="known to be slow")
def test_expected_failure(dataloader_throughput):
    dataloader_throughput(make_empty(), min_samples_per_second=10)

def test_random_state_is_as_it_was(dataloader_throughput):
    before = torch.get_rng_state()
    dataloader_throughput(make())
    assert torch.equal(before, torch.get_rng_state())
"""
MESSAGES = {
    "test_unknown_limit": "dataloader_throughput: throughput has no limit 'min_sample_per_second'; its limits are*",
    "test_bad_limit": "dataloader_throughput: min_samples_per_second: expected a number, got 'many'",
    "test_no_loader": "dataloader_memory: expected a torch.utils.data.DataLoader, got list, whose items are no batches",
    "test_a_dataset": "dataloader_memory: * got proj.data.Zeros, which is a Dataset: wrap it in a DataLoader",
}
ONLY_WITH_BENCH = {
    "test_floor": "throughput.samples_per_second was not measured: run with --dataloader-bench",
    "test_missed": "throughput was not measured: the loader gave no batch: its epoch is empty",
    "test_two_loaders": "throughput was not measured: run with --dataloader-bench",
    "test_expected_failure": "throughput was not measured: the loader gave no batch: its epoch is empty",
    "test_random_state_is_as_it_was": "throughput was not measured: run with --dataloader-bench",
}


def outcomes(project: Project) -> dict[str, str]:
    """The outcome of each test as JUnit has it."""
    return {
        name.partition("::")[2]: next((child.tag for child in case if child.tag != "properties"), "passed")
        for name, case in project.cases.items()
    }


def test_a_verdict_is_the_outcome_of_its_test(project: Project) -> None:
    project.path.joinpath("test_it.py").write_text(TESTS)
    done = project.bench()
    assert outcomes(project) == {
        "test_floor": "passed",
        "test_missed": "failure",
        "test_two_loaders": "passed",
        "test_own_assertion_fails": "failure",
        "test_own_failure_stays": "failure",
        **dict.fromkeys(MESSAGES, "failure"),
        "test_users_error": "failure",
        "test_users_error_can_be_expected": "passed",
        "test_expected_failure": "skipped",
        "test_random_state_is_as_it_was": "passed",
    }
    done.assert_outcomes(passed=4, failed=8, xfailed=1)  # JUnit has expected failures as skipped
    check_messages(project, done)
    loaders = project.loaders
    assert loaders["test_it.py::test_floor"]["checks"]["throughput"]["verdict"] == "passed"
    assert loaders["test_it.py::test_missed"]["checks"]["throughput"]["verdict"] == "failed"
    assert list(loaders["test_it.py::test_two_loaders"]["checks"]) == ["memory", "throughput"]
    assert list(loaders["test_it.py::test_two_loaders#2"]["checks"]) == ["throughput"]
    assert {loader["nodeid"] for loader in loaders.values()} == {name.partition("#")[0] for name in loaders}


def check_messages(project: Project, done: pytest.RunResult) -> None:
    output = done.stdout.str()
    assert "INTERNALERROR" not in output + done.stderr.str()
    assert "During handling" not in output
    for name, message in MESSAGES.items():
        done.stdout.fnmatch_lines([f"_* {name} _*", f"E *Failed: {message}", "test_it.py:*: Failed"])
    # The error of the user's dataset is theirs: no frame of ours between the test and the loader.
    done.stdout.fnmatch_lines(
        ["_* test_users_error _*", ">*dataloader_throughput(make_broken())", "proj*data.py:*KeyError"]
    )
    assert "pytest_dataloader/" not in output.replace(str(project.path), "")


@pytest.mark.parametrize(
    "mode", [pytest.param((), id="alone"), pytest.param(("-n2",), id="xdist", marks=pytest.mark.slow)]
)
def test_without_the_flag_what_needs_it_is_skipped_and_never_passed(project: Project, mode: tuple[str, ...]) -> None:
    project.path.joinpath("test_it.py").write_text(TESTS)
    done = project.run(*mode)
    assert outcomes(project) == {
        **dict.fromkeys(ONLY_WITH_BENCH, "skipped"),
        "test_own_assertion_fails": "failure",
        "test_own_failure_stays": "failure",
        **dict.fromkeys(MESSAGES, "failure"),
        "test_users_error": "failure",  # two batches are pulled, so the loader is exercised
        "test_users_error_can_be_expected": "passed",
    }
    for name, reason in ONLY_WITH_BENCH.items():
        skipped = project.cases[f"test_it::{name}"].find("skipped")
        assert skipped is not None
        assert skipped.get("message") == reason
        assert str(skipped.text).startswith(str(project.path / "test_it.py"))
    done.stdout.fnmatch_lines(["SKIPPED * test_it.py:*: throughput.samples_per_second was not measured: run with*"])
    throughput = project.loaders["test_it.py::test_floor"]["checks"]["throughput"]
    assert (throughput["verdict"], throughput["evidence"]) == ("not_measured", {})
    memory = project.loaders["test_it.py::test_two_loaders"]["checks"]["memory"]
    assert memory["verdict"] == "passed"


INCONCLUSIVE = """
import functools
from pytest_dataloader.checks import throughput
from pytest_dataloader.verdict import Advice, Verdict

real = throughput.judge

@functools.wraps(real)
def judge(evidence, **limits):
    assert real(evidence, **limits).outcome in ("passed", "inconclusive")
    return Verdict("inconclusive", "the machine was too busy to say", (Advice("DL204", "keep the workers"),))

throughput.judge = judge
"""


def test_inconclusive_warns_whatever_the_warning_filters_and_fails_when_strict(project: Project) -> None:
    # A machine cannot be made busy on order: the verdict is replaced, all that follows from it is real.
    project.path.joinpath("conftest.py").write_text(INCONCLUSIVE)
    project.path.joinpath("test_it.py").write_text(
        "from proj.data import make\n"
        "def test_it(dataloader_throughput):\n"
        "    assert dataloader_throughput(make(), min_samples_per_second=1).batches\n"
    )
    project.path.joinpath("test_user_ignores_it.py").write_text(
        "import pytest\nfrom test_it import test_it\n"
        "pytestmark = pytest.mark.filterwarnings('ignore::pytest_dataloader.DataLoaderWarning')\n"
    )
    project.declare(train='loader = "proj.data:make"\nchecks = ["throughput"]\nmin_samples_per_second = 1')
    done = project.bench("-W", "error")
    done.assert_outcomes(passed=3, warnings=2)
    done.stdout.fnmatch_lines(
        [
            "  pyproject.toml:1: DataLoaderWarning: throughput: inconclusive: the machine was too busy to say",
            "    DL204: keep the workers",
            "test_it.py::test_it",
            "  test_it.py:2: DataLoaderWarning: throughput: inconclusive: the machine was too busy to say",
        ]
    )
    assert project.loaders["train"]["checks"]["throughput"]["verdict"] == "inconclusive"
    strict = project.bench("--dataloader-strict")
    strict.assert_outcomes(failed=3)
    strict.stdout.fnmatch_lines(
        ["*throughput: inconclusive: the machine was*", "*(--dataloader-strict: inconclusive fails)"]
    )


RERUN = """
import pytest

def pytest_runtest_protocol(item, nextitem):
    from _pytest.runner import runtestprotocol
    for attempt in range(2):
        item.attempt = attempt
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    return True
"""


def test_a_test_that_is_run_again_is_reported_as_it_went_last(project: Project) -> None:
    project.path.joinpath("conftest.py").write_text(RERUN)
    project.path.joinpath("test_it.py").write_text(
        "from proj.data import make, make_empty\n"
        "def test_it(request, dataloader_memory, dataloader_throughput):\n"
        "    dataloader_memory(make())\n"
        "    if request.node.attempt == 0:\n        dataloader_throughput(make())\n"
    )
    project.run().assert_outcomes(passed=1)
    assert list(project.loaders) == ["test_it.py::test_it"]
    assert list(project.loaders["test_it.py::test_it"]["checks"]) == ["memory"]


def test_fixtures_are_listed_with_what_they_do(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(): pass")
    done = pytester.runpytest_subprocess(*WITHOUT, "--fixtures", "-q")
    for name in NAMES:
        done.stdout.re_match_lines([rf"dataloader_{name} -- .*fixtures\.py:\d+", rf"    The {name} check: .*"])


COMPARING = """
import time
from proj.data import DataLoader, Zeros, make

class Slow(Zeros):
    def __getitem__(self, index):
        time.sleep(0.002)
        return self.data[index]

def slow():
    return DataLoader(Slow(), batch_size=4)

def test_alike(dataloader_throughput):
    seen = dataloader_throughput.compare(slow(), slow(), tolerance=0.9)
    assert 0.5 < seen.ratio < 1.9

def test_slower(dataloader_throughput):
    dataloader_throughput.compare(slow(), make())

def test_no_reference(dataloader_throughput):
    dataloader_throughput.compare(slow(), [1, 2])

def test_impossible(dataloader_throughput):
    dataloader_throughput.compare(slow(), slow(), tolerance=15)
"""


def test_a_loader_is_compared_with_a_reference(project: Project) -> None:
    project.path.joinpath("test_it.py").write_text(COMPARING)
    done = project.bench("--dataloader-seconds=3", "--dataloader-tolerance=0.5")
    assert outcomes(project) == {
        "test_alike": "passed",
        "test_slower": "failure",
        "test_no_reference": "failure",
        "test_impossible": "failure",
    }
    done.stdout.fnmatch_lines(
        [
            "E *compare: * times the reference *, limit 1.50 times",
            "E *dataloader_throughput: expected a torch.utils.data.DataLoader, got list, whose items are no batches",
            "E *dataloader_throughput: tolerance: expected a share between 0 and 1, got 15",
        ]
    )
    assert project.loaders["test_it.py::test_slower"]["checks"]["compare"]["verdict"] == "failed"


def test_without_the_flag_nothing_is_compared(project: Project) -> None:
    project.path.joinpath("test_it.py").write_text(COMPARING)
    project.run("-k", "alike or slower")
    assert outcomes(project) == {"test_alike": "skipped", "test_slower": "skipped"}


LINES = """
from torch.utils.data import DataLoader


def test_two(dataloader_shards):
    for world_size in (1, 2):
        dataloader_shards(lambda: DataLoader(list(range(64)), 8), world_size=world_size)
"""


def test_a_failing_fixture_shows_the_line_of_the_call_and_its_reason_once(project: Project) -> None:
    project.pytester.makepyfile(test_lines=LINES)
    shown = project.run("test_lines.py").stdout.str()
    assert "test_lines.py:6: Failed" in shown
    assert shown.count("2 ranks read the same samples") == 1
