"""The user's own training step between two batches: found by name, taken, and timed."""

from __future__ import annotations

import importlib
import traceback
from typing import TYPE_CHECKING, Any

from pytest_dataloader.errors import BadLimit
from pytest_dataloader.printable import did_you_mean
from pytest_dataloader.probe.host.clocks import wall_ns

if TYPE_CHECKING:
    from collections.abc import Callable


class Steps:
    """Training steps of the user's own, each waited for to its end on the accelerator, and what they take."""

    def __init__(self, step: Callable[[Any], object]) -> None:
        self._step = step
        self._spent_ns = 0
        self._taken = 0

    def take(self, batch: Any) -> float:
        """Take a step; the mean of all but the first, which compiles and allocates. Raises BadLimit where it raises."""
        import torch

        began = wall_ns()
        try:
            self._step(batch)
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            told = f"{type(error).__name__}: {error} ({place.filename}, line {place.lineno})"
            raise BadLimit(f"step raised {told}") from error
        if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]  # torch's own
            torch.cuda.synchronize()
        spent = wall_ns() - began
        self._taken += 1
        if self._taken == 1:
            return spent
        self._spent_ns += spent
        return self._spent_ns / (self._taken - 1)


def step_at(step: str | Callable[[Any], object] | None) -> Callable[[Any], object] | None:
    """A step, or what MODULE:ATTR names; raises BadLimit where it is none."""
    if step is None or not isinstance(step, str):
        return step
    module, _, attribute = step.partition(":")
    try:
        found: Any = importlib.import_module(module)
    except ImportError as error:
        raise BadLimit(f"step: {error}") from None
    for name in attribute.split("."):
        if not hasattr(found, name):
            near = did_you_mean(name, dir(found))
            raise BadLimit(f"step: {getattr(found, '__name__', module)} has no attribute {name!r}{near}")
        found = getattr(found, name)
    if not callable(found):
        raise BadLimit(f"step: {step} is no callable that takes a batch")
    taken: Callable[[Any], object] = found
    return taken
