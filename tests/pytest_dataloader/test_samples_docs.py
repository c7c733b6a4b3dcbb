"""docs/samples.md is executed: its tests end as it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TEXT = (Path(__file__).parents[2] / "docs" / "samples.md").read_text(encoding="utf-8")
EXAMPLES = dict(re.findall(r"^## (\w+)\n.*?^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL))
SAYS = {
    "randomness": "*dataset.rng gives the same numbers to all workers and epochs*",
    "order": "*Lines: workers 0 and 1 give the same samples: every sample comes 2 times*",
    "shards": "*2 ranks read the same samples*",
    "resume": "*resumed after batch 1: 1 batches come again*",
}


@pytest.mark.parametrize("check", SAYS)
def test_the_example_ends_as_it_says(check: str, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_example=EXAMPLES[check])
    result = pytester.runpytest_subprocess("-p", "no:memray", "-p", "no:hypothesispytest")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([SAYS[check]])


def test_every_example_is_tested() -> None:
    assert set(EXAMPLES) == set(SAYS)
