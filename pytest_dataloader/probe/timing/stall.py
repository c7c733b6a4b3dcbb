"""How long a consumer that takes its time waits for batches, and the step for which a loader would keep up; pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_dataloader.probe.timing.windows import Window, half_width, join, lost_ns

if TYPE_CHECKING:
    from collections.abc import Sequence

KEEPS_UP = 0.05
"""A share of waiting up to which a loader counts as keeping up where no other was asked for."""
_LEAST_TOLERATED = 0.001
"""No loader without waiting at all exists: receiving a batch takes time."""


@dataclass(frozen=True, slots=True)
class Stall:
    """A consumer that takes ``step_ms`` for each batch: how much of its time it waited for the next one.

    The waits are those of a warm loader, without the time that others held its CPU; the starts of epochs are left out,
    except where epochs are too short to get warm.
    """

    step_ms: float
    share: float
    """Time waited over the time of all steps and waits: the share of the time that an accelerator would idle. What was
    seen, or what the costs of the stages imply where that is more."""
    interval: tuple[float, float]
    """95 % interval of ``share``."""
    best: float
    """In the best stretch of the run."""
    wall_share: float
    """By the wall clock, neighbours included."""
    waiting_steps: float
    """Share of the steps that waited for more than receiving a batch takes."""
    steps: int
    windows: int
    keeps_up_at_ms: float
    """The shortest step for which this loader would keep the share at ``tolerated``."""
    tolerated: float

    def period_ms(self, share: float) -> float:
        """The time from batch to batch at a share of waiting."""
        return self.step_ms / max(1e-9, 1 - share)


@dataclass(frozen=True, slots=True)
class Waits:
    """What a consumer went through, and what the loader can do."""

    step_ns: float
    windows: Sequence[Window]
    wall_share: float
    waiting_steps: float
    workers: int
    cpus: float
    capacity_ns: float
    """Time per batch of what goes on beside the consumer: the workers, the pinning thread, the CPUs."""
    receive_ns: float
    """Time per batch of what the consumer itself must do; without workers, everything."""
    making_ns: float = 0.0
    """Time per batch of the workers or of the pinning thread alone."""

    @property
    def least(self) -> float:
        """The share of waiting that the costs of the stages imply.

        A consumer that is itself kept from the CPU oversleeps, and then finds its batch ready: 2 workers that need
        8.3 ms a batch, beside steps of 4 ms and 30 busy processes, were seen to make it wait for 0.26 of the time.
        """
        return 1 - self.step_ns / max(self.making_ns, self.step_ns + self.receive_ns)


def stall(waits: Waits, tolerated: float | None = None) -> Stall:
    """What a consumer waited; ``tolerated`` is the share for which to tell the shortest step."""
    least = max(_LEAST_TOLERATED, KEEPS_UP if tolerated is None else tolerated)
    each = [_share(waits, window) for window in waits.windows]
    whole = join(waits.windows) if waits.windows else None
    measured = _mean_share(waits) if whole is not None else 0.0
    share = max(measured, waits.least)
    half = _half_width(each)
    return Stall(
        step_ms=waits.step_ns / 1e6,
        share=share,
        interval=(max(0.0, measured - half), max(share, min(1.0, measured + half))),
        best=min(each, default=0.0),
        wall_share=waits.wall_share,
        waiting_steps=waits.waiting_steps,
        steps=whole.handed if whole is not None else 0,
        windows=len(each),
        keeps_up_at_ms=max((1 - least) * waits.capacity_ns, (1 - least) / least * waits.receive_ns) / 1e6,
        tolerated=least,
    )


def _over_all(waited_ns: float, steps: float, step_ns: float) -> float:
    return waited_ns / max(1.0, waited_ns + steps * step_ns)


def _waited(waits: Waits, window: Window) -> float:
    """Without what others took from the workers: they would have been ready that much sooner. Receiving remains."""
    if not waits.workers:
        return window.waited_ns
    lost = lost_ns(window, workers=waits.workers, cpus=waits.cpus)
    return max(window.waited_ns - lost, min(float(window.waited_ns), window.handed * waits.receive_ns))


def _share(waits: Waits, window: Window) -> float:
    return _over_all(_waited(waits, window), window.handed, waits.step_ns)


def _mean_share(waits: Waits) -> float:
    waited = sum(_waited(waits, window) for window in waits.windows)
    return _over_all(waited, sum(window.handed for window in waits.windows), waits.step_ns)


def _half_width(shares: Sequence[float]) -> float:
    """Half the 95 % interval of the mean; a single window says little."""
    return half_width(shares) if len(shares) > 1 else 0.5
