"""What evidence says of figures that were not measured."""

from __future__ import annotations

from dataclasses import fields

from pytest_dataloader.probe.timing.evidence import Stages


def test_a_figure_that_was_not_measured_is_zero() -> None:
    told = {field.name: field.default for field in fields(Stages) if type(field.default) in (int, float)}
    assert len(told) > 20
    assert {name: value for name, value in told.items() if value} == {
        "straggler_factor": 1.0,
        "slowest_worker": -1,
        "cpus": 1.0,
    }
