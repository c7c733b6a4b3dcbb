"""What to change where descriptors run short or leak; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_dataloader.advice.resources import about_leaks
from pytest_dataloader.probe.resources.forecast import HANDED_OVER
from pytest_dataloader.verdict import Advice

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_dataloader.probe.resources.evidence import Fds

_MANY = 8
"""Tensors a batch from which their number, not that of workers, is what to lower."""


def advice(evidence: Fds) -> tuple[Advice, ...]:
    """Advice on a loader that leaks descriptors, or may need more of them than there are."""
    return tuple(_advice(evidence))


def _advice(evidence: Fds) -> Iterator[Advice]:
    yield from about_leaks(evidence.leaks)
    if evidence.handed_to_worker > HANDED_OVER:
        yield Advice("", "torch.stack(tensors) in the dataset: each tensor costs a descriptor")
    worst = max(evidence.predicted_main_peak, evidence.predicted_worker_peak)
    if worst <= evidence.limit:
        return
    if not evidence.shortage:
        yield Advice("", f"up to {worst} descriptors if one worker is slow, limit {evidence.limit}")
    if evidence.storages_per_batch >= _MANY:
        yield Advice(
            "", f"stack the {evidence.storages_per_batch} tensors of a batch in collate_fn, or return numpy arrays"
        )
    yield Advice("", "lower num_workers or prefetch_factor, or raise the limit (ulimit -n)")
