"""``DataLoaderCallback().add_to(trainer)``: what a training of transformers' Trainer waits for, in its own logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from pytest_dataloader.diagnosis.monitoring import Monitor

if TYPE_CHECKING:
    from pytest_dataloader.checks.signatures import TrainingLimits

    class TrainerCallback:
        """Of transformers."""
else:
    from transformers import TrainerCallback


class DataLoaderCallback(TrainerCallback):
    """Adds the figures of ``Monitor.scalars`` to whatever the trainer logs (``logging_steps``), and warns of limits.

    Callbacks that report (TensorBoard, W&B) come before those given as ``callbacks=[...]``: ``add_to`` puts this one
    before them, else only what comes after it sees the figures.
    """

    def __init__(self, **limits: Unpack[TrainingLimits]) -> None:
        self.monitor = Monitor(**limits)

    def add_to(self, trainer: Any) -> DataLoaderCallback:
        """Add this callback to a trainer, before those that report."""
        trainer.callback_handler.callbacks.insert(0, self)
        return self

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002
        self.monitor.__enter__()

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002
        self.monitor.__exit__()

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:  # noqa: ARG002
        if logs is not None:
            logs.update(self.monitor.scalars())
