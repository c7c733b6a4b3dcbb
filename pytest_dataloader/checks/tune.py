"""Which settings make the loader fastest on this machine?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_dataloader.advice import tune as sentences
from pytest_dataloader.probe.tuning.evidence import Tuning, tuning
from pytest_dataloader.probe.tuning.search import Search
from pytest_dataloader.probe.tuning.trial import EmptyLoader
from pytest_dataloader.verdict import Verdict

if TYPE_CHECKING:
    from pytest_dataloader.checks import Setting
    from pytest_dataloader.limits import Milliseconds

NEEDS_BENCH = False


def measure(loader: Any, *, setting: Setting, step_ms: float | None = None) -> Tuning:
    """Profile a loader, predict other settings and measure the best few, in about ``setting.seconds``.

    With ``step_ms``, no more workers are recommended than a training step of so long needs. What is known is handed
    to ``setting.known`` whenever there is more of it. Raises what the loader raises.
    """
    search = Search(loader, seconds=setting.seconds, told=setting.progress)
    search.step_seconds = None if step_ms is None else step_ms / 1e3
    search.known = lambda: setting.known(tuning(search))
    try:
        search.run()
    except EmptyLoader:
        return Tuning(empty=True)
    return tuning(search)


def judge(evidence: Tuning, *, step_ms: Milliseconds | None = None) -> Verdict:
    """A recommendation; never a failure."""
    if evidence.empty:
        return Verdict("not_measured", "the loader gave no batch: its epoch is empty")
    if not evidence.recommendation:
        why = "; ".join(evidence.notes) or "it was interrupted before workers were tried"
        return Verdict("not_measured", f"nothing to recommend: {why}")
    so_far = "" if evidence.complete else ", as far as it was tried"
    return Verdict("passed", f"{sentences.recommendation(evidence, step_ms)}{so_far}", sentences.advice(evidence))
