"""What is said of a loader that gave nothing for long; pure."""

from __future__ import annotations

from pytest_dataloader.quantities import counted
from pytest_dataloader.verdict import Verdict


def hung(batches: int, seconds: float, *, at_work: bool) -> Verdict:
    """The verdict after a silence of so long: a hang only where nothing moved any more."""
    after = f"after {counted(batches, 'batch')}" if batches else "from the start"
    if at_work:
        return Verdict(
            "inconclusive", f"no batch for {seconds:.0f} s {after}\nits processes were at work: slow, or hung"
        )
    return Verdict("failed", f"hangs {after}: no batch for {seconds:.0f} s, and no process is at work")
