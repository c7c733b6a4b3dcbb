"""What does a training, as it runs, wait for, and what do its workers take?

Its evidence is gathered while a script iterates its loader (``probe/training``); nothing is measured on a copy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_dataloader.advice import training as sentences
from pytest_dataloader.quantities import percent, size
from pytest_dataloader.verdict import Verdict

if TYPE_CHECKING:
    from pytest_dataloader.probe.training.evidence import Training
    from pytest_dataloader.settings.limits import Bytes, Share

NEEDS_BENCH = False


def judge(
    evidence: Training,
    *,
    max_input_wait: Share | None = None,
    max_worker_growth: Bytes | None = None,
    max_fd_use: Share | None = None,
) -> Verdict:
    """Fail for a loader that raised where no batch came after it, and for what is above a limit; what a training waited
    on a busy machine is inconclusive, unless its workers did not need the CPUs.
    """
    if evidence.fault:
        return Verdict("failed", f"{evidence.fault}\nbefore: {sentences.describe_training(evidence)}")
    if not evidence.batches:
        return Verdict("not_measured", "no batch of it came", vacuous=True)
    advice = sentences.advice(evidence)
    waited = sentences.describe_wait(evidence)
    missed, waits_too_long = [], False
    if max_input_wait is not None and evidence.input_wait_of_training > max_input_wait:
        waits_too_long = True
        missed.append(f"{sentences.describe_wait_of_training(evidence)}, limit {percent(max_input_wait)}")
    if max_worker_growth is not None and evidence.growth_bytes_per_worker > max_worker_growth:
        grown = size(evidence.growth_bytes_per_worker)
        missed.append(f"+{grown} in a worker, limit {size(max_worker_growth)}")
        advice = (sentences.GROWS, *advice)
    if max_fd_use is not None and evidence.fd_use > max_fd_use:
        opened = f"{evidence.descriptors:,} of {evidence.descriptor_limit:,} descriptors open"
        missed.append(f"{opened}, limit {percent(max_fd_use)}")
        advice = (sentences.OPENS, *advice)
    seen = sentences.describe_training(evidence)
    # Workers that wait for storage, and for a CPU next to never, are not slow for what others take.
    by_others = evidence.quietness.disturbances and not (evidence.workers and evidence.stage == "read")
    if waits_too_long and len(missed) == 1 and by_others:
        return Verdict("inconclusive", f"{missed[0]}\n{evidence.quietness.sentence}\n{seen}", advice)
    if missed:
        return Verdict("failed", "\n".join([*missed, seen]), advice)
    return Verdict("passed", f"{waited}\n{seen}", advice)
