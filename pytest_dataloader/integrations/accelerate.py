"""``with DataLoaderMonitor(accelerator):`` around a loop: what it waits for, in the trackers of accelerate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from pytest_dataloader.diagnosis.monitoring import Monitor, weakly

if TYPE_CHECKING:
    from pytest_dataloader.checks.signatures import TrainingLimits
    from pytest_dataloader.probe.training.discovery import LoaderInUse
    from pytest_dataloader.probe.training.meter import Meter


class DataLoaderMonitor(Monitor):
    """Logs the figures of ``scalars`` by ``accelerator.log`` after every so many batches, and warns of limits."""

    def __init__(self, accelerator: Any, every_n_steps: int = 50, **limits: Unpack[TrainingLimits]) -> None:
        super().__init__(**limits)
        self._accelerator, self._every = accelerator, every_n_steps

    def _watch(self, found: LoaderInUse) -> None:
        super()._watch(found)
        found.meter.step_hooks.append(weakly(self._log))

    def _log(self, meter: Meter) -> None:
        first = self._discovery.loaders[0].meter  # of a validation the trackers know no step
        if meter is first and meter.totals.batches % self._every == 0 and (scalars := self.scalars()):
            self._accelerator.log(scalars, step=meter.totals.batches)
