"""A loader measured under given settings, and without workers."""

from __future__ import annotations

import contextlib
import functools
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_dataloader.errors import EmptyEpoch, NothingSeen, NotMeasured
from pytest_dataloader.probe.host import clocks
from pytest_dataloader.probe.internals import torch_private
from pytest_dataloader.probe.loader.borrowing import Borrowed, borrow
from pytest_dataloader.probe.loader.sampling import loaders_inside
from pytest_dataloader.probe.loader.settings import LoaderSettings
from pytest_dataloader.probe.loader.timeout import Hang, time_limit
from pytest_dataloader.probe.timing.rate_meter import RateMeter
from pytest_dataloader.probe.timing.throughput import throughput
from pytest_dataloader.probe.timing.windows import join
from pytest_dataloader.probe.tuning.batches import size_bytes
from pytest_dataloader.quantities import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_dataloader.probe.timing.evidence import Throughput
    from pytest_dataloader.probe.timing.windows import Window

_T = TypeVar("_T")

_WAIT_SECONDS = 60.0
"""A loader that gives nothing for so long hangs."""
LEAST_SECONDS = 0.25
"""A trial takes as long at least."""
ROOM = 0.5
"""Share of the free memory, and of the free shared memory, that a trial may fill."""
_LEAST_BATCHES = 3
_MOST_BATCHES = 2000
_DRAWING = 0.25
"""Share of a look's seconds that drawing indices alone may take beside it."""
_MOST_DRAWN = 200
_ENDED = object()


@dataclass(frozen=True, slots=True)
class TrialStart:
    """A loader that gave batches under some settings: what is known of it even where they were too few for a rate."""

    settings: LoaderSettings
    batches: int
    """That came."""
    first_seconds: float
    """To the first batch, workers started."""
    worker_bytes: int
    """Memory that a worker has to itself."""
    batch_bytes: int
    """Of the tensors of one batch, which is what goes through shared memory."""


@dataclass(frozen=True, slots=True)
class Trial(TrialStart):
    """A start that ran long enough for a rate, which is more than 0; without the neighbours."""

    samples_per_second: float
    """Once warm; where epochs are too short for that, over whole ones."""
    vague: bool
    """Whether the interval of the rate says nothing of it."""
    steady: bool
    batch_seconds: float
    worker_cpu_seconds: float
    main_cpu_seconds: float
    """CPU time per batch."""
    disturbances: tuple[str, ...]


@contextlib.contextmanager
def borrow_with(loader: Any, settings: LoaderSettings, *, pin_memory: bool | None = None) -> Iterator[Borrowed]:
    """A copy of ``loader`` under other settings; raises NotMeasured where it does not take them."""

    def prepare(copy: Any) -> None:
        settings.apply(copy)
        if pin_memory is not None:
            vars(copy)["pin_memory"] = pin_memory

    with warnings.catch_warnings():
        # Trying more workers than CPUs is what this is about.
        warnings.filterwarnings("ignore", "This DataLoader will create", UserWarning)
        with borrow(loader, prepare=prepare) as borrowed:
            yield borrowed


def first_batches(loader: Any, settings: LoaderSettings) -> list[Any]:
    """The first batch, or with workers the first one of each; fewer where the epoch ends before."""
    with borrow_with(loader, settings) as borrowed:
        batches = iter(borrowed.loader)
        found = [batch for _, batch in zip(range(max(1, settings.num_workers)), batches, strict=False)]
        del batches
        return found


def measure_trial(loader: Any, settings: LoaderSettings, seconds: float, came: Callable[[float], None]) -> Trial:
    """Measure a loader under settings for about ``seconds``.

    Raises NotMeasured where too few batches came for a rate, and what ``measure_start`` raises.
    """
    found = measure_start(loader, settings, seconds, came)
    if not isinstance(found, Trial):
        came_in_all = counted(found.batches, "batch")
        raise NotMeasured(f"with {settings.text} {came_in_all} came, too few for a rate: it takes more seconds")
    return found


def measure_start(loader: Any, settings: LoaderSettings, seconds: float, came: Callable[[float], None]) -> TrialStart:
    """Measure a loader under settings for about ``seconds``: a Trial where enough batches came for a rate.

    Raises NotMeasured for a subclass that does not take them or hangs, EmptyEpoch for one without a batch.
    """
    with borrow_with(loader, settings) as borrowed:
        meter = RateMeter(borrowed, seconds)
        try:
            with time_limit(max(_WAIT_SECONDS, 4 * seconds)) as alive:

                def told(_what: str, spent: float) -> None:
                    alive()
                    came(spent)

                meter.came = told
                meter.run(lambda _seen: False)
        except Hang:
            borrowed.close(kill=True)
            raise NotMeasured(f"with {settings.text} no batch came for {_WAIT_SECONDS:.0f} s") from None
        if not meter.batches:
            raise EmptyEpoch
        if meter.workers != settings.num_workers:
            kind = type(loader).__name__
            raise NotMeasured(
                f"{kind} ran {meter.workers} workers where {settings.num_workers} were asked for: it takes "
                "its settings from elsewhere, so no others can be tried"
            )
        seen, own = throughput(meter), _unique_bytes(borrowed)
        batch_bytes = size_bytes(next_batch(borrowed))
    start = TrialStart(settings, seen.batches, seen.seconds_to_first_batch, own, batch_bytes)
    return with_rate(start, seen, join(meter.windows))


def with_rate(start: TrialStart, seen: Throughput, whole: Window) -> TrialStart:
    """A Trial of what was seen over ``whole``; the start alone where no rate was."""
    if not seen.batches_per_second:
        return start
    batches = max(1.0, whole.batches)
    return Trial(
        settings=start.settings,
        batches=start.batches,
        first_seconds=start.first_seconds,
        worker_bytes=start.worker_bytes,
        batch_bytes=start.batch_bytes,
        samples_per_second=seen.samples_per_second,
        vague=seen.vague,
        steady=seen.steady or not start.settings.num_workers,
        batch_seconds=1 / seen.batches_per_second,
        worker_cpu_seconds=whole.worker_cpu_ns / batches / 1e9,
        main_cpu_seconds=whole.main_cpu_ns / batches / 1e9,
        disturbances=seen.quietness.disturbances,
    )


def _unique_bytes(borrowed: Borrowed) -> int:
    """What the largest worker has to itself; 0 where there is none any more."""
    import psutil

    found = [0]
    for worker in borrowed.workers:
        with contextlib.suppress(psutil.Error):
            found.append(int(psutil.Process(worker.pid).memory_full_info().uss))
    return max(found)


def next_batch(borrowed: Borrowed) -> Any:
    """The batch that comes next, be it of the next epoch; None where that has none."""
    for batch in borrowed.each():
        return batch
    borrowed.begin_epoch()
    return next(borrowed.each(), None)


@dataclass(frozen=True, slots=True)
class Alone:
    """A loader without workers: what each batch took, and how much of that was waiting; seconds."""

    batch_seconds: tuple[float, ...]
    waiting_seconds: float
    """In the dataset and in the collate function."""
    sampler_seconds: float
    """Of each batch: drawing its indices."""
    sampler_waiting_seconds: float
    cpu_seconds: float
    samples_per_batch: float
    batches: int | None

    @property
    def mean_seconds(self) -> float:
        """Of a batch."""
        return sum(self.batch_seconds) / len(self.batch_seconds)

    @property
    def samples_per_second(self) -> float:
        return self.samples_per_batch / self.mean_seconds


def measure_alone(loader: Any, seconds: float, came: Callable[[float], None], *, batched: bool = True) -> Alone:
    """Pull from the loader without workers for about ``seconds``, over as many epochs as that takes.

    Raises EmptyEpoch for an epoch without a batch, NothingSeen for batches without a sample.
    """
    with borrow_with(loader, LoaderSettings(batched=batched)) as borrowed:
        borrowed.begin_epoch()
        if borrowed.pull(1)[0] == 0:
            raise EmptyEpoch
        times: list[tuple[float, float]] = []
        samples, started = 0, clocks.wall_ns()
        while len(times) < _MOST_BATCHES:
            spent = (clocks.wall_ns() - started) / 1e9 / seconds
            if spent >= 1 and len(times) >= _LEAST_BATCHES:
                break
            came(spent)
            (got, more), service, cpu = _timed(functools.partial(borrowed.pull, 1))
            if not got:
                borrowed.begin_epoch()
                continue
            samples += more
            times.append((service, cpu))
        if not samples:
            raise NothingSeen("no batch of the loader holds a sample")
        mean, cpu_seconds = _means(times)
        drawing, drawing_cpu = _drawing(borrowed, _DRAWING * seconds)
        drawing, drawing_waits = min(drawing, mean), max(0.0, drawing - drawing_cpu)
        return Alone(
            batch_seconds=tuple(service for service, _ in times),
            waiting_seconds=max(0.0, mean - cpu_seconds - drawing_waits),
            sampler_seconds=drawing,
            sampler_waiting_seconds=drawing_waits,
            cpu_seconds=cpu_seconds,
            samples_per_batch=samples / len(times),
            batches=_length(loader),
        )


def _drawing(borrowed: Borrowed, seconds: float) -> tuple[float, float]:
    """Drawing the indices of a batch, but for an epoch's first: means of its time without others', and of its CPU time.

    Not while batches are pulled: clocks in every one would cost small ones a quarter of their time.
    """
    borrowed.leave()
    loader = next(iter(loaders_inside(borrowed.loader)), borrowed.loader)
    indices = iter(torch_private.index_sampler(loader))
    next(indices, None)
    times: list[tuple[float, float]] = []
    started = clocks.wall_ns()
    while len(times) < _LEAST_BATCHES or (len(times) < _MOST_DRAWN and clocks.wall_ns() - started < 1e9 * seconds):
        drawn, service, cpu = _timed(functools.partial(next, indices, _ENDED))
        if drawn is _ENDED:
            break
        times.append((service, cpu))
    return _means(times) if times else (0.0, 0.0)


def _timed(call: Callable[[], _T]) -> tuple[_T, float, float]:
    """What a call returns, its time without others', and its CPU time; seconds."""
    delay, cpu, wall = clocks.thread_delay_ns() or 0, clocks.thread_cpu_ns(), clocks.wall_ns()
    found = call()
    wall_spent, cpu_spent = clocks.wall_ns() - wall, clocks.thread_cpu_ns() - cpu
    lost = (clocks.thread_delay_ns() or 0) - delay
    return found, max(cpu_spent, wall_spent - lost) / 1e9, cpu_spent / 1e9


def _means(times: list[tuple[float, float]]) -> tuple[float, float]:
    service, cpu = (sum(each) / len(times) for each in zip(*times, strict=True))
    return service, cpu


def _length(loader: Any) -> int | None:
    try:
        return len(loader)
    except (TypeError, NotImplementedError):  # an IterableDataset without a length
        return None


def rate_of(trial: Trial, alone: Alone, settings: LoaderSettings | None = None) -> float:
    """Samples per second of a trial over a later epoch, its start included; once warm where no epoch's length is known.

    ``settings`` may differ from the trial's in persistence, where epochs are long enough to tell start from running.
    """
    settings = settings or trial.settings
    if not (trial.steady and alone.batches and settings.num_workers):
        return trial.samples_per_second
    began = alone.mean_seconds if settings.persistent_workers else trial.first_seconds
    # Each worker makes one of the first batches, beside the others: no faster together than later on.
    first_batches = min(settings.num_workers, alone.batches)
    spent = max(began, first_batches * trial.batch_seconds) + (alone.batches - first_batches) * trial.batch_seconds
    return alone.batches * alone.samples_per_batch / spent
