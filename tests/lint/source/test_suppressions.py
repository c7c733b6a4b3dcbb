"""Which comments take findings back, and for which lines."""

from __future__ import annotations

import sys

import pytest
from dl_lint.source.suppressions import Suppression, read


@pytest.mark.parametrize(
    ("comment", "kind", "codes", "reason"),
    [
        ("# dl-lint: ignore", "ignore", (), ""),
        ("# dl-lint: ignore[DL301]", "ignore", ("DL301",), ""),
        (
            "# dl-lint: ignore[DL301, manual-pin-memory] twelve samples",
            "ignore",
            ("DL301", "manual-pin-memory"),
            "twelve samples",
        ),
        ("#dl-lint:ignore[DL301]", "ignore", ("DL301",), ""),
        ("#  dl-lint :  ignore [ DL301 , ]", "ignore", ("DL301",), ""),
        ("# dl-lint: ignore  the list is short", "ignore", (), "the list is short"),
        ("# dl-lint: ignore-file[DL2]", "file", ("DL2",), ""),
        ("# dl-lint: ignore-file", "file", (), ""),
        ("# dl-lint: skip-file", "file", (), ""),
        ("# dl-lint: ingore[DL301]", "unknown", ("DL301",), ""),
        ("# dl-lint:", "unknown", (), ""),
        ("# noqa", "noqa", (), ""),
        ("#noqa", "noqa", (), ""),
        ("# NOQA: DL301", "noqa", ("DL301",), ""),
        ("# noqa: DL301,E501 F401", "noqa", ("DL301", "E501", "F401"), ""),
        ("# noqa:DL301 the list is short", "noqa", ("DL301",), "the list is short"),
        ("# noqa : DL301", "noqa", ("DL301",), ""),
        ("# type: ignore[arg-type]  # noqa: DL301", "noqa", ("DL301",), ""),
    ],
)
def test_a_comment_is_understood(comment: str, kind: str, codes: tuple[str, ...], reason: str) -> None:
    (found,) = read(f"x = 1  {comment}\n").suppressions
    assert (found.kind, found.codes, found.reason) == (kind, codes, reason)
    assert found.at[0] == 1


@pytest.mark.parametrize(
    "line",
    [
        "x = 1  # flake8: noqa",
        "x = 1  # noqa-like words",
        "x = 1  # noqaing",
        "x = 1  # see dl-lint: ignore in the documentation",
        "x = '# dl-lint: ignore'",
        'x = """\n# noqa: DL301\n"""',
        "x = f'{y}# noqa'",
        "x = r'\\\\'  '# noqa'",
        "x = 1  # type: ignore",
    ],
)
def test_other_comments_and_strings_take_nothing_back(line: str) -> None:
    assert read(line + "\n").suppressions == ()


def test_one_comment_can_hold_two() -> None:
    found = read("x = 1  # noqa: E501  # dl-lint: ignore[DL301] twelve\n").suppressions
    assert {(one.kind, one.codes, one.reason) for one in found} == {
        ("noqa", ("E501",), ""),
        ("ignore", ("DL301",), "twelve"),
    }


def test_the_place_is_that_of_the_suppression_alone() -> None:
    text = "xé = 1  # why  # dl-lint: ignore[DL301]   \n"
    (found,) = read(text).suppressions
    line, start, end_line, end = found.at
    assert (line, end_line) == (1, 1)
    assert text[start:end] == "# dl-lint: ignore[DL301]"


def test_suppressions_come_in_source_order() -> None:
    found = read("# dl-lint: skip-file\nx = [  # noqa: DL1\n    1,  # dl-lint: ignore[DL2]\n]\n").suppressions
    assert [one.at[0] for one in found] == [1, 2, 3]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="before PEP 701 such a string ends at the inner quote")
def test_a_comment_inside_an_fstring_with_quotes_of_its_own_kind_is_none() -> None:
    text = 'x = f"{d["a # noqa"]}" + "b"  # noqa: DL301\ny = 2  # dl-lint: ignore\n'
    assert [(one.kind, one.at[0], one.codes) for one in read(text).suppressions] == [
        ("noqa", 1, ("DL301",)),
        ("ignore", 2, ()),
    ]


MULTILINE = """\
import os  # noqa

loader = DataLoader(
    dataset,
    num_workers=4,
)
@decorated(
    by=1,
)
def f(
    a,
    b,
):
    return a + \\
        b
if (a and
    b): pass
for x in y: z = [
    1,
]
s = '''
'''; t = 1
"""


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        (1, (1,)),
        (3, (3, 6)),
        (5, (3, 5, 6)),
        (7, (7, 9)),
        (8, (7, 8, 9)),
        (10, (10, 13)),
        (12, (10, 12, 13)),
        (14, (14, 15)),
        (15, (14, 15)),
        (16, (16, 17)),
        (19, (18, 19, 20)),
        (21, (21, 22)),
    ],
)
def test_the_first_and_last_line_of_a_logical_line_carry_its_comments(line: int, lines: tuple[int, ...]) -> None:
    assert read(MULTILINE).lines(line) == lines


def test_a_statement_with_a_body_carries_comments_on_its_header_only() -> None:
    found = read("def f(a,\n      b):\n    return a\n\n\n# dl-lint: ignore\n")
    assert found.lines(3) == (3,)
    assert found.ranges == ((1, 2),)


def test_a_suppression_is_a_value() -> None:
    assert Suppression("noqa", (1, 0, 1, 6), (), "") == Suppression("noqa", (1, 0, 1, 6), (), "")
