"""A training loop around a loader: batches copied to the accelerator, a step for each, recorded or timed."""

from __future__ import annotations

import itertools
import tempfile
import time
from collections import deque
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_dataloader.errors import NothingSeen
from pytest_dataloader.probe.device.accelerator import activity_of, streams_of
from pytest_dataloader.probe.device.recording import record
from pytest_dataloader.probe.device.utilization import utilization
from pytest_dataloader.probe.loader.batch_storages import tensors
from pytest_dataloader.probe.tuning.trial import next_batch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_dataloader.probe.device.accelerator import AcceleratorKind
    from pytest_dataloader.probe.device.evidence import DeviceUse
    from pytest_dataloader.probe.loader.borrowing import Borrowed

STEP = "training step of pytest-dataloader"
_WARM_UP = 3
"""Steps beyond those whose batches a loader holds ready: kernels are chosen, and memory is pinned, in the first."""
_LEAST, _MOST = 8, 20
"""Steps that are recorded."""
_IN_FLIGHT = 1
"""Steps that the host may be ahead of the device, as in a loop that looks at the loss of the step before."""
_PRODUCT_MS = 0.2
"""A matrix product of so long hides what launching it takes (some 0.01 ms)."""


@dataclass(frozen=True, slots=True)
class Copying:
    """How batches come to the accelerator."""

    non_blocking: bool = False
    prefetched: bool = False
    """Each on a stream of its own, while the step before it runs."""


class TrainingLoop:
    """Steps over the batches of a borrowed loader; a step of the user's own copies them itself."""

    def __init__(
        self, borrowed: Borrowed, kind: AcceleratorKind, step: Callable[[Any], object], copying: Copying | None
    ) -> None:
        self._borrowed, self._kind, self._step = borrowed, kind, step
        self._streams = streams_of(kind)
        self._batches = self._batches_for(copying)
        self._ahead: deque[Any] = deque()
        borrowed.begin_epoch()

    def warm_up(self) -> None:
        """Take steps until the loader delivers at its own pace. Raises NothingSeen for one without a batch."""
        self.take()
        for _ in range(_WARM_UP + self._borrowed.depth):
            self.take()
        self.wait()

    def take(self) -> None:
        """Take a step."""
        batch = next(self._batches, None)
        if batch is None:
            raise NothingSeen("the loader gave no batch: its epoch is empty")
        self._step(batch)
        event = self._streams.Event()
        event.record()
        self._ahead.append(event)
        while len(self._ahead) > _IN_FLIGHT:
            self._ahead.popleft().synchronize()

    def wait(self) -> None:
        """Wait until the device has done all steps."""
        self._streams.synchronize()
        self._ahead.clear()

    def time(self, seconds: float) -> float:
        """Milliseconds of a step, over so many as fit into the time."""
        taken, began = 0, time.perf_counter()
        while taken < _LEAST or time.perf_counter() - began < seconds:
            self.take()
            taken += 1
        self.wait()
        return 1e3 * (time.perf_counter() - began) / taken

    def record(self, seconds: float) -> DeviceUse:
        """What the device does in some steps, by a trace of ``torch.profiler``."""
        from torch.profiler import ProfilerActivity, profile, record_function

        with profile(activities=[ProfilerActivity.CPU, activity_of(self._kind)]) as profiler:
            began = time.perf_counter()
            for number in range(1 + _MOST):
                if number > _LEAST and time.perf_counter() - began > seconds:
                    break
                with record_function(STEP if number else "the profiler starts"):
                    self.take()
            self.wait()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "trace.json")
            profiler.export_chrome_trace(str(path))
            found = utilization(record(path, STEP), STEP)
        # What no operator asked for is our own waiting for the step before.
        return replace(found, synchronisations=tuple(each for each in found.synchronisations if each.operator))

    def _batches_for(self, copying: Copying | None) -> Iterator[Any]:
        batches = iter(lambda: next_batch(self._borrowed), None)
        if copying is None:
            return batches
        return self._prefetched(batches, copying) if copying.prefetched else self._copied(batches, copying)

    def _copied(self, batches: Iterator[Any], copying: Copying) -> Iterator[Any]:
        for batch in batches:
            yield self._to_device(batch, copying)

    def _prefetched(self, batches: Iterator[Any], copying: Copying) -> Iterator[Any]:
        side, main = self._streams.Stream(), self._streams.current_stream()

        def copied() -> Iterator[Any]:
            for batch in batches:
                with self._streams.stream(side):
                    on_device = self._to_device(batch, copying)
                yield on_device, side.record_event()

        for (batch, arrived), _ in itertools.pairwise(copied()):
            main.wait_event(arrived)
            for tensor in batch:
                tensor.record_stream(main)
            yield batch

    def _to_device(self, batch: Any, copying: Copying) -> list[Any]:
        return [tensor.to(self._kind, non_blocking=copying.non_blocking) for tensor in tensors(batch)]


def stand_in(kind: AcceleratorKind, step_ms: float) -> Callable[[Any], object]:
    """A step of matrix products that keeps the accelerator busy for so long."""
    import torch

    streams = streams_of(kind)

    def timed(matrix: Any, count: int) -> float:
        streams.synchronize()
        began = time.perf_counter()
        for _ in range(count):
            torch.mm(matrix, matrix)
        streams.synchronize()
        return 1e3 * (time.perf_counter() - began) / count

    for size in (1024, 2048, 4096, 8192):
        matrix = torch.randn(size, size, device=kind, dtype=torch.bfloat16)
        timed(matrix, 3)
        product_ms = timed(matrix, 10)
        if product_ms >= min(_PRODUCT_MS, step_ms / 2):
            break
    # A device that has been idle is slow for some milliseconds.
    count = max(1, round(step_ms / min(product_ms, timed(matrix, max(1, round(2 * step_ms / product_ms))))))

    def step(_batch: Any) -> None:
        for _ in range(count):
            torch.mm(matrix, matrix)

    return step
