"""``monitor``: what a training waits for, in the user's own loop or in a trainer's, as it runs."""

from __future__ import annotations

import threading
import warnings
import weakref
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from pytest_dataloader import checks, loaders
from pytest_dataloader.errors import BadTarget, DataLoaderWarning, NotMeasured
from pytest_dataloader.printable import printable
from pytest_dataloader.probe.loader.sampling import loaders_inside
from pytest_dataloader.probe.loader.stream import Stream
from pytest_dataloader.probe.training.discovery import Discovery
from pytest_dataloader.probe.training.meter import Totals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_dataloader.checks.signatures import TrainingLimits
    from pytest_dataloader.probe.training.discovery import LoaderInUse
    from pytest_dataloader.probe.training.evidence import Training
    from pytest_dataloader.probe.training.meter import Meter

_Argument = TypeVar("_Argument")

_LEAST_BATCHES, _LEAST_SECONDS = 20, 5.0
"""A limit is not held to less: the first batches of a training wait for workers that start."""
_LOOK_EVERY = 20
"""Batches between two looks at the limits; one takes some 50 us."""


class Monitor:
    """Watches a loader, or all that this process iterates, while it is entered; as an iterable it is the loader's.

    Nothing of the training changes. A limit that is passed is warned of once, with the cause and what to change.
    """

    def __init__(self, loader: Any = None, **limits: Unpack[TrainingLimits]) -> None:
        self.loader = loader
        self._limits = checks.read_limits("training", limits)
        inner = None if loader is None else _dataloader_in(loader)
        every = inner is None
        wanted = [] if inner is None else [weakref.ref(each) for each in (inner, *loaders_inside(inner))]
        self._discovery = Discovery(
            wanted=lambda one: every or any(one is each() for each in wanted), found=weakly(self._watch)
        )
        self._entered = 0
        self._lock = threading.Lock()
        self._warned: set[str] = set()
        self._logged: dict[int, Totals] = {}

    def __enter__(self) -> Monitor:
        with self._lock:
            self._entered += 1
            if self._entered == 1:
                self._discovery.start()
        return self

    def __exit__(self, *_raised: object) -> None:
        with self._lock:
            self._entered -= 1
            if self._entered == 0:
                self._discovery.stop()

    def __iter__(self) -> Iterator[Any]:
        if self.loader is None:
            raise BadTarget("this monitor has no loader of its own to iterate: give it one")
        with self:
            yield from self.loader

    def __len__(self) -> int:
        return len(self.loader)

    @property
    def state(self) -> Training:
        """What was seen so far, of the loader that took the most time. Raises NotMeasured before it is iterated."""
        meters = [found.meter for found in self._discovery.loaders]
        if not meters:
            raise NotMeasured(self._discovery.unsupported or "no loader was iterated yet since the monitor was entered")
        return max(meters, key=lambda meter: meter.totals.loop_ns).evidence()

    def scalars(self, prefix: str = "dataloader/") -> dict[str, float]:
        """Figures for a logger, by name: rates and waiting since the last call, and what workers take now.

        Of the loader that took the most time since; empty where none was iterated. Shares are 0 to 1, sizes megabytes.
        """
        meters = [found.meter for found in self._discovery.loaders]
        before = {id(meter): self._logged.get(id(meter), Totals()) for meter in meters}
        self._logged = {id(meter): replace(meter.totals) for meter in meters}
        meter = max(meters, key=lambda each: each.totals.since(before[id(each)]).seconds, default=None)
        if meter is None:
            return {}
        rates = meter.totals.since(before[id(meter)])
        if not rates.batches:
            return {}
        seen = meter.evidence()
        waits = meter.totals.waits_since(before[id(meter)])
        found: dict[str, float] = {
            "input_wait": rates.input_wait,
            **{f"{stage}_wait": seconds / rates.seconds for stage, seconds in waits.items()},
            "samples_per_second": rates.samples_per_second,
            "step_ms": seen.step_ms,
            "wait_ms": seen.wait_ms,
            "descriptors": seen.descriptors,
            "shared_memory_mb": seen.segment_bytes / 1e6,
        }
        if seen.ready_share is not None:
            found["ready_share"] = seen.ready_share
        for use in seen.worker_uses:
            if use.private_bytes:  # it was read
                found[f"worker_{use.worker}/private_mb"] = use.private_bytes / 1e6
                found[f"worker_{use.worker}/growth_mb"] = use.growth_bytes / 1e6
            found[f"worker_{use.worker}/busy_share"] = use.busy_share
        return {f"{prefix}{name}": value for name, value in found.items()}

    def _watch(self, found: LoaderInUse) -> None:
        if self._limits:
            found.meter.step_hooks.append(weakly(self._hold))

    def _hold(self, meter: Meter) -> None:
        totals = meter.totals
        if totals.batches % _LOOK_EVERY or totals.batches < _LEAST_BATCHES or totals.loop_ns < _LEAST_SECONDS * 1e9:
            return
        seen = meter.evidence()
        for name, limit in self._limits.items():
            verdict = checks.judge("training", seen, limits={name: limit})
            if verdict.outcome == "failed" and name not in self._warned:
                self._warned.add(name)
                advice = (f"; {each.code}{': ' * bool(each.code)}{each.text}" for each in verdict.advice)
                _warn(printable(f"{name}: {verdict.reason}{''.join(advice)}"))


def weakly(method: Callable[[_Argument], None]) -> Callable[[_Argument], None]:
    """A method as a callback that does not keep its object: a loader and its workers go as soon as nobody uses them."""
    reference = weakref.WeakMethod(method)

    def call(argument: _Argument) -> None:
        found = reference()
        if found is not None:
            found(argument)

    return call


def monitor(loader: Any, **limits: Unpack[TrainingLimits]) -> Monitor:
    """Watch the training that iterates a DataLoader, by its own loop or a trainer's: iterate what is returned, or
    iterate the loader in a ``with`` block of it, and read ``.state`` at any time.

    ``max_input_wait``, ``max_worker_growth`` and ``max_fd_use`` are limits; one that is passed is a DataLoaderWarning,
    once. Raises BadTarget for what has no DataLoader in it, and BadLimit.
    """
    return Monitor(loader, **limits)


def _dataloader_in(loader: Any) -> Any:
    found = loaders.measurable(loader)
    inner = found.inner if isinstance(found, Stream) else found
    if inner is None:
        raise BadTarget(f"expected a torch.utils.data.DataLoader, got {loaders.what_instead(loader)}")
    return inner


def _warn(text: str) -> None:
    """Warn, and end no training: where warnings are errors, it is shown all the same."""
    try:
        warnings.warn(DataLoaderWarning(text), stacklevel=2)
    except DataLoaderWarning:
        with warnings.catch_warnings():
            warnings.simplefilter("always", DataLoaderWarning)
            warnings.warn(DataLoaderWarning(text), stacklevel=2)
