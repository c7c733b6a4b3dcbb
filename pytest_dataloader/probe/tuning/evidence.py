"""The evidence of a tuning, and how it follows from what a search has found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_dataloader.probe.host.clocks import cpus_allowed
from pytest_dataloader.probe.tuning.ladder import LadderRow, ladder, recommended

if TYPE_CHECKING:
    from pytest_dataloader.probe.loader.settings import LoaderSettings
    from pytest_dataloader.probe.tuning.batch_sizes import BatchSize
    from pytest_dataloader.probe.tuning.pinning import Pinning
    from pytest_dataloader.probe.tuning.search import Search


@dataclass(frozen=True, slots=True)
class Tried:
    """Samples per second over an epoch of so many workers that persist."""

    num_workers: int
    samples_per_second: float


@dataclass(frozen=True, slots=True)
class Tuning:
    """What tuning found so far: the table, and the settings to take over."""

    recommendation: str = ""
    """The arguments as code; empty where nothing is known yet."""
    settings: LoaderSettings | None = None
    now: str = ""
    samples_per_second: float = 0.0
    """Over an epoch, under the recommended settings."""
    gain: float = 1.0
    """Times the rate of the settings as they are; 1 where these were not measured."""
    keeps_up_with_ms: float = 0.0
    """The training step that need not wait for a batch then; 0 where none was given or none keeps up."""
    rows: tuple[LadderRow, ...] = ()
    tried: tuple[Tried, ...] = ()
    """By the number of workers, none included."""
    batch_sizes: tuple[BatchSize, ...] = ()
    """Under the recommended settings, by size; fewer than two where the loader cannot have others."""
    batch_size_unclear: str = ""
    """Why no other batch size was measured."""
    pinning: tuple[Pinning, ...] = ()
    """Without ``pin_memory`` and with it; empty where there is no CUDA device."""
    notes: tuple[str, ...] = ()
    waiting_share: float = 0.0
    """Of a sample's time without workers: waiting in the dataset and in the collate function."""
    sampler_share: float = 0.0
    """Of a sample's time without workers: drawing its index, which stays in the main process."""
    cpus: float = 1.0
    disturbances: tuple[str, ...] = ()
    complete: bool = False
    measured_seconds: float = 0.0
    empty: bool = False


def tuning_of(search: Search) -> Tuning:
    """What a search has found so far."""
    alone = search.alone
    if alone is None:
        return Tuning()
    seen = Tuning(
        now=search.now.text,
        rows=ladder(search),
        notes=tuple(dict.fromkeys(search.notes)),
        waiting_share=alone.waiting_seconds / alone.mean_seconds,
        sampler_share=alone.sampler_seconds / alone.mean_seconds,
        cpus=cpus_allowed(),
        disturbances=tuple(dict.fromkeys(each for trial in search.trials.values() for each in trial.disturbances)),
        complete=search.complete,
        measured_seconds=search.spent_seconds,
    )
    if not search.trials:
        return seen
    best = recommended(search)
    return replace(
        seen,
        recommendation=best.text,
        settings=best,
        samples_per_second=search.rate(best),
        gain=search.rate(best) / search.rate(search.now) if search.is_measured(search.now) else 1.0,
        keeps_up_with_ms=1e3 * (search.step_seconds or 0.0) if search.keeps_up(best) else 0.0,
        tried=tuple(Tried(number, search.rate(search.settings(number))) for number in search.measured_numbers),
    )
