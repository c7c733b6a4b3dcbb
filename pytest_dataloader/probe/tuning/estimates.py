"""What a search knows of a loader: how fast it is under settings, as measured or as predicted, and the best of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

from pytest_dataloader.probe.loader.settings import LoaderSettings, settings_of
from pytest_dataloader.probe.tuning.prediction import Profile, period, predicted_rate
from pytest_dataloader.probe.tuning.trial import Alone, Trial, rate_of

WORTHWHILE_GAIN = 0.05
"""The fewest workers that come within this share of the best are chosen."""
_PREFETCHED = (4, 8)
_KEEPS_UP = 0.9
"""Share of a step in which workers must have a batch ready, so that uneven ones do not hold it up."""
_WAITED = 0.05
"""Share of a step that loading without workers may take."""


@dataclass(slots=True)
class Estimates:
    """Rates of a loader under settings; in samples per second."""

    loader: Any
    step_seconds: float | None = None
    """What a training step takes; None for a consumer that takes batches as fast as they come."""
    alone: Alone | None = None
    profile: Profile | None = None
    trials: dict[LoaderSettings, Trial] = field(default_factory=dict)
    numbers: list[int] = field(default_factory=lambda: [0, 1])
    """Of workers that are considered."""

    @property
    def now(self) -> LoaderSettings:
        """The loader's settings as they are."""
        return settings_of(self.loader)

    def settings(self, number: int) -> LoaderSettings:
        """So many workers that persist; what else the loader was given stays."""
        if not number:
            return LoaderSettings()
        return replace(self.now, num_workers=number, persistent_workers=True)

    def predicted(self, settings: LoaderSettings) -> float:
        """Samples per second, by the profile and by how far it was off for the nearest number of workers measured."""
        assert self.profile is not None
        return predicted_rate(self.profile, settings) * self._correction(settings)

    def _correction(self, settings: LoaderSettings) -> float:
        assert self.profile is not None
        if not settings.num_workers:
            return 1.0
        plain = [known for known in self.trials if known.num_workers and known.in_order == settings.in_order]
        plain = plain or [known for known in self.trials if known.num_workers]
        near = min(plain, key=lambda known: abs(math.log(known.num_workers / settings.num_workers)))
        return rate_of(self.trials[near], self.profile) / predicted_rate(self.profile, near)

    def rate(self, settings: LoaderSettings) -> float:
        """Samples per second: as measured, else as predicted."""
        assert self.profile is not None
        if settings in self.trials:
            return rate_of(self.trials[settings], self.profile)
        twin = replace(settings, persistent_workers=not settings.persistent_workers)
        if twin in self.trials and self.trials[twin].steady:
            return rate_of(self.trials[twin], self.profile, settings)
        return self.predicted(settings)

    def is_measured(self, settings: LoaderSettings) -> bool:
        """Whether a rate follows from measurements of these settings."""
        twin = replace(settings, persistent_workers=not settings.persistent_workers)
        known = settings in self.trials or (twin in self.trials and self.trials[twin].steady)
        return known or not settings.num_workers

    def choose(self, numbers: list[int]) -> LoaderSettings:
        """The fewest workers that keep up with the step, else those that come within reach of the best."""
        rates = {number: self.rate(self.settings(number)) for number in numbers}
        keeping = [number for number in numbers if self.keeps_up(self.settings(number))]
        if keeping:
            return self.settings(min(keeping))
        best = max(rates.values())
        return self.settings(min(number for number in numbers if rates[number] >= (1 - WORTHWHILE_GAIN) * best))

    def keeps_up(self, settings: LoaderSettings) -> bool:
        """Whether a training step need not wait; without workers it waits while each batch is made."""
        if self.step_seconds is None or self.profile is None:
            return False
        spent = self.profile.samples_per_batch / self.rate(settings)
        return spent <= self.step_seconds * (_WAITED if settings.num_workers == 0 else _KEEPS_UP)

    @property
    def chosen(self) -> LoaderSettings:
        """The best number of workers of those that were measured."""
        if self.profile is None:
            return LoaderSettings()
        return self.choose(self.measured_numbers)

    @property
    def measured_numbers(self) -> list[int]:
        return [number for number in self.numbers if self.is_measured(self.settings(number))]

    def promising(self, chosen: LoaderSettings) -> list[LoaderSettings]:
        """Settings beside the number of workers that are predicted to be worth it: they even out uneven batches."""
        assert self.profile is not None
        plain = period(self.profile, chosen)
        deeper = [replace(chosen, prefetch_factor=each) for each in _PREFETCHED if each > chosen.prefetch_factor]
        found = [each for each in deeper if period(self.profile, each) < (1 - WORTHWHILE_GAIN) * plain][:1]
        if "in_order" in vars(self.loader) and chosen.in_order:
            free = replace(chosen, in_order=False)
            found += [free] if period(self.profile, free) < (1 - 2 * WORTHWHILE_GAIN) * plain else []
        return found
