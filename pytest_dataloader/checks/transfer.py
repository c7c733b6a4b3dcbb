"""Does the accelerator wait for data: for the loader, or for its copies, while it is trained?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_dataloader.advice import transfer as sentences
from pytest_dataloader.errors import NotMeasured
from pytest_dataloader.probe.device.accelerator import accelerator
from pytest_dataloader.probe.device.evidence import Transfer
from pytest_dataloader.probe.device.remedies import gains, way_of
from pytest_dataloader.probe.device.training_loop import TrainingLoop, stand_in
from pytest_dataloader.probe.timing.neighbours import NeighbourWatch
from pytest_dataloader.probe.timing.training_step import step_at
from pytest_dataloader.probe.tuning.trial import borrow_with
from pytest_dataloader.quantities import figure, percent
from pytest_dataloader.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_dataloader.checks import Setting
    from pytest_dataloader.probe.device import evidence as of_device
    from pytest_dataloader.settings.limits import Milliseconds, Share, Step

NEEDS_BENCH = True

_RECORDED, _TRIED = 0.4, 1.0
"""Shares of the budget for the steps that are recorded, and for remedies."""


def applies(_loader: Any, _build: Any) -> bool:
    """Whether there is an accelerator that ``torch.profiler`` records."""
    return accelerator() is not None


def measure(
    loader: Any,
    *,
    setting: Setting,
    step_ms: float | None = None,
    step: str | Callable[[Any], object] | None = None,
) -> Transfer:
    """Train on a copy of the loader for some 20 steps under ``torch.profiler``, then try what could shorten a step.

    A step is the user's own, which brings its batch to the device, or a stand-in of ``step_ms``; before that each batch
    is copied to the device. Raises NotMeasured without an accelerator or a step. This initialises the accelerator.
    """
    kind = accelerator()
    if kind is None:
        raise NotMeasured("no accelerator here that torch.profiler can record")
    own = step_at(step)
    if own is None and step_ms is None:
        raise NotMeasured("needs step (a training step) or step_ms (its time on the accelerator)")
    taken = own if own is not None else stand_in(kind, step_ms or 0.0)
    now = way_of(loader, copies=own is None)
    setting.progress("training under the profiler", 0.1)
    with borrow_with(loader, now.settings, pin_memory=now.pinned) as borrowed:
        loop = TrainingLoop(borrowed, kind, taken, now.copying)
        loop.warm_up()
        watch = NeighbourWatch(borrowed)
        use = loop.record(_RECORDED * setting.seconds)
        quietness = watch.quietness()
    setting.progress("trying what could shorten a step", 0.5)
    tried = gains(loader, now, use, kind=kind, step=taken, seconds=_TRIED * setting.seconds, quick=setting.quick)
    return Transfer(use, now.text, own_step=own is not None, gains=tuple(tried), quietness=quietness)


def judge(
    evidence: Transfer,
    *,
    step_ms: Milliseconds | None = None,  # noqa: ARG001  # of measuring
    step: Step | None = None,  # noqa: ARG001
    max_gpu_idle: Share | None = None,
    max_input_wait: Share | None = None,
) -> Verdict:
    """Name what holds the device up, and hold its idling and the host's waiting for the loader to their limits.

    ``max_gpu_idle`` is the share of its steps in which the device does nothing, for whatever reason;
    ``max_input_wait`` that in which the host waits for the loader.
    """
    use = evidence.use
    if max_input_wait is not None and not use.loader_calls:
        return Verdict("not_measured", f"no call of a DataLoader in the trace\n{sentences.parts(use)}")
    shares = [
        (share, allowed, words)
        for share, allowed, words in (
            (use.idle, max_gpu_idle, "device idle:"),
            (use.waited, max_input_wait, "data wait:"),
        )
        if allowed is not None
    ]
    advice = sentences.advice(evidence)
    seen = f"{sentences.summary(use)}\n{figure(use.ms_per_step)} ms per step"
    if not shares:
        return Verdict("passed", seen, advice)
    outcomes = [_outcome(share, allowed) for share, allowed, _ in shares]
    over = "\n".join(_sentence(*each) for each, outcome in zip(shares, outcomes, strict=True) if outcome != "kept")
    if not over:
        return Verdict("passed", "\n".join([*(_sentence(*each) for each in shares), seen]), advice)
    if evidence.quietness.disturbances:
        return Verdict("inconclusive", f"{over}\n{evidence.quietness.sentence}\n{seen}", advice)
    return Verdict("failed" if "missed" in outcomes else "inconclusive", f"{over}\n{seen}", advice)


def _outcome(share: of_device.StepShare, allowed: float) -> str:
    """Kept by what was seen; missed where the whole interval is above."""
    return "kept" if share.value <= allowed else "missed" if share.low > allowed else "close"


def _sentence(share: of_device.StepShare, allowed: float, words: str) -> str:
    return f"{words} {sentences.of_a_step(share)}, limit {percent(allowed)}"
