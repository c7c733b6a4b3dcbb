"""Stretches of steady loading, and what they say about the loader without its neighbours; pure."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_dataloader.probe.host.interference import QUIET, Quietness

if TYPE_CHECKING:
    from collections.abc import Sequence

_WAITS_FOR_WORKERS = 0.2
"""A consumer that is blocked for this share of the time is held up by the workers, below it by itself."""

_ATTAINABLE = 0.9
"""Share of the CPUs that a loader with workers uses when it is alone: 2 workers on 2 CPUs used 0.86 to 0.89 (Python),
0.85 to 0.90 (memory copies), 0.94 to 0.96 (JPEG), 0.76 to 0.86 (tiny tensors)."""
MOST_SLOWDOWN = 3.0
"""Times as much as alone, at most, that a sample costs beside others, for caches and context switches: CPU time of 5
kinds of loader with 0 and 2 workers beside 0, 4 and 14 busy loops, over that with real-time priority, was 0.8 to 1.8 in
27 of 30 cases; 2.0 (JPEG), 2.4 and 3.1 (copies of a megabyte) in the others. In benchmarks/rate_coverage.py beside 0 to
14 loops it was 1.1 to 1.6 in the median of ten loaders and 1.8 to 3.6 in one of ten; with 2.0 the interval held the
truth in 71 of 77 runs, with 3.0 in 75."""
_MOST_SPREAD = math.log(2.0)
"""A single window says little, between half and twice; several windows say no less, whatever they differ by."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """Running totals at one moment. Delays are run-queue delays; 0 where the system does not tell."""

    wall_ns: int
    consumer_cpu_ns: int
    consumer_delay_ns: int
    main_cpu_ns: int
    worker_cpu_ns: int
    worker_delay_ns: int
    """Mean over the workers, of the thread that fetches and collates."""
    busy_ns: int
    """CPU time of everybody on the CPUs that this process may use."""
    threads_delay_ns: int = 0
    """Sum over all threads of all workers."""
    steal_ns: int = 0
    throttled_ns: int = 0
    ready: int = 0
    """Batches made and not yet handed out."""
    waited_ns: int = 0
    """What a consumer that takes its time waited for batches."""


@dataclass(frozen=True, slots=True)
class Window:
    """One or more stretches between two stamps; nanoseconds."""

    batches: float
    """Made in the window: handed out, plus what the queue gained, minus what it lost."""
    samples: float
    wall_ns: int
    consumer_cpu_ns: int
    consumer_delay_ns: int
    main_cpu_ns: int
    worker_cpu_ns: int
    worker_delay_ns: int
    busy_ns: int
    steal_ns: int
    throttled_ns: int
    threads_delay_ns: int = 0
    starting_ns: int = 0
    """Spent on starting epochs, up to their first batch, where the window holds whole epochs."""
    stretches: int = 1
    handed: int = 0
    """Batches handed out."""
    waited_ns: int = 0

    @property
    def own_cpu_ns(self) -> int:
        """CPU time of the main process and its workers."""
        return self.main_cpu_ns + self.worker_cpu_ns

    @property
    def others_cpu_ns(self) -> int:
        """CPU time that everybody else took on our CPUs."""
        return max(0, self.busy_ns - self.own_cpu_ns)


def stretch(start: Stamp, end: Stamp, *, batches: int, samples: int, starting_ns: int = 0) -> Window:
    """The window between two stamps in which ``batches`` were handed out.

    A prefetching loader that was not asked for a while hands out what it has in store, many times faster than
    it makes it; so what counts is what was made.
    """
    made = max(0.0, batches + end.ready - start.ready)
    return Window(
        batches=made,
        samples=samples * made / batches if batches else 0.0,
        wall_ns=end.wall_ns - start.wall_ns,
        consumer_cpu_ns=end.consumer_cpu_ns - start.consumer_cpu_ns,
        consumer_delay_ns=end.consumer_delay_ns - start.consumer_delay_ns,
        main_cpu_ns=end.main_cpu_ns - start.main_cpu_ns,
        worker_cpu_ns=end.worker_cpu_ns - start.worker_cpu_ns,
        worker_delay_ns=end.worker_delay_ns - start.worker_delay_ns,
        busy_ns=end.busy_ns - start.busy_ns,
        threads_delay_ns=end.threads_delay_ns - start.threads_delay_ns,
        steal_ns=end.steal_ns - start.steal_ns,
        throttled_ns=end.throttled_ns - start.throttled_ns,
        starting_ns=starting_ns,
        handed=batches,
        waited_ns=end.waited_ns - start.waited_ns,
    )


def join(windows: Sequence[Window]) -> Window:
    """The sum of windows."""
    names = Window.__dataclass_fields__
    return Window(**{name: sum(getattr(window, name) for window in windows) for name in names})


def lost_ns(window: Window, *, workers: int, cpus: float) -> float:
    """Time that the bottleneck was kept waiting for a CPU by others; never more than is certain.

    Without workers it is the consuming thread's run-queue delay, less the part that other threads of its own
    process took. With workers it is that of the process that holds the others up, and where the loader
    itself can fill the machine no more than the share of the machine that others took.
    """
    if workers == 0:
        rivals = max(0, window.main_cpu_ns - window.consumer_cpu_ns)
        others = window.others_cpu_ns
        return window.consumer_delay_ns * (others / (others + rivals) if rivals else 1.0)
    awake = window.wall_ns - window.consumer_delay_ns
    held_up_by_workers = awake - window.consumer_cpu_ns >= _WAITS_FOR_WORKERS * awake
    lost = float(window.worker_delay_ns if held_up_by_workers else window.consumer_delay_ns)
    if workers + 1 >= cpus:
        lost = min(lost, window.others_cpu_ns / cpus)
    return max(0.0, lost)


def service_ns(window: Window, *, workers: int, cpus: float) -> float:
    """Time that the window would have taken without neighbours; at least what its CPU time needs on all our CPUs."""
    lost = lost_ns(window, workers=workers, cpus=cpus)
    return _without(window, lost, cpus=_ATTAINABLE * cpus if workers else cpus)


def least_service_ns(window: Window, *, workers: int, cpus: float, delays_known: bool) -> float:
    """The shortest time that it can have been without neighbours, who make the CPU time itself dearer too.

    Processes that hand batches to each other may have waited for CPUs one after the other, each while the rest had
    nothing to do; but somebody else ran all that time.
    """
    service = service_ns(window, workers=workers, cpus=cpus)
    delays = window.consumer_delay_ns + window.threads_delay_ns
    most = min(delays, window.others_cpu_ns) if delays_known else window.others_cpu_ns
    return min(service, _without(window, most, cpus=cpus)) / MOST_SLOWDOWN


def _without(window: Window, lost_ns: float, *, cpus: float) -> float:
    needed = max(window.own_cpu_ns / cpus, float(window.consumer_cpu_ns), 1.0)
    return min(float(window.wall_ns), max(window.wall_ns - lost_ns, needed))


def quietness_of_windows(
    windows: Sequence[Window], speeds: Sequence[int], *, workers: int, cpus: float, delays_known: bool
) -> Quietness:
    """How quiet the machine was over the windows; ``speeds`` are the times of the calibration kernel."""
    whole = join(windows)
    wall = max(1, whole.wall_ns)
    served = service_ns(whole, workers=workers, cpus=cpus)
    return Quietness(
        delays_known=delays_known,
        lost_share=1 - served / wall if windows else 0.0,
        others_share=min(1.0, whole.others_cpu_ns / wall / cpus),
        own_share=min(1.0, whole.own_cpu_ns / wall / cpus),
        steal_share=whole.steal_ns / wall / cpus,
        throttled_share=whole.throttled_ns / wall,
        cpu_slowdown=statistics.median(speeds) / max(1, min(speeds)) if speeds else 1.0,
    )


@dataclass(frozen=True, slots=True)
class Spread:
    """A figure over all windows, its 95 % interval, and its best window."""

    mean: float
    low: float
    high: float
    best: float


def window_rates(windows: Sequence[Window], *, workers: int, cpus: float) -> list[float]:
    """Samples per second of each window, without the neighbours."""
    return [window.samples / service_ns(window, workers=workers, cpus=cpus) * 1e9 for window in windows]


def measured_rate(windows: Sequence[Window], *, workers: int, cpus: float, machine: Quietness = QUIET) -> Spread:
    """Samples per second, without the neighbours.

    The interval holds the spread between the windows, or where the machine was busy what others can have cost at most
    if that is more, and the batches that the workers had half done at either end of a stretch, which no clock sees.
    """
    if not windows:
        return Spread(0.0, 0.0, 0.0, 0.0)
    each = window_rates(windows, workers=workers, cpus=cpus)
    whole = join(windows)
    service = least = service_ns(whole, workers=workers, cpus=cpus)
    if machine.disturbances:
        least = least_service_ns(whole, workers=workers, cpus=cpus, delays_known=machine.delays_known)
    unseen = half_done(whole, workers)
    factor = math.exp(_half_width(each))
    mean, most = whole.samples / service * 1e9, whole.samples / least * 1e9
    return Spread(mean, mean / factor * max(0.0, 1 - unseen), max(mean * factor, most) * (1 + unseen), max(each))


def cpu_ms_per_sample(windows: Sequence[Window]) -> Spread:
    """CPU time of the main process and the workers, in milliseconds per sample."""
    each = [window.own_cpu_ns / window.samples / 1e6 for window in windows if window.samples]
    if not each:
        return Spread(0.0, 0.0, 0.0, 0.0)
    whole = join(windows)
    mean = whole.own_cpu_ns / whole.samples / 1e6
    factor = math.exp(_half_width(each))
    return Spread(mean, mean / factor, mean * factor, min(each))


def half_done(window: Window, workers: int) -> float:
    """Share of the batches that may have been made outside: two standard deviations of uniform remainders."""
    if not workers or not window.batches:
        return 0.0
    return 2 * math.sqrt(window.stretches * workers / 6) / window.batches


_STUDENT = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23)
"""97.5 % points of Student's t for 1 to 10 degrees of freedom."""


def half_width(values: Sequence[float]) -> float:
    """Half the 95 % interval of the mean of two values or more."""
    return _STUDENT[min(len(values) - 2, 9)] * statistics.stdev(values) / math.sqrt(len(values))


def _half_width(values: Sequence[float]) -> float:
    """Half the 95 % interval of the mean, on the logarithm."""
    logs = [math.log(value) for value in values if value > 0]
    return min(_MOST_SPREAD, half_width(logs)) if len(logs) > 1 else _MOST_SPREAD
