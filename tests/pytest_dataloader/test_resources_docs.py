"""docs/resources.md is executed: its tests pass, its setting is one, and its formulas are the code's."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from pytest_dataloader.probe.resources import forecast

pytestmark = pytest.mark.xdist_group("system")

TEXT = (Path(__file__).parents[2] / "docs" / "resources.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    [found] = re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    return str(found)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="forked workers and /dev/shm")
def test_the_examples_run_watched(pytester: pytest.Pytester) -> None:
    pytester.makeini(block("ini"))
    pytester.makepyfile(test_example=block("python"))
    result = pytester.runpytest_subprocess("-p", "no:memray", "-p", "no:hypothesispytest")
    result.assert_outcomes(passed=2)
    # A tensor in place of its numbers is what the page warns of.
    pytester.makepyfile(test_example=block("python").replace(".tolist()", ""))
    result = pytester.runpytest_subprocess("-p", "no:memray", "-p", "no:hypothesispytest", "-k", "loop")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*batches are kept by labels*"])


def test_the_formulas_are_those_of_the_code() -> None:
    code = re.sub(r"\s+", " ", str(forecast.__doc__))
    for formula in ("T (2 + (N - 1) p)", "T (p + 1) + 1", "T (N p + 1)"):
        assert formula in TEXT
        assert formula in code
    assert f"at most {forecast.HANDED_OVER}" in TEXT
    assert f"| {forecast.SPAWNED_WORKER} + T" in TEXT
