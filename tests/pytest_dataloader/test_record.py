"""Records: what a check said survives test reports, xdist and JUnit."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_dataloader.errors import NotMeasured
from pytest_dataloader.record import Record, figures, plain, records_in
from pytest_dataloader.verdict import Advice


@dataclass(frozen=True, slots=True)
class Part:
    share: float


@dataclass(frozen=True, slots=True)
class Seen:
    samples: int
    interval: tuple[float, float]
    part: Part

    @property
    def doubled(self) -> int:
        return 2 * self.samples

    @property
    def later(self) -> int:
        raise NotMeasured("only with --dataloader-bench")

    @property
    def _hidden(self) -> int:
        return 3


def test_figures_are_fields_and_properties_but_not_what_was_not_measured() -> None:
    assert figures(Seen(3, (1.0, float("nan")), Part(0.5))) == {
        "samples": 3,
        "interval": [1.0, None],
        "part": {"share": 0.5},
        "doubled": 6,
    }
    assert figures(None) == {}


def test_figures_hold_the_properties_of_a_base() -> None:
    @dataclass(frozen=True, slots=True)
    class More(Seen):
        left: int

        @property
        def doubled(self) -> int:
            return 20

    found = figures(More(3, (0.0, 1.0), Part(0.5), left=4))
    assert (found["left"], found["doubled"], "later" in found) == (4, 20, False)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (float("inf"), None),
        ((1, "a", 2.5), [1, "a", 2.5]),
        ({3: Path("x")}, {"3": "x"}),
        (frozenset({7}), [7]),
        (1 + 2j, "(1+2j)"),
    ],
)
def test_plain_values_are_what_json_holds(value: object, expected: object) -> None:
    assert plain(value) == expected
    json.dumps(plain(value), allow_nan=False)


def test_a_record_comes_back_from_the_property_of_a_report_as_it_was() -> None:
    record = Record(
        id="train",
        nodeid="pyproject.toml::train",
        description="DataLoader(...)",
        check="throughput",
        verdict="failed",
        reason="12 samples/s, floor 2,000",
        evidence={"interval": [1.5, None]},
        limits={"min_samples_per_second": 2000.0},
        advice=(Advice("DL204", "keep the workers"),),
    )
    name, value = record.as_property()
    assert (name, type(value)) == ("dataloader.throughput", str)
    assert list(records_in([("other", 3), (name, value), ("dataloader.x", 4)])) == [record]
