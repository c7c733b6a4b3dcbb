"""The tuning table in wide and narrow terminals."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_dataloader.report.console import rendered
from pytest_dataloader.report.ladder import tables


def row(change: str, rate: float, factor: float, source: str = "measured", *, now: bool = False) -> dict[str, Any]:
    return {
        "change": change, "samples_per_second": rate, "source": source, "vs_baseline": factor, "vs_previous": factor,
        "now": now,
    }  # fmt: skip


ROWS = [
    row("num_workers=0", 194.2, 1.0, now=True),
    row("+ num_workers=8", 1481.0, 7.63),
    row("+ __getitems__ in the dataset", 26660.0, 137.3, "at most"),
]


def lines(width: int = 100, **evidence: Any) -> list[str]:
    given = {"rows": (), "batch_sizes": (), "pinning": (), **evidence}
    return [line for each in tables(given) for line in rendered(each, width).splitlines()]


def test_each_line_tells_what_it_adds_and_brings() -> None:
    assert lines(rows=ROWS) == [
        "                               samples/s  vs baseline  vs previous",
        "num_workers=0                        194         1.0x         1.0x  now",
        "+ num_workers=8                    1,481         7.6x         7.6x",
        "+ __getitems__ in the dataset     26,660         137x         137x  upper bound",
    ]


def test_settings_that_are_no_step_are_compared_with_the_baseline_alone() -> None:
    aside = {**row("as it is: num_workers=2", 300.0, 1.5, now=True), "vs_previous": 0.0}
    assert lines(rows=[*ROWS, aside])[-1].split() == ["as", "it", "is:", "num_workers=2", "300", "1.5x", "now"]


@pytest.mark.parametrize("width", [80, 60, 40])
def test_a_narrow_terminal_wraps_and_loses_no_figure(width: int) -> None:
    shown = lines(width, rows=ROWS)
    assert max(map(len, shown)) <= width
    assert {"194", "1,481", "26,660", "7.6x"} <= set(" ".join(shown).split())


def test_the_settings_as_they_are_stand_out() -> None:
    [table] = tables({"rows": ROWS, "batch_sizes": (), "pinning": ()})
    shown = rendered(table, 100, colours=True).splitlines()
    assert ["\x1b[1m" in line for line in shown] == [False, True, False, False]


def sized(batch_size: int, rate: float, *, now: bool = False) -> dict[str, Any]:
    return {
        "batch_size": batch_size, "samples_per_second": rate, "seconds_to_first_batch": 0.4312,
        "total_bytes": 93_900_000, "now": now,
    }  # fmt: skip


SIZES = [sized(16, 3695.2), sized(32, 3726.0, now=True)]


def test_batch_sizes_are_compared_where_there_are_some() -> None:
    assert lines(batch_sizes=SIZES) == [
        "batch_size  samples/s  first batch   memory",
        "        16      3,695      0.431 s  93.9 MB",
        "        32      3,726      0.431 s  93.9 MB  now",
    ]
    assert lines(batch_sizes=SIZES[:1]) == []


def test_pinning_is_compared_where_there_is_a_device() -> None:
    rows = [
        {"pin_memory": False, "samples_per_second": 1234.5, "copy_ms": 3.21, "now": True},
        {"pin_memory": True, "samples_per_second": 4567.8, "copy_ms": 0.0212, "now": False},
    ]
    assert lines(pinning=rows) == [
        "pin_memory  samples/s on the device  ms blocked by a copy",
        "     False                    1,234                  3.21  now",
        "      True                    4,568                0.0212",
    ]
