"""What the benchmark of libraries takes for right."""

from __future__ import annotations

import pytest

from benchmarks.library_loaders import as_expected
from pytest_dataloader.loaders import own_fault

PASSED = ("passed", "disjoint and complete")
FAILED = ("failed", "every sample comes 2 times")
OURS = ("not_measured", own_fault(IndexError("tuple index out of range")))


@pytest.mark.parametrize(
    ("name", "found", "right"),
    [
        ("own_stream", {"order": PASSED}, True),
        ("own_stream", {"order": FAILED}, False),
        ("own_stream", {"order": PASSED, "shards": ("not_measured", "nothing shards it")}, True),
        ("own_stream", {"order": PASSED, "shards": OURS}, False),
        ("own_stream", {}, False),
        ("web_unsplit", {"order": FAILED}, True),
        ("web_unsplit", {"order": FAILED, "shards": OURS}, False),
        ("web_unsplit", {"order": PASSED}, False),
    ],
)
def test_known_faults_are_right_and_ours_never(name: str, found: dict[str, tuple[str, str]], right: bool) -> None:
    assert as_expected(name, found) is right
