"""Findings for reading: frames that point at the right characters, whatever these are."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from dl_lint.engine.report import Report
from dl_lint.output import Look, full
from dl_lint.rule import Related
from dl_lint.source.positions import Place, Span

Make = Callable[..., Report]


def frame(make: Make, span: Span, *lines: str) -> list[str]:
    """The frame of a finding, between its title and its help."""
    shown = "".join(full.render(make(Place("a.py", span)), Look(lambda _: lines))).splitlines()
    assert shown[0] == "DL209 ignored-pin-memory-device wrong"
    assert shown[-2:] == ["help: right", ""]
    return shown[1:-2]


def test_a_finding_shows_reason_code_related_place_and_remedy(report: Report, look: Look) -> None:
    assert "".join(full.render(report, look)) == (
        "DL001 unused-suppression [*] silences nothing\n"
        " --> src/a b,c:%.py:1:8\n"
        "  |\n"
        "1 | x = 1  # dl-lint: ignore\n"
        "  |        ^^^^^^^^^^^^^^^^^\n"
        "help: remove it\n"
        "\n"
        "DL211 loader-argument-set-later assigning `dataset` raises ValueError: 100 % of the time\n"
        " --> src/data.py:4:1\n"
        "  |\n"
        "2 |\n"
        "3 | loader = DataLoader(ds, 4)\n"
        "4 | loader.dataset = other\n"
        "  | ^^^^^^^^^^^^^^\n"
        "5 |\n"
        "6 | last = 1\n"
        "note: built here\n"
        " --> src/data.py:3:10\n"
        "  |\n"
        "3 | loader = DataLoader(ds, 4)\n"
        "  |          ^^^^^^^^^^^^^^^^^\n"
        "help: build another loader\n"
        "\n"
    )


@pytest.mark.parametrize(
    ("line", "span", "shown", "marks"),
    [
        ("\tx = y", (1, 5, 1, 6), "    x = y", "        ^"),
        ("a\tbc", (1, 2, 1, 4), "a    bc", "     ^^"),
        ("s = '\u6f22\u5b57'; x", (1, 10, 1, 11), "s = '\u6f22\u5b57'; x", " " * 12 + "^"),
        ("'\u6f22'", (1, 0, 1, 3), "'\u6f22'", "^^^^"),
        ("'e\u0301' + x", (1, 7, 1, 8), "'e\u0301' + x", "      ^"),
        ("'\x1b[31m' + x", (1, 11, 1, 12), "'\\x1b[31m' + x", " " * 14 + "^"),
        ("x", (1, 1, 1, 1), "x", " ^"),
    ],
)
def test_marks_stand_below_what_they_mark(one: Make, line: str, span: Span, shown: str, marks: str) -> None:
    assert frame(one, span, line)[2:] == [f"1 | {shown}", f"  | {marks}"]


def test_a_stretch_of_several_lines_is_bracketed(one: Make) -> None:
    assert frame(one, (2, 4, 4, 1), "before", "x = f(", "    y,", ")", "after", "", "far") == [
        " --> a.py:2:5",
        "  |",
        "1 |   before",
        "2 | / x = f(",
        "3 | |     y,",
        "4 | | )",
        "  | |_^",
        "5 |   after",
        "6 |",
    ]


def test_a_long_stretch_is_shown_by_its_ends(one: Make) -> None:
    shown = frame(one, (1, 0, 100, 1), "x = f(", *("    y," for _ in range(98)), ")")
    assert shown[2:] == [
        "  1 | / x = f(",
        "  2 | |     y,",
        "  3 | |     y,",
        "  4 | |     y,",
        "...   |",
        " 99 | |     y,",
        "100 | | )",
        "    | |_^",
    ]


def test_a_stretch_that_ends_where_a_line_begins_marks_the_line_before(one: Make) -> None:
    assert frame(one, (1, 0, 2, 0), "xy = 1", "z")[2:] == ["1 | xy = 1", "  | ^^^^^^", "2 | z"]


def test_a_file_that_is_gone_or_shorter_now_is_named_without_its_code(one: Make) -> None:
    assert frame(one, (9, 0, 9, 3), "short") == ["  --> a.py:9:1"]
    assert frame(one, (9, 0, 9, 3)) == ["  --> a.py:9:1"]


def test_line_numbers_of_all_places_align(one: Make) -> None:
    lines = [f"line{number}" for number in range(1, 201)]
    related = Related(Place("a.py", (150, 0, 150, 4)), "there")
    shown = "".join(full.render(one(Place("a.py", (5, 0, 5, 4)), "wrong", related), Look(lambda _: tuple(lines))))
    numbered = [line for line in shown.splitlines() if " | " in line and "line" in line]
    assert {line.index("|") for line in numbered} == {4}


def test_messages_cannot_command_the_terminal(one: Make) -> None:
    shown = "".join(full.render(one(Place("a\x1b[2J\n.py", (1, 0, 1, 1)), "bad \x1b[2J"), Look(lambda _: ())))
    assert "\x1b" not in shown
    assert shown.splitlines()[1] == " --> a\\x1b[2J\\n.py:1:1"


def test_styles_are_painted_around_the_same_text(report: Report, look: Look) -> None:
    painted = "".join(full.render(report, Look(look.lines, lambda style, text: f"<{style}>{text}</>")))
    assert "<bold red>DL211</> <bold>loader-argument-set-later</>" in painted
    assert "<bold red>^^^^^^^^^^^^^^</>" in painted
    assert "<bold cyan>help</>: build another loader" in painted
