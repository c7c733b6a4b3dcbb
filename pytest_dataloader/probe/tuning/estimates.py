"""What a search knows of a loader: how fast it was under settings, and the best of them."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pytest_dataloader.probe.loader.settings import LoaderSettings, settings_of
from pytest_dataloader.probe.tuning.trial import Alone, Trial, rate_of

if TYPE_CHECKING:
    from collections.abc import Sequence

WORTHWHILE_GAIN = 0.05
"""The fewest workers that come within this share of the best are chosen."""
_PREFETCHED = (4, 8)
_KEEPS_UP = 0.9
"""Share of a step in which workers must have a batch ready, so that uneven ones do not hold it up."""
_WAITED = 0.05
"""Share of a step that loading without workers may take."""
_UNEVEN = 0.5
"""Batches whose times spread by this share of their mean are uneven: then it may matter how many wait, and in which
order."""


@dataclass(slots=True)
class Estimates:
    """Rates of a loader under settings; in samples per second."""

    loader: Any
    step_seconds: float | None = None
    """What a training step takes; None for a consumer that takes batches as fast as they come."""
    alone: Alone | None = None
    trials: dict[LoaderSettings, Trial] = field(default_factory=dict)

    @property
    def now(self) -> LoaderSettings:
        """The loader's settings as they are."""
        return settings_of(self.loader)

    def settings(self, number: int) -> LoaderSettings:
        """So many workers that persist; what else the loader was given stays."""
        if not number:
            return LoaderSettings()
        return replace(self.now, num_workers=number, persistent_workers=True)

    def trial_of(self, settings: LoaderSettings) -> Trial | None:
        """The trial that tells of settings: their own, or a steady one that differs in persistence alone."""
        twin = self.trials.get(replace(settings, persistent_workers=not settings.persistent_workers))
        return self.trials.get(settings) or (twin if twin is not None and twin.steady else None)

    def rate(self, settings: LoaderSettings) -> float:
        """Samples per second, of settings that were measured."""
        assert self.alone is not None
        if not settings.num_workers:
            return self.alone.samples_per_second
        trial = self.trial_of(settings)
        assert trial is not None
        return rate_of(trial, self.alone, settings)

    def is_measured(self, settings: LoaderSettings) -> bool:
        """Whether a rate follows from measurements of these settings."""
        return not settings.num_workers or self.trial_of(settings) is not None

    def keeps_up(self, settings: LoaderSettings) -> bool:
        """Whether a training step need not wait; without workers it waits while each batch is made."""
        if self.step_seconds is None or self.alone is None:
            return False
        spent = self.alone.samples_per_batch / self.rate(settings)
        return spent <= self.step_seconds * (_WAITED if settings.num_workers == 0 else _KEEPS_UP)

    @property
    def chosen(self) -> LoaderSettings:
        """The fewest workers that keep up with the step, else those that come within reach of the best."""
        if self.alone is None:
            return LoaderSettings()
        rates = {number: self.rate(self.settings(number)) for number in self.measured_numbers}
        keeping = [number for number in rates if self.keeps_up(self.settings(number))]
        best = max(rates.values())
        near = [number for number in rates if rates[number] >= (1 - WORTHWHILE_GAIN) * best]
        return self.settings(min(keeping or near))

    @property
    def measured_numbers(self) -> list[int]:
        """Of workers, none included."""
        tried = {settings.num_workers for settings in self.trials}
        return [number for number in sorted({0} | tried) if self.is_measured(self.settings(number))]

    def promising(self, chosen: LoaderSettings) -> list[LoaderSettings]:
        """LoaderSettings beside the number of workers that even out uneven batches."""
        assert self.alone is not None
        if not _are_uneven(self.alone.batch_seconds):
            return []
        found = [replace(chosen, prefetch_factor=each) for each in _PREFETCHED if each > chosen.prefetch_factor][:1]
        if "in_order" in vars(self.loader) and chosen.in_order:
            found.append(replace(chosen, in_order=False))
        return found


def _are_uneven(times: Sequence[float]) -> bool:
    """Whether batches take so different times, whatever one of them took: the first may be a cold one."""
    usual = sorted(times)[:-1]
    return len(usual) > 1 and statistics.stdev(usual) >= _UNEVEN * statistics.fmean(usual)
