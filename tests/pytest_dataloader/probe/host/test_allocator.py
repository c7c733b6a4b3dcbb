"""What a process holds, by the allocators that tell."""

from __future__ import annotations

import pytest

from pytest_dataloader.probe.host.allocator import allocated

pyarrow = pytest.importorskip("pyarrow")


@pytest.mark.skipif(allocated().malloc_bytes < 0, reason="glibc alone tells")
def test_what_arrow_keeps_in_a_pool_of_its_own_counts() -> None:
    before = allocated().malloc_bytes
    kept = pyarrow.allocate_buffer(50_000_000)
    assert 50_000_000 <= allocated().malloc_bytes - before < 60_000_000
    del kept
    assert allocated().malloc_bytes - before < 10_000_000
