"""The search for a loader's best settings: a ladder of trials, and a closer look where it is close."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pytest_dataloader.errors import NotMeasured
from pytest_dataloader.probe.host import capacity, clocks
from pytest_dataloader.probe.internals import torch_private, worker_errors
from pytest_dataloader.probe.loader.settings import LoaderSettings, reads_in_batches
from pytest_dataloader.probe.tuning import batches
from pytest_dataloader.probe.tuning.estimates import WORTHWHILE_GAIN, Estimates
from pytest_dataloader.probe.tuning.trial import (
    LEAST_SECONDS,
    ROOM,
    Alone,
    Trial,
    first_batches,
    measure_alone,
    measure_trial,
    rate_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST_WORKERS = 32
_LEAST_TRIED = 8
"""Workers that wait need no CPU, so so many are tried on any machine."""
_FIRST_SHARE = 0.13
"""Of the budget, for the loader without workers and with one."""
_TRIAL_SHARE = 0.1
"""Of the budget, for each further trial."""
_LAST_TRIAL = 0.65
_LAST_CLIMB = 3.0
"""No trial of another number of workers begins once this share of the budget is spent, or this one while each trial is
faster: a ladder that ended at the first share told 2 and 4 workers where 8 gave two and four times as much."""
_IDLE = 2
"""So many numbers of workers in turn that bring nothing end the ladder. By their rates, not by the intervals: on a busy
machine these reached to three to seven times the rate, where trials of one number differed by a fifth."""
_CLOSE = 0.75
"""What gave this share of the best rate is looked at again before it is passed over."""
_ROUNDS = 2
"""With the first, three looks, of which the best counts: a cold start, neighbours and slow spells of the host only ever
make a loader slower. In one minute, trials of 0.65 s gave 3,800 to 6,800 samples/s without workers and 4,600 to 6,400
with two; the best of three 5,700 to 6,800 and 5,100 to 6,400 (benchmarks/tune_looks.py)."""
_FULL = 0.85
"""Share of the budget that looking again may fill; the last comparisons need the rest."""
_FLUKE = 0.6
"""A trial on a busy machine that gave less than this share of what fewer workers gave is repeated, and the better one
counts: neighbours only ever make a loader slower. Beside other jobs, one trial in about ten gave a third or less."""
_BURST = 1.5
"""Workers together are not this many times faster than as many loaders without workers."""
_LONGER = 3.0


def _nobody_listens(_what: str, _spent: float) -> None:
    pass


@dataclass(slots=True)
class Search(Estimates):
    """What is known so far. ``told`` hears of progress, ``known`` is called when there is more to know."""

    seconds: float = 5.0
    told: Callable[[str, float], None] = _nobody_listens
    known: Callable[[], None] = lambda: None
    unbatched: Alone | None = None
    """Read sample by sample, where the dataset has ``__getitems__``."""
    notes: list[str] = field(default_factory=list)
    complete: bool = False
    _began: float = field(default_factory=time.monotonic)

    @property
    def spent_seconds(self) -> float:
        return time.monotonic() - self._began

    def run(self) -> None:
        """Search until the answer is found or the budget is spent.

        Raises EmptyEpoch, NothingSeen, and what the loader raises.
        """
        self._look_alone(_FIRST_SHARE * self.seconds)
        if reads_in_batches(self.loader.dataset):
            self.unbatched = measure_alone(
                self.loader, _FIRST_SHARE / 2 * self.seconds, self._came("sample by sample"), batched=False
            )
        if self._try(self.settings(1), _FIRST_SHARE) is None:
            return
        self._climb(1 if self._repeats_data() else self._most_workers())
        self._measure_again()
        self._refine()
        self.complete = True

    def _came(self, what: str) -> Callable[[float], None]:
        return lambda _spent: self.told(what, min(1.0, self.spent_seconds / self.seconds))

    def _look_alone(self, seconds: float) -> None:
        self._found(measure_alone(self.loader, seconds, self._came("without workers")))

    def _found(self, look: Alone | Trial) -> None:
        """Take the best of all looks at these settings for what they give."""
        if isinstance(look, Trial):
            known = self.trials.get(look.settings)
            if known is None or look.samples_per_second > known.samples_per_second:
                self.trials[look.settings] = look
        elif self.alone is None or look.samples_per_second > self.alone.samples_per_second:
            self.alone = look
        self.known()

    def _measure_again(self) -> None:
        """Look in turn, with what is left of the budget, at the numbers of workers between which it was close.

        And at none before any are recommended for what only computes: that look came first, to a process whose caches
        and heap were cold. Copies of a megabyte gave 3,000 to 12,000 samples/s in 30 runs, and in one of 24 less than
        workers could pass on.
        """
        for turn in range(_ROUNDS):
            numbers = self._close()
            starts = sum(self.trials[self.settings(number)].first_seconds for number in numbers if number)
            left = _FULL * self.seconds - self.spent_seconds - starts
            if left < LEAST_SECONDS * len(numbers):
                numbers = [number for number in numbers if not number and not turn]
            each = max(LEAST_SECONDS, min(_TRIAL_SHARE * self.seconds, left / max(1, (_ROUNDS - turn) * len(numbers))))
            for number in reversed(numbers) if turn % 2 else numbers:
                if number:
                    self._look(self.settings(number), each)
                else:
                    self._look_alone(each)

    def _close(self) -> list[int]:
        """The numbers of workers between which it is to be settled; none where another look could change nothing."""
        assert self.alone is not None
        rates = {number: self.rate(self.settings(number)) for number in self.measured_numbers}
        chosen = self.chosen.num_workers
        close = {chosen}
        if self.step_seconds is None:
            most = max((number for number in rates if number), key=lambda number: rates[number])
            close |= {number for number in (0, most) if rates[number] >= _CLOSE * max(rates.values())}
        if chosen and self.alone.cpu_seconds > self.alone.waiting_seconds:
            close.add(0)
        return sorted(close) if len(close) > 1 else []

    def _try(self, settings: LoaderSettings, share: float = _TRIAL_SHARE) -> Trial | None:
        """Measure settings, once; None where that gives no rate."""
        if settings not in self.trials:
            self._look(settings, max(LEAST_SECONDS, share * self.seconds))
        return self.trials.get(settings)

    def _look(self, settings: LoaderSettings, seconds: float) -> None:
        """Measure settings; where that gives no rate and no earlier look did, note why."""
        try:
            self._found(self._measure(settings, seconds))
        except NotMeasured as error:
            if settings not in self.trials:
                self.notes.append(str(error))
        except Exception as error:
            # Without workers the loader works: whatever this is, workers bring it.
            if self.now.num_workers:
                raise
            self.notes.append(f"workers cannot be had: {worker_errors.told(error)}")

    def _measure(self, settings: LoaderSettings, seconds: float) -> Trial:
        """A trial, repeated where it cannot be: as slow as only neighbours make it, or faster than all its workers.

        Raises NotMeasured where the longer trial is faster than its workers too, neighbours disturbed it, and another
        look without workers is no faster: where none did, it was that look that was too slow.
        """
        trial = measure_trial(self.loader, settings, seconds, self._came(settings.text))
        if self._is_burst(trial):
            trial = measure_trial(self.loader, settings, _LONGER * seconds, self._came(settings.text))
            if self._is_burst(trial) and trial.disturbances:
                self._look_alone(seconds)
                if self._is_burst(trial):
                    more = f"with {settings.text} more came than its workers can make"
                    raise NotMeasured(f"{more}: the machine was too busy")
            return trial
        if self._is_fluke(trial):
            again = measure_trial(self.loader, settings, seconds, self._came(settings.text))
            return trial if self._is_burst(again) else max(trial, again, key=lambda each: each.samples_per_second)
        return trial

    def _is_burst(self, trial: Trial) -> bool:
        """Whether it gave more than its workers can make: what it had in store."""
        assert self.alone is not None
        return trial.samples_per_second > _BURST * max(1, trial.settings.num_workers) * self.alone.samples_per_second

    def _is_fluke(self, trial: Trial) -> bool:
        assert self.alone is not None
        fewer = [number for number in self.measured_numbers if 0 < number < trial.settings.num_workers]
        if not fewer or not trial.disturbances or not (trial.steady or trial.settings.persistent_workers):
            return False
        persistent = replace(trial.settings, persistent_workers=True)
        return rate_of(trial, self.alone, persistent) < _FLUKE * self.rate(self.settings(fewer[-1]))

    def _most_workers(self) -> int:
        """As many as are worth trying and fit into memory."""
        single = self.trials[self.settings(1)]
        most = min(_MOST_WORKERS, max(_LEAST_TRIED, 2 * int(clocks.cpus_allowed())))
        shared = capacity.shared_memory_bytes()
        for need, room, what in (
            (single.batch_bytes * self.now.prefetch_factor, shared, "their batches do not fit into /dev/shm"),
            (single.worker_bytes, capacity.available_bytes(), "they do not fit into memory"),
        ):
            if room is not None and need * most > ROOM * room:
                most = max(1, int(ROOM * room / need))
                self.notes.append(f"no more than {most} workers were tried: {what}")
        return most

    def _repeats_data(self) -> bool:
        """Whether every worker would give the same samples: an IterableDataset that does not share them out."""
        if not torch_private.reads_by_iteration(self.loader):
            return False
        first = first_batches(self.loader, LoaderSettings(2))
        if len(first) < 2 or not batches.same(*first):
            return False
        self.notes.append("DL405: each worker gives the same samples, so more of them would only repeat the data")
        return True

    def _climb(self, most: int) -> None:
        """Try twice as many workers at a time, until two numbers in turn bring nothing, or what keeps up is found.

        It ends, too, where workers that help each other in full could not reach the loader without any. Once its share
        of the budget is spent it goes on only while each trial is faster than all before it; two workers are tried
        however slow the loader is.
        """
        none, best, number, idle = self.rate(LoaderSettings()), self.rate(self.settings(1)), 1, 0
        while number < most and idle < _IDLE and best * most / number > none and not self.keeps_up(self.chosen):
            if self.spent_seconds >= (_LAST_TRIAL if idle else _LAST_CLIMB) * self.seconds and number > 1:
                break
            number = min(2 * number, most)
            if self._try(self.settings(number)) is None:
                break
            rate = self.rate(self.settings(number))
            idle = 0 if rate > (1 + WORTHWHILE_GAIN) * best else idle + 1
            best = max(best, rate)

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
            if self.spent_seconds < self.seconds:
                self._try(other)
