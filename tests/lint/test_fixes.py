"""Edits by position, and files written whole or not at all."""

from __future__ import annotations

import stat
import subprocess
from typing import TYPE_CHECKING

import pytest
from dl_lint.engine.report import Entry, Reported
from dl_lint.fixes import Changed, apply, choose, difference, overlap, write
from dl_lint.rule import Edit, Finding, Fix
from dl_lint.source.file import Source
from dl_lint.source.positions import Place, Span
from dl_lint.source.text import NEWLINE
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    import random
    from pathlib import Path

RULE = Entry("DL999", "sample", "bug", "nowhere")


def edit(span: Span, text: str, path: str = "a.py") -> Edit:
    return Edit(Place(path, span), text)


def fixable(*edits: Edit, safe: bool = True) -> Reported:
    return Reported(RULE, Finding(edits[0].place, "wrong", "right", fix=Fix("mend", edits, safe)))


def applied(data: bytes, *edits: Edit) -> bytes:
    return apply(Source.of("a.py", data), edits)


@pytest.mark.parametrize(
    ("before", "edits", "after"),
    [
        (b"ab\ncd\n", [edit((1, 0, 1, 1), "X")], b"Xb\ncd\n"),
        (b"ab\ncd\n", [edit((2, 1, 2, 2), ""), edit((1, 2, 1, 2), "!")], b"ab!\nc\n"),
        (b"ab\ncd\n", [edit((1, 1, 2, 1), "-")], b"a-d\n"),
        (b"ab\ncd\n", [edit((1, 0, 2, 0), "")], b"cd\n"),
        (b"ab", [edit((1, 2, 1, 2), "\nz")], b"ab\nz"),
        (b"ab\n", [edit((2, 0, 2, 0), "z\n")], b"ab\nz\n"),
        (b"a\r\nb\r\n", [edit((2, 1, 2, 1), "\nc\r\nd")], b"a\r\nb\r\nc\r\nd\r\n"),
        (b"a\rb\r", [edit((2, 0, 2, 0), "\n")], b"a\r\rb\r"),
        (b"\xef\xbb\xbfab\n", [edit((1, 0, 1, 1), "X")], b"\xef\xbb\xbfXb\n"),
        (
            "# coding: latin-1\n\xe9x\n".encode("latin-1"),
            [edit((2, 1, 2, 2), "\xe8")],
            b"# coding: latin-1\n\xe9\xe8\n",
        ),
        ("'\U0001f600\u2028'x\n".encode(), [edit((1, 4, 1, 5), "y")], "'\U0001f600\u2028'y\n".encode()),
        (b"a\x0cb\nc\n", [edit((2, 0, 2, 1), "d")], b"a\x0cb\nd\n"),
    ],
)
def test_edits_land_where_they_point_and_leave_the_rest(before: bytes, edits: list[Edit], after: bytes) -> None:
    assert applied(before, *edits) == after


@pytest.mark.parametrize(
    "edits",
    [
        [edit((0, 0, 0, 0), "")],
        [edit((4, 0, 4, 0), "")],
        [edit((1, 4, 1, 4), "")],
        [edit((1, -1, 1, 0), "")],
        [edit((1, 2, 1, 1), "")],
        [edit((1, 0, 2, 0), ""), edit((1, 1, 1, 2), "")],
    ],
)
def test_edits_outside_the_text_or_into_each_other_are_refused(edits: list[Edit]) -> None:
    with pytest.raises(ValueError, match="edit at"):
        applied(b"ab\ncd\n", *edits)


def test_a_character_that_the_encoding_lacks_is_refused() -> None:
    with pytest.raises(UnicodeEncodeError):
        applied(b"# coding: ascii\nx\n", edit((2, 0, 2, 1), "\N{SNOWMAN}"))


@given(st.text("ab\n\r\t\x0c\N{SNOWMAN}", max_size=30), st.randoms(use_true_random=False))
def test_an_edit_changes_nothing_beside_itself(text: str, chance: random.Random) -> None:
    data = text.encode()
    starts = [0, *(found.end() for found in NEWLINE.finditer(text))]
    start, end = sorted((chance.randint(0, len(text)), chance.randint(0, len(text))))
    rows = [max(row for row, first in enumerate(starts, 1) if first <= offset) for offset in (start, end)]
    span = (rows[0], start - starts[rows[0] - 1], rows[1], end - starts[rows[1] - 1])
    assert applied(data, edit(span, "<>")).decode() == text[:start] + "<>" + text[end:]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((1, 0, 1, 2), (1, 3, 1, 4), False),
        ((1, 0, 1, 3), (1, 2, 1, 4), True),
        ((1, 0, 1, 2), (1, 2, 1, 4), True),
        ((1, 2, 1, 2), (1, 2, 1, 2), True),
        ((1, 0, 9, 0), (3, 3, 3, 3), True),
        ((2, 0, 2, 1), (1, 50, 1, 60), False),
    ],
)
def test_stretches_that_meet_overlap(one: Span, other: Span, expected: bool) -> None:
    assert overlap(one, other) is overlap(other, one) is expected


def test_a_fix_is_chosen_whole_clear_of_others_and_within_the_files_asked_about() -> None:
    first = fixable(edit((1, 0, 1, 1), ""), edit((5, 0, 5, 1), ""))
    touching = fixable(edit((3, 0, 3, 1), ""), edit((5, 1, 5, 2), ""))
    free = fixable(edit((3, 0, 3, 1), ""))
    elsewhere = fixable(edit((7, 0, 7, 1), ""), edit((1, 0, 1, 1), "", "b.py"))
    unsafe = fixable(edit((9, 0, 9, 1), ""), safe=False)
    unfixable = Reported(RULE, Finding(Place("a.py", (1, 0, 1, 1)), "wrong", "right"))
    findings = [first, touching, free, elsewhere, unsafe, unfixable]
    assert choose(findings, unsafe=False, paths={"a.py"}) == [first, free]
    assert choose(findings, unsafe=True, paths={"a.py", "b.py"}) == [first, free, elsewhere, unsafe]


# --- shown -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a\nb\nc\n", "a\nB\nc\n"),
        ("a\nb", "a\nB"),
        ("a\nb", "a\nb\n"),
        ("a\r\nb\r\n", "a\r\nB\r\n"),
        ("a\x0cb\u2028c\n", "a\x0cB\u2028c\n"),
        ("", "a\n"),
        ("a\n", ""),
    ],
)
def test_a_diff_is_one_that_patch_takes(tmp_path: Path, before: str, after: str) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(before.encode())
    shown = "".join(difference("a.py", before, after))
    assert shown.startswith("--- a.py\n+++ a.py\n@@ ")
    subprocess.run(["git", "apply", "-p0", "-"], cwd=tmp_path, input=shown.encode(), check=True)
    assert path.read_bytes() == after.encode()


def test_no_change_is_no_diff() -> None:
    assert list(difference("a.py", "a\n", "a\n")) == []


# --- written ---------------------------------------------------------------------------


def test_a_file_keeps_its_mode_and_a_link_its_target(tmp_path: Path) -> None:
    path, link = tmp_path / "a.py", tmp_path / "link.py"
    path.write_bytes(b"old")
    path.chmod(0o751)
    link.symlink_to("a.py")
    write(str(link), b"old", b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o751
    assert link.is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.py", "link.py"]


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"theirs")
    with pytest.raises(Changed):
        write(str(path), b"old", b"new")
    assert path.read_bytes() == b"theirs"


@pytest.mark.parametrize("when", ["os.fsync", "dl_lint.fixes._exchanged"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_whatever_stops_a_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str, error: BaseException
) -> None:
    def stop(*_: object) -> None:
        raise error

    path = tmp_path / "a.py"
    path.write_bytes(b"old")
    monkeypatch.setattr(when, stop)
    with pytest.raises(type(error)):
        write(str(path), b"old", b"new")
    monkeypatch.undo()
    assert path.read_bytes() == b"old"
    assert [*tmp_path.iterdir()] == [path]
