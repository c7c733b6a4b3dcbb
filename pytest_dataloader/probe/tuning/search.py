"""The search for a loader's best settings: one profile, predictions, and measurements of the best few."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pytest_dataloader.errors import NotMeasured
from pytest_dataloader.probe.host import capacity, clocks
from pytest_dataloader.probe.internals import torch_private
from pytest_dataloader.probe.loader.settings import Settings, reads_in_batches, settings_of
from pytest_dataloader.probe.tuning import batches
from pytest_dataloader.probe.tuning.prediction import Profile, period, rate
from pytest_dataloader.probe.tuning.trial import Alone, Trial, measure_alone, measure_trial, profile_of, rate_of

if TYPE_CHECKING:
    from collections.abc import Callable

WORTH = 0.05
"""The fewest workers that come within this share of the best are chosen."""
_WORKERS = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
_LEAST_TRIED = 8
"""Workers that wait need no CPU, so so many are tried on any machine."""
_PREFETCHED = (4, 8)
_PROFILE_SHARE = 0.13
_TRIAL_SHARE = 0.13
"""Of the budget. Profile (two parts), four trials and their start-ups fill it."""
_LAST_TRIAL = 0.65
"""No trial of another number of workers begins once this share of the budget is spent."""
_LEAST_TRIALS = 2
"""However slow the loader is, one number of workers is tried beside the first."""
_NEIGHBOUR = 0.9
"""A neighbour of the choice is measured where it is predicted to reach this share of it."""
_FLUKE = 0.6
"""A trial on a busy machine that gave less than this share of what was predicted is repeated, and the better one
counts: neighbours only ever make a loader slower. Beside other jobs, one trial in about ten gave a third or less."""
_BURST = 1.5
"""Workers together are not this many times faster than as many loaders without workers."""
_LONGER = 3.0
_LEAST_SECONDS = 0.25
_KEEPS_UP = 0.9
"""Share of a step in which workers must have a batch ready, so that uneven ones do not hold it up."""
_WAITED = 0.05
"""Share of a step that loading without workers may take."""
_ROOM = 0.5
"""Share of the free shared memory, and of the free memory, that workers may fill."""


@dataclass(slots=True)
class Search:
    """What is known so far. ``told`` hears of progress, ``known`` is called when there is more to know."""

    loader: Any
    seconds: float
    told: Callable[[str, float], None]
    known: Callable[[], None] = lambda: None
    step_seconds: float | None = None
    """What a training step takes; None for a consumer that takes batches as fast as they come."""

    alone: Alone | None = None
    unbatched: Alone | None = None
    """Read sample by sample, where the dataset has ``__getitems__``."""
    profile: Profile | None = None
    crowding: float = 1.0
    trials: dict[Settings, Trial] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    numbers: list[int] = field(default_factory=lambda: [0, 1])
    """Of workers that are considered."""
    complete: bool = False
    _began: float = field(default_factory=time.monotonic)

    @property
    def spent_seconds(self) -> float:
        return time.monotonic() - self._began

    @property
    def now(self) -> Settings:
        """The loader's settings as they are."""
        return settings_of(self.loader)

    def settings(self, number: int) -> Settings:
        """So many workers that persist; what else the loader was given stays."""
        if not number:
            return Settings()
        return replace(self.now, num_workers=number, persistent_workers=True)

    def run(self) -> None:
        """Search until the answer is found or the budget is spent. Raises EmptyLoader, and what the loader raises."""
        self.alone = measure_alone(self.loader, _PROFILE_SHARE * self.seconds, self._came("without workers"))
        self.known()
        if reads_in_batches(self.loader.dataset):
            self.unbatched = measure_alone(
                self.loader, _PROFILE_SHARE / 2 * self.seconds, self._came("sample by sample"), batched=False
            )
        if not self._profile():
            return
        most = self._most_workers()
        if self._repeats_data():
            most = 1
        self._verify([number for number in _WORKERS if number <= most])
        if self.chosen.num_workers and self.alone.cpu_seconds > self.alone.waiting_seconds:
            self._look_again()
        self._refine()
        self.complete = True

    def _came(self, what: str) -> Callable[[float], None]:
        return lambda _spent: self.told(what, min(1.0, self.spent_seconds / self.seconds))

    def _profile(self) -> bool:
        """Run one worker; False where the loader can have none."""
        assert self.alone is not None
        self.crowding = capacity.crowding()
        single = self._try(self.settings(1), _PROFILE_SHARE)
        if single is None:
            return False
        self.profile = profile_of(self.alone, single, cpus=clocks.cpus_allowed(), crowding=self.crowding)
        self.known()
        return True

    def _look_again(self) -> None:
        """Measure the loader without workers once more, before workers are recommended for what only computes.

        It came first, in a process whose caches and heap were cold, and that makes a loader only slower: copies of a
        megabyte gave 3,000 to 12,000 samples/s in 30 runs, and in one of 24 less than workers could pass on.
        """
        assert self.alone is not None
        again = measure_alone(self.loader, _PROFILE_SHARE * self.seconds, self._came("without workers, again"))
        if again.cpu_seconds < self.alone.cpu_seconds:
            single = self.trials[self.settings(1)]
            self.alone = again
            self.profile = profile_of(again, single, cpus=clocks.cpus_allowed(), crowding=self.crowding)
            self.known()

    def _try(self, settings: Settings, share: float = _TRIAL_SHARE) -> Trial | None:
        """Measure settings, once; None where the loader cannot have them."""
        if settings not in self.trials:
            seconds = max(_LEAST_SECONDS, share * self.seconds)
            try:
                trial = self._measure(settings, seconds)
            except NotMeasured as error:
                self.notes.append(str(error))
                return None
            except Exception as error:
                # Without workers the loader works: whatever this is, workers bring it.
                if self.now.num_workers:
                    raise
                first = (str(error).strip().splitlines() or [""])[0]
                self.notes.append(f"workers cannot be had: {type(error).__name__}: {first}")
                return None
            self.trials[settings] = trial
            if self.profile is not None:
                self.known()
        return self.trials[settings]

    def _measure(self, settings: Settings, seconds: float) -> Trial:
        """A trial, repeated where it cannot be: as slow as only neighbours make it, or faster than all its workers."""
        trial = measure_trial(self.loader, settings, seconds, self._came(settings.text))
        if self._is_burst(trial):
            return measure_trial(self.loader, settings, _LONGER * seconds, self._came(settings.text))
        if self._is_fluke(trial):
            again = measure_trial(self.loader, settings, seconds, self._came(settings.text))
            return trial if self._is_burst(again) else max(trial, again, key=lambda each: each.samples_per_second)
        return trial

    def _is_burst(self, trial: Trial) -> bool:
        """Whether it gave more than its workers can make: what it had in store."""
        assert self.alone is not None
        alone = self.alone.samples_per_batch * len(self.alone.batch_seconds) / sum(self.alone.batch_seconds)
        return trial.samples_per_second > _BURST * max(1, trial.settings.num_workers) * alone

    def _is_fluke(self, trial: Trial) -> bool:
        if self.profile is None or not trial.disturbances:
            return False
        return rate_of(trial, self.profile) < _FLUKE * self.rate(trial.settings)

    def _most_workers(self) -> int:
        """As many as are worth trying and fit into memory."""
        single = self.trials[self.settings(1)]
        most = max(_LEAST_TRIED, 2 * int(clocks.cpus_allowed()))
        first = batches.first_batches(self.loader, Settings())
        batch = max((batches.size_bytes(each) for each in first), default=0)
        shared = capacity.shared_memory_bytes()
        for need, room, what in (
            (batch * self.now.prefetch_factor, shared, "their batches do not fit into /dev/shm"),
            (single.worker_bytes, capacity.available_bytes(), "they do not fit into memory"),
        ):
            if room is not None and need * most > _ROOM * room:
                most = max(1, int(_ROOM * room / need))
                self.notes.append(f"no more than {most} workers were tried: {what}")
        return most

    def _repeats_data(self) -> bool:
        """Whether every worker would give the same samples: an IterableDataset that does not share them out."""
        if not torch_private.reads_by_iteration(self.loader):
            return False
        first = batches.first_batches(self.loader, Settings(2))
        if len(first) < 2 or not batches.same(*first):
            return False
        self.notes.append("DL405: each worker gives the same samples, so more of them would only repeat the data")
        return True

    def predicted(self, settings: Settings) -> float:
        """Samples per second, by the profile and by how far it was off for the nearest number of workers measured."""
        assert self.profile is not None
        return rate(self.profile, settings) * self._correction(settings)

    def _correction(self, settings: Settings) -> float:
        assert self.profile is not None
        if not settings.num_workers:
            return 1.0
        plain = [known for known in self.trials if known.num_workers and known.in_order == settings.in_order]
        plain = plain or [known for known in self.trials if known.num_workers]
        near = min(plain, key=lambda known: abs(math.log(known.num_workers / settings.num_workers)))
        return rate_of(self.trials[near], self.profile) / rate(self.profile, near)

    def rate(self, settings: Settings) -> float:
        """Samples per second: as measured, else as predicted."""
        assert self.profile is not None
        if settings in self.trials:
            return rate_of(self.trials[settings], self.profile)
        twin = replace(settings, persistent_workers=not settings.persistent_workers)
        if twin in self.trials and self.trials[twin].steady:
            return rate_of(self.trials[twin], self.profile, settings)
        return self.predicted(settings)

    def is_measured(self, settings: Settings) -> bool:
        """Whether a rate follows from measurements of these settings."""
        twin = replace(settings, persistent_workers=not settings.persistent_workers)
        known = settings in self.trials or (twin in self.trials and self.trials[twin].steady)
        return known or not settings.num_workers

    def choose(self, numbers: list[int]) -> Settings:
        """The fewest workers that keep up with the step, else those that come within reach of the best."""
        rates = {number: self.rate(self.settings(number)) for number in numbers}
        keeping = [number for number in numbers if self.keeps_up(self.settings(number))]
        if keeping:
            return self.settings(min(keeping))
        best = max(rates.values())
        return self.settings(min(number for number in numbers if rates[number] >= (1 - WORTH) * best))

    def keeps_up(self, settings: Settings) -> bool:
        """Whether a training step need not wait; without workers it waits while each batch is made."""
        if self.step_seconds is None or self.profile is None:
            return False
        spent = self.profile.samples_per_batch / self.rate(settings)
        return spent <= self.step_seconds * (_WAITED if settings.num_workers == 0 else _KEEPS_UP)

    def _verify(self, numbers: list[int]) -> None:
        """Measure the choice and its neighbours until the choice is a measured one, between measured ones."""
        self.numbers = numbers
        while self.spent_seconds < _LAST_TRIAL * self.seconds or len(self.trials) < _LEAST_TRIALS:
            chosen = self.choose(numbers)
            at = numbers.index(chosen.num_workers)
            near = [
                chosen,
                *(self.settings(number) for number in (*numbers[at + 1 : at + 2], *numbers[max(0, at - 1) : at])),
            ]
            wanted = [
                settings
                for settings in near
                if not self.is_measured(settings) and self.rate(settings) >= _NEIGHBOUR * self.rate(chosen)
            ]
            if not wanted or self._try(wanted[0]) is None:
                break

    @property
    def chosen(self) -> Settings:
        """The best number of workers of those that were measured."""
        if self.profile is None:
            return Settings()
        return self.choose([number for number in self.numbers if self.is_measured(self.settings(number))])

    def _refine(self) -> None:
        """Measure what the choice is compared with, and other settings that promise something."""
        if not self.is_measured(self.now):
            self._try(self.now, _TRIAL_SHARE / 2)
        chosen = self.chosen
        if not chosen.num_workers:
            return
        without = replace(chosen, persistent_workers=False)
        if not self.is_measured(without):
            self._try(without, _TRIAL_SHARE / 2)
        for other in self.promising(chosen):
            self._try(other)

    def promising(self, chosen: Settings) -> list[Settings]:
        """Settings beside the number of workers that are predicted to be worth it: they even out uneven batches."""
        assert self.profile is not None
        plain = period(self.profile, chosen)
        deeper = [replace(chosen, prefetch_factor=each) for each in _PREFETCHED if each > chosen.prefetch_factor]
        found = [each for each in deeper if period(self.profile, each) < (1 - WORTH) * plain][:1]
        if "in_order" in vars(self.loader) and chosen.in_order:
            free = replace(chosen, in_order=False)
            found += [free] if period(self.profile, free) < (1 - 2 * WORTH) * plain else []
        return found
