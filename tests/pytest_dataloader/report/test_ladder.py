"""The tuning table in wide and narrow terminals."""

from __future__ import annotations

from typing import Any

from pytest_dataloader.report.ladder import batch_sizes, ladder_lines, pinning


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


def text(width: int | None) -> list[str]:
    return ["".join(piece for piece, _ in line) for line in ladder_lines(ROWS, width)]


def test_each_line_tells_what_it_adds_and_brings() -> None:
    assert text(None) == [
        "                               samples/s  vs baseline  vs previous",
        "num_workers=0                        194         1.0x         1.0x  now",
        "+ num_workers=8                    1,481         7.6x         7.6x",
        "+ __getitems__ in the dataset     26,660         137x         137x  would give at most",
    ]


def test_settings_that_are_no_step_are_compared_with_the_baseline_alone() -> None:
    aside = {**row("as it is: num_workers=2", 300.0, 1.5, now=True), "vs_previous": 0.0}
    [line] = ["".join(piece for piece, _ in line) for line in ladder_lines([*ROWS, aside], None)][-1:]
    assert line.split() == ["as", "it", "is:", "num_workers=2", "300", "1.5x", "now"]


def test_a_narrow_terminal_loses_columns_and_no_words() -> None:
    for width in (80, 70, 60, 50, 40):
        assert max(map(len, text(width))) <= max(width, 40)
        assert all(row["change"] in line for row, line in zip(ROWS, text(width)[1:], strict=True))
    assert "vs baseline" in text(60)[0]
    assert "vs previous" not in text(60)[0]


def test_the_settings_as_they_are_stand_out() -> None:
    assert [bool(line[0][1]) for line in ladder_lines(ROWS, None)] == [False, True, False, False]


def sized(batch_size: int, rate: float, *, now: bool = False) -> dict[str, Any]:
    return {
        "batch_size": batch_size, "samples_per_second": rate, "seconds_to_first_batch": 0.4312,
        "total_bytes": 93_900_000, "now": now,
    }  # fmt: skip


SIZES = [sized(16, 3695.2), sized(32, 3726.0, now=True)]


def test_batch_sizes_are_compared_where_there_are_some() -> None:
    assert ["".join(piece for piece, _ in line) for line in batch_sizes(SIZES, None)] == [
        "batch_size  samples/s  first batch   memory",
        "        16      3,695      0.431 s  93.9 MB",
        "        32      3,726      0.431 s  93.9 MB  now",
    ]
    assert list(batch_sizes(SIZES[:1], None)) == []


def test_a_narrow_terminal_gets_the_rates_of_batch_sizes_first() -> None:
    assert ["".join(piece for piece, _ in line) for line in batch_sizes(SIZES, 30)] == [
        "batch_size  samples/s",
        "        16      3,695",
        "        32      3,726",
    ]


def test_pinning_is_compared_where_there_is_a_device() -> None:
    rows = [
        {"pin_memory": False, "samples_per_second": 1234.5, "copy_ms": 3.21, "now": True},
        {"pin_memory": True, "samples_per_second": 4567.8, "copy_ms": 0.0212, "now": False},
    ]
    assert ["".join(piece for piece, _ in line) for line in pinning(rows, None)] == [
        "pin_memory  samples/s on the device  a copy keeps the loop",
        "     False                    1,234                3.21 ms  now",
        "      True                    4,568              0.0212 ms",
    ]
    assert list(pinning((), None)) == []
