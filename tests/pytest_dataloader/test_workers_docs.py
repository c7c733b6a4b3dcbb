"""docs/workers.md is executed: its test fails as it says, and its table names every kind."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import pytest

from pytest_dataloader.probe.host import waits
from pytest_dataloader.probe.workers import watchdog
from pytest_dataloader.probe.workers.fault import WorkerFaultKind

if TYPE_CHECKING:
    from tests.pytest_dataloader.conftest import Project

TEXT = (Path(__file__).parents[2] / "docs" / "workers.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_example_fails_as_it_says(project: Project) -> None:
    [example] = re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    told, *_ = re.findall(r"^```text\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    project.path.joinpath("test_example.py").write_text(example)
    result = project.run("test_example.py")
    result.assert_outcomes(failed=1)
    said = re.sub(r"\d+ s\)|pid \d+|(?<=File \")", "*", told).splitlines()
    result.stdout.fnmatch_lines([f"*{line.strip()}*" for line in said])
    [record] = project.loaders.values()
    seen = record["checks"]["workers"]
    assert (seen["verdict"], seen["limits"]) == ("failed", {"max_startup_seconds": 60.0})
    assert (seen["evidence"]["fault"], seen["evidence"]["sample_indices"]) == ("hang", [16, 17, 18, 19])


def test_every_kind_is_explained() -> None:
    assert set(re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE)) == {"fault", *get_args(WorkerFaultKind)}


def test_the_times_are_those_of_the_watch() -> None:
    assert f"after {waits.DEADLOCK_SECONDS:.0f} seconds, if each" in TEXT
    assert watchdog.LONG_SLEEP_SECONDS == 5 * 60
    assert (
        f"after {watchdog.QUIET_SECONDS:.0f} seconds ({watchdog.FIRST_QUIET_SECONDS:.0f} before the first batch" in TEXT
    )
    assert f"still at work after {watchdog.TIMEOUT_SECONDS:.0f} seconds" in TEXT
