"""--dataloader-tune in real runs: the table, the JSON, and Ctrl-C."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.pytest_dataloader.conftest import Project

pytestmark = pytest.mark.xdist_group("time")

SLOW = """
import time
from pathlib import Path

class Slow(Zeros):
    def __getitem__(self, index):
        time.sleep(0.002)
        return super().__getitem__(index)

def make_slow():
    return DataLoader(Slow(), batch_size=16)
"""


@pytest.fixture
def slow(project: Project) -> Project:
    with project.path.joinpath("proj", "data.py").open("a") as file:
        file.write(SLOW)
    project.declare(slow='loader = "proj.data:make_slow"\nchecks = ["throughput"]')
    return project


@pytest.mark.parametrize(
    "mode", [pytest.param((), id="alone"), pytest.param(("-n2",), id="xdist", marks=pytest.mark.slow)]
)
def test_each_target_gets_a_table_and_no_check_runs(slow: Project, mode: tuple[str, ...]) -> None:
    done = slow.run("--dataloader-tune", "--dataloader-seconds=1", *mode)
    done.assert_outcomes(passed=1)
    done.stdout.fnmatch_lines(
        [
            "slow",
            "  tune passed: *num_workers=*: *",
            "* samples/s  vs baseline  vs previous*",
            "    num_workers=0 *1.0x *1.0x  now",
            "    + num_workers=*x*",
            "    + __getitems__ in*upper bound",
        ]
    )
    slow_loader = slow.loaders["slow"]
    assert slow_loader["checks"] == {}
    evidence = slow_loader["tune"]["evidence"]
    # How many depends on the machine; that it is not none, for samples that wait, is a test of the check.
    assert evidence["recommendation"].startswith(f"num_workers={evidence['settings']['num_workers']}")
    assert [row["source"] for row in evidence["rows"]][-1] == "at most"


def test_beside_the_checks_it_is_one_more_item(slow: Project) -> None:
    nodes = slow.collected("--dataloader-tune")
    assert nodes == ["pyproject.toml::slow::throughput", "pyproject.toml::slow::tune"]
    only = slow.collect("--dataloader-tune", "-q", "--dataloader-target=more=proj.data:make")
    assert [line for line in only.outlines if "::" in line] == [
        "pyproject.toml::slow::tune", "dataloader-target::more::tune",
    ]  # fmt: skip


def test_the_step_of_a_target_bounds_the_workers_and_stages_are_drawn(slow: Project) -> None:
    slow.declare(slow='loader = "proj.data:make_slow"\nchecks = ["stages"]\nstep_ms = 2000')
    done = slow.bench("--dataloader-tune", "--dataloader-seconds=0.5", "-v")
    done.assert_outcomes(passed=2)
    done.stdout.fnmatch_lines(
        [
            "  stages passed: bottleneck: the training step, *",
            "    ms/sample (wall)",
            "    read *",
            "    consumer * ━━━━━━━━*",
            "    data wait * of a 2,000 ms step*",
            "  tune passed: keep num_workers=0: *",
        ]
    )


@pytest.mark.slow
def test_an_interrupted_tuning_tells_what_it_knows(slow: Project) -> None:
    slow.path.joinpath("conftest.py").write_text(
        "import time\nfrom pathlib import Path\nfrom pytest_dataloader.probe.tuning import search\n"
        "def noted(*_):\n    Path('profiled').touch()\n    time.sleep(120)\n"
        "search.measure_trial = noted\n"
    )
    status, output = slow.interrupt(
        "profiled", "--dataloader-tune", "--dataloader-seconds=30", "--dataloader-json=seen.json"
    )
    assert status == pytest.ExitCode.INTERRUPTED
    assert "num_workers=0" in output
    seen = json.loads(slow.path.joinpath("seen.json").read_text())["loaders"][0]["tune"]
    assert [row["change"] for row in seen["evidence"]["rows"]] == ["num_workers=0"]
    assert seen["reason"] == "nothing to recommend: it was interrupted before workers were tried"
