"""The rows of a tuning table: from no workers to the settings found, one change at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from pytest_dataloader.probe.host.clocks import cpus_allowed
from pytest_dataloader.probe.internals.torch_private import reads_by_iteration
from pytest_dataloader.probe.loader.settings import LoaderSettings, reads_in_batches
from pytest_dataloader.probe.tuning.estimates import WORTHWHILE_GAIN
from pytest_dataloader.probe.tuning.trial import Alone, rate_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_dataloader.probe.tuning.search import Search

RateSource = Literal["measured", "at most"]
_LITTLE = 0.02
"""Keeping workers alive costs memory between epochs: below this gain it is not worth it."""
_WAITS = 0.25
"""Share of waiting from which a dataset with ``__getitems__`` is worth mentioning."""


@dataclass(frozen=True, slots=True)
class LadderRow:
    """One line: ``change`` is what it adds to the line above it."""

    change: str
    samples_per_second: float
    source: RateSource
    vs_baseline: float = 1.0
    vs_previous: float = 1.0
    """0 for the settings as they are where they are no step of the ladder."""
    now: bool = False
    """Whether these are the loader's settings as they are."""


def ladder(search: Search) -> tuple[LadderRow, ...]:
    """The rows that are known so far."""
    if search.alone is None:
        return ()
    rows: list[LadderRow] = []
    for row in _rows(search, search.alone):
        first, previous = (rows[0], rows[-1]) if rows else (row, row)
        gain = row.samples_per_second / previous.samples_per_second if row.vs_previous else 0.0
        rows.append(replace(row, vs_baseline=row.samples_per_second / first.samples_per_second, vs_previous=gain))
    return tuple(rows)


def _rows(search: Search, alone: Alone) -> Iterator[LadderRow]:
    now = search.now
    if search.unbatched is not None:
        yield LadderRow("num_workers=0, sample by sample", search.unbatched.samples_per_second, "measured")
        yield LadderRow("+ the dataset's __getitems__", alone.samples_per_second, "measured", now=not now.num_workers)
    else:
        yield LadderRow("num_workers=0", alone.samples_per_second, "measured", now=not now.num_workers)
    if not search.trials:
        return
    chosen = search.chosen
    shown = {LoaderSettings()}
    for change, settings in _steps(search, chosen):
        shown.add(settings)
        yield LadderRow(change, search.rate(settings), "measured", now=settings == now)
    if search.unbatched is None and _could_batch(search, alone):
        yield LadderRow("+ __getitems__ in the dataset", _at_once(search, alone, chosen), "at most")
    if now.num_workers and now not in shown and search.is_measured(now):
        yield LadderRow(f"as it is: {now.text}", search.rate(now), "measured", vs_previous=0.0, now=True)


def _steps(search: Search, chosen: LoaderSettings) -> Iterator[tuple[str, LoaderSettings]]:
    if not chosen.num_workers:
        tried = [settings for settings in search.trials if settings.num_workers and settings != search.now]
        best = max(tried or [search.now], key=search.rate)
        yield f"+ {best.text}", best
        return
    without = replace(chosen, persistent_workers=False)
    if search.is_measured(without):
        yield f"+ {without.text}", without
        yield "+ persistent_workers=True", chosen
    else:
        yield f"+ {chosen.text}", chosen
    for other in search.trials:
        if other == replace(chosen, prefetch_factor=other.prefetch_factor) and other != chosen:
            yield f"+ prefetch_factor={other.prefetch_factor}", other
        if other == replace(chosen, in_order=False) and other != chosen:
            yield "+ in_order=False", other


def _could_batch(search: Search, alone: Alone) -> bool:
    """Whether reading a batch at once could bring something: map-style, several samples, and these wait."""
    has_batches = getattr(search.loader, "batch_sampler", None) is not None and alone.samples_per_batch > 1
    waits = alone.waiting_seconds >= _WAITS * alone.mean_seconds
    return (
        has_batches and waits and not reads_in_batches(search.loader.dataset) and not reads_by_iteration(search.loader)
    )


def _at_once(search: Search, alone: Alone, chosen: LoaderSettings) -> float:
    """Samples per second at most, were a batch to wait once instead of once for each sample.

    Each wait costs CPU time as well, to fall asleep and to wake up; at best all of it. The main process draws indices
    and receives batches as before, and all share the CPUs.
    """
    each = alone.samples_per_batch
    making = alone.mean_seconds - alone.sampler_seconds
    spared = making * (1 - 1 / each)
    trial = search.trial_of(chosen)
    if trial is None:
        return each / (alone.mean_seconds - spared)
    computing = max(0.0, spared * (1 - alone.waiting_seconds / making))
    cpu = max(0.0, trial.worker_cpu_seconds - computing) + trial.main_cpu_seconds
    least = max(
        trial.batch_seconds - spared / chosen.num_workers, trial.batch_seconds / each,
        trial.main_cpu_seconds + alone.sampler_waiting_seconds, cpu / cpus_allowed(),
    )  # fmt: skip
    sooner = replace(alone, batch_seconds=(alone.mean_seconds - spared,))
    faster = replace(trial, batch_seconds=min(least, trial.batch_seconds), samples_per_second=each / least)
    return max(search.rate(chosen), rate_of(faster, sooner, chosen))


def recommended(search: Search) -> LoaderSettings:
    """The settings to take over; those that the loader has where others are not worth the change."""
    best, now = _best(search), search.now
    if best == now or not search.is_measured(now):
        return best
    fewer, gain = best.num_workers < now.num_workers, search.rate(best) / search.rate(now)
    if search.keeps_up(best) and not search.keeps_up(now):
        return best
    worth = 1 - WORTHWHILE_GAIN if fewer else 1 + WORTHWHILE_GAIN
    return best if gain >= worth or (fewer and search.keeps_up(best)) else now


def _best(search: Search) -> LoaderSettings:
    """All that was worth it and changes nothing about what is loaded, nor in which order."""
    chosen = search.chosen
    if not chosen.num_workers:
        return chosen
    without = replace(chosen, persistent_workers=False)
    known = search.is_measured(without) and not search.now.persistent_workers
    if known and search.rate(chosen) < (1 + _LITTLE) * search.rate(without):
        chosen = without
    for other in search.trials:
        deeper = replace(chosen, prefetch_factor=other.prefetch_factor)
        if (
            other == replace(deeper, persistent_workers=True)
            and deeper != chosen
            and search.is_measured(deeper)
            and search.rate(other) > (1 + WORTHWHILE_GAIN) * search.rate(chosen)
        ):
            return deeper
    return chosen
