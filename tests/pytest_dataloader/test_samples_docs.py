"""docs/samples.md is executed: its tests end as it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TEXT = (Path(__file__).parents[2] / "docs" / "samples.md").read_text(encoding="utf-8")
EXAMPLES = dict(re.findall(r"^## (\w+)\n.*?^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL))
SAYS = {
    "randomness": "dataset.rng draws identical numbers in all workers and epochs*",
    "order": "Lines: workers 0 and 1 give the same samples, so each comes 2 times*",
    "shards": "2 ranks read the same samples*",
    "resume": "resumed after batch 1: repeats 1 batch*",
}


@pytest.mark.slow
def test_the_examples_end_as_they_say(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(**{f"test_{check}": EXAMPLES[check] for check in SAYS})
    result = pytester.runpytest_subprocess("-p", "no:memray", "-p", "no:hypothesispytest")
    result.assert_outcomes(failed=len(SAYS))
    for check, said in SAYS.items():
        result.stdout.fnmatch_lines([f"*{check}: {said}"])


def test_every_example_is_tested() -> None:
    assert set(EXAMPLES) == set(SAYS)
