"""What is said of a loader that gave nothing for long; pure."""

from __future__ import annotations

from pytest_dataloader.quantities import counted
from pytest_dataloader.verdict import Verdict


def hung(batches: int, seconds: float, *, at_work: bool) -> Verdict:
    """The verdict after a silence of so long: a hang only where nothing moved any more."""
    after = f"after {counted(batches, 'batch')}" if batches else "from the start"
    if at_work:
        told = f"no batch came for {seconds:.0f} s {after}, while its processes were at work"
        return Verdict("inconclusive", f"{told}: slow or hung cannot be told")
    return Verdict("failed", f"the loader hangs {after}: no batch came for {seconds:.0f} s, and nothing moves")
