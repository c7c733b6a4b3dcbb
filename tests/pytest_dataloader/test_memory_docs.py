"""docs/memory.md is executed: its test fails as it says, and its table names every kind."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from pytest_dataloader.probe.memory.growth import GrowthKind

TEXT = (Path(__file__).parents[2] / "docs" / "memory.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_example_runs(pytester: pytest.Pytester) -> None:
    [example] = re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    pytester.makepyfile(test_example=example)
    result = pytester.runpytest_subprocess("-p", "no:memray", "-p", "no:hypothesispytest")
    result.assert_outcomes(passed=1)
    # Without the limit the same list is a fault.
    pytester.makepyfile(test_example=example.replace(', max_worker_growth="32MB"', ""))
    result = pytester.runpytest_subprocess("-p", "no:memray", "-p", "no:hypothesispytest")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*copy-on-write of dataset.paths", "*100,000 str objects", "*filled at test_example.py:*"]
    )


def test_every_kind_is_explained() -> None:
    assert set(re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE)) == set(get_args(GrowthKind))
