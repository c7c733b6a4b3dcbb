"""The groups of our own tests: one worker of pytest-xdist runs what is in one group."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pytest_dataloader.conftest import WITHOUT


def test_tests_of_one_group_are_run_by_one_worker_under_their_own_node_ids(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(Path(__file__).with_name("conftest.py").read_text())
    pytester.makepyfile(
        "import pytest\n@pytest.mark.xdist_group('time')\n@pytest.mark.parametrize('number', range(6))\n"
        "def test_it(number): pass\n"
    )
    done = pytester.runpytest_subprocess("-n2", "--dist=loadgroup", "-v", *WITHOUT)
    done.assert_outcomes(passed=6)
    told = [line.split() for line in done.outlines if line.startswith("[gw")]
    assert len({words[0] for words in told}) == 1
    if pytest.version_tuple >= (9, 2):  # before, pytest-xdist itself appends the group
        assert {words[-1].partition("::")[2] for words in told} == {f"test_it[{number}]" for number in range(6)}
