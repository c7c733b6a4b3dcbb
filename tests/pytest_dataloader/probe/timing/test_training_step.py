"""A training step by its name, and what it takes: the first one warms up and does not count."""

from __future__ import annotations

import sys
import time
import types

import pytest

from pytest_dataloader.errors import BadLimit
from pytest_dataloader.probe.timing.training_step import Steps, step_at


def test_the_first_step_does_not_count() -> None:
    pauses = iter([0.2, 0.01, 0.01])
    steps = Steps(lambda _batch: time.sleep(next(pauses)))
    first, _, mean = (steps.take(None) for _ in range(3))
    assert mean < first / 2


def test_a_step_that_raises_is_told_with_its_place() -> None:
    def torn(_batch: object) -> None:
        raise ValueError("no gradient")

    with pytest.raises(BadLimit, match=r"step raised ValueError: no gradient \(.*test_training_step\.py, line \d+\)"):
        Steps(torn).take(None)


def test_a_step_is_found_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("of_steps")
    vars(module).update(step=print, number=3)
    monkeypatch.setitem(sys.modules, "of_steps", module)
    assert step_at("of_steps:step") is print
    assert step_at(print) is print
    assert step_at(None) is None
    for name, words in (
        ("of_steps:stp", "has no attribute"),
        ("nowhere:step", "No module"),
        ("of_steps:number", "no c"),
    ):
        with pytest.raises(BadLimit, match=f"^step: .*{words}"):
            step_at(name)
