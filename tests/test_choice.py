"""Which tests a run has: rows of tables that are slow, and what a budget of time leaves out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.variants import every, first_of_each, named, variants

CONFTEST = Path(__file__).with_name("conftest.py").read_text(encoding="utf-8")


def test_rows_that_are_not_named_are_slow_and_names_must_be_there() -> None:
    rows = variants({"a": 1, "b": (2, 3)}, ["a"])
    assert [row.values for row in rows] == [(1,), (2, 3)]
    assert [bool(row.marks) for row in rows] == [False, True]
    assert [row.values for row in named("ab", "a")] == [("a",), ("b",)]
    assert [bool(row.marks) for row in every("abcde", 2)] == [False, True, False, True, False]
    assert first_of_each({"a": 1, "b": 1, "c": 2}, lambda row: row) == ["a", "c"]
    with pytest.raises(AssertionError, match=r"no rows: \['c'\]"):
        named("ab", "c")


def test_a_budget_leaves_out_what_has_not_begun_and_names_the_files(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(test_one="def test_a(): assert 0\ndef test_b(): pass", test_two="def test_c(): pass")
    done = pytester.runpytest_inprocess("--time-budget=0", "-p", "no:cacheprovider")
    done.assert_outcomes(skipped=3)
    done.stdout.fnmatch_lines(
        ["*= 3 tests left out: the time budget was spent =*", "    2 test_one.py", "    1 test_two.py"]
    )
    assert done.ret == pytest.ExitCode.OK
    done = pytester.runpytest_inprocess("--time-budget=600", "-p", "no:cacheprovider")
    done.assert_outcomes(passed=2, failed=1)
    assert "left out" not in done.stdout.str()
