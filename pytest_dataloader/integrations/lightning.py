"""``Trainer(callbacks=[DataLoaderMonitor()])``: what a Lightning training waits for, in its own loggers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from pytest_dataloader.diagnosis.monitoring import Monitor

if TYPE_CHECKING:
    from pytest_dataloader.checks.signatures import TrainingLimits

    class Callback:
        """Lightning's."""
else:
    try:
        from lightning.pytorch import Callback
    except ImportError:
        from pytorch_lightning import Callback


class DataLoaderMonitor(Callback):
    """Logs the figures of ``Monitor.scalars`` whenever the trainer logs (``log_every_n_steps``), and warns of limits.

    On the ranks whose loggers log; the figures are those of the rank's own loader.
    """

    def __init__(self, **limits: Unpack[TrainingLimits]) -> None:
        self.monitor = Monitor(**limits)

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:  # noqa: ARG002
        self.monitor.__enter__()

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:  # noqa: ARG002
        self.monitor.__exit__()

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:  # noqa: ARG002
        if (batch_idx + 1) % trainer.log_every_n_steps == 0:
            scalars = self.monitor.scalars()
            for logger in trainer.loggers if scalars else ():
                logger.log_metrics(scalars, step=trainer.global_step)
