"""Two runs side by side: what got worse, what moved beyond chance, and documents that anybody may have written."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from pytest_dataloader.errors import BadReport
from pytest_dataloader.printable import printable
from pytest_dataloader.report import comparison, markdown
from pytest_dataloader.report.console import rendered
from tests.pytest_dataloader.rendering import page

Document = dict[str, Any]
HOSTILE = "a|b `c` <d> *e*\x1b[31m\n::error file=f::g\u202e\udcff"


def check(verdict: str, reason: str = "", limits: Document | None = None, **evidence: object) -> Document:
    return {"verdict": verdict, "reason": reason, "evidence": evidence, "limits": limits or {}, "advice": []}


def loader(id_: str, nodeid: str = "", **checks: Document) -> Document:
    return {"id": id_, "nodeid": nodeid or f"pyproject.toml::{id_}", "description": "", "checks": checks}


def run(*loaders: Document, **environment: object) -> comparison.ReportedRun:
    document = {"schema": 1, "environment": environment, "loaders": list(loaders)}
    return comparison.read_run(json.loads(json.dumps(document)))


def text(found: comparison.RunComparison, width: int = 200) -> list[str]:
    return rendered(comparison.comparison_tables(found), width).splitlines()


def rate(value: float, low: float, high: float, verdict: str = "passed") -> Document:
    return loader("train", throughput=check(verdict, samples_per_second=value, interval=[low, high]))


OLD = run(
    loader(
        "train",
        memory=check("passed", kind="clean", attribute="", growth_bytes_per_worker=0),
        fds=check("failed", peak=110),
        order=check("passed"),
        workers=check("passed"),
        resume=check("inconclusive"),
    ),
    loader("val", fds=check("passed"), shm=check("passed"), order=check("failed")),
)
NEW = run(
    loader(
        "train",
        memory=check(
            "failed", "rows grow\n  by much", kind="leak", attribute="rows", growth_bytes_per_worker=19_900_000
        ),
        fds=check("passed", "peak 8 of 1,024", peak=8),
        order=check("inconclusive", "too busy"),
        workers=check("passed"),
        resume=check("failed", "a batch came again"),
        shards=check("failed", "ranks overlap"),
        portability=check("passed"),
    ),
)


def test_what_got_worse_comes_first_and_then_what_got_better() -> None:
    found = comparison.compare_runs(OLD, NEW, ("old.json", "new.json"))
    assert found.worse
    assert text(found) == [
        "old.json -> new.json: 1 worse, 1 better, 2 other changes, 3 gone, 2 new, 1 the same",
        "worse",
        "  train  memory  passed -> failed  rows grow",
        "better",
        "  train  fds  failed -> passed  peak 8 of 1,024",
        "other",
        "  train  order   passed -> inconclusive  too busy",
        "  train  resume  inconclusive -> failed  a batch came again",
        "gone",
        "  val  fds, shm  gone, passed",
        "  val  order     gone, failed",
        "new",
        "  train  shards       new, failed  ranks overlap",
        "  train  portability  new, passed",
        "figures",
        "  train  memory  growth per worker      0 B  19.9 MB",
        "  train  memory  kind of growth       clean     leak",
        "  train  memory  what grows            none     rows",
        "  train  fds     peak of descriptors    110        8  -93 %",
    ]


def test_as_markdown_it_has_the_same_rows() -> None:
    seen = page(comparison.comparison_document(comparison.compare_runs(OLD, NEW, ("old.json", "new.json"))))
    assert seen.headings == [
        "DataLoader checks compared: 1 worse, 1 better, 2 other changes, 3 gone, 2 new, 1 the same"
    ]
    changes, figures = seen.tables
    assert changes[1] == ["❌ worse", "train", "memory", "passed → failed", "rows grow"]
    assert changes[2] == ["✅ better", "train", "fds", "failed → passed", "peak 8 of 1,024"]
    assert ["gone", "val", "fds, shm", "gone, passed", ""] in changes
    assert len(changes) == 9
    assert figures[-1] == ["train", "fds", "peak of descriptors", "110", "8", "-93 %", ""]
    assert seen.summaries == ["4 figures moved"]


@pytest.mark.parametrize(
    ("old", "new", "worse"),
    [
        ("passed", "failed", True),
        ("passed", "inconclusive", False),
        ("passed", "not_measured", False),
        ("inconclusive", "failed", False),
        ("failed", "failed", False),
        ("failed", "passed", False),
    ],
)
def test_worse_is_what_passed_and_fails_now(old: str, new: str, worse: bool) -> None:
    before, now = (run(loader("train", fds=check(each))) for each in (old, new))
    assert comparison.compare_runs(before, now).worse == worse


@pytest.mark.parametrize(
    ("old", "new", "change"),
    [
        ((1000, 950, 1050), (800, 760, 840), "-20 %"),
        ((1000, 950, 1050), (3100, 2900, 3300), "3.1x"),
        ((1000, 700, 1300), (800, 760, 840), None),  # the intervals have much in common
        ((1000, 999, 1001), (1010, 1009, 1011), "+1 %"),
    ],
)
def test_a_rate_has_moved_where_its_intervals_have_nothing_in_common(
    old: tuple[float, float, float], new: tuple[float, float, float], change: str | None
) -> None:
    found = comparison.compare_runs(run(rate(*old)), run(rate(*new)))
    assert [each.change for each in found.movements] == ([] if change is None else [change])
    assert found.still == (change is None)
    assert not found.worse  # the limits say what is bad


def test_figures_without_an_interval_have_moved_from_a_tenth_on() -> None:
    runs = [run(loader("train", fds=check("passed", peak=peak))) for peak in (100, 108, 120)]
    assert [len(comparison.compare_runs(runs[0], each).movements) for each in runs] == [0, 0, 1]
    assert "1 other figure moved by less than 10 %" in text(comparison.compare_runs(runs[0], runs[1]))[-1]


def test_what_was_inconclusive_is_said_beside_the_figure() -> None:
    found = comparison.compare_runs(run(rate(1000, 990, 1010)), run(rate(100, 90, 110, "inconclusive")))
    assert text(found)[-1] == "  train  throughput  samples/s  1,000  100  -90 %  inconclusive now"


def test_another_place_and_other_limits_are_said() -> None:
    old = run(loader("train", fds=check("passed", limits={"max_fd_use": 0.5})), cpu_model="A", torch="2.9", pid=1)
    new = run(loader("train", fds=check("failed", "much", {"max_fd_use": 0.1, "n": ["a"]})), cpu_model="B", torch="2.9")
    found = comparison.compare_runs(old, new)
    _, place, _, row = text(found)
    assert place == "measured at another place, where figures differ: CPU A -> B"
    assert row == "  train  fds  passed -> failed  much (limits changed: max_fd_use 0.5 -> 0.1, n none -> ['a'])"
    assert "Measured at another place, where figures differ: CPU A -> B" in comparison.comparison_document(found)


def test_a_loader_is_known_by_its_name_where_its_file_moved() -> None:
    old = run(loader("train", "pyproject.toml::train", fds=check("passed")), loader("a", "a::a", fds=check("passed")))
    new = run(
        loader("train", "vision/pyproject.toml::train", fds=check("failed")), loader("b", "b", fds=check("passed"))
    )
    assert [row.kind for row in comparison.compare_runs(old, new).rows] == ["worse", "gone", "new"]
    twice = run(*(loader("train", f"{folder}/pyproject.toml::train", fds=check("failed")) for folder in "ab"))
    with pytest.raises(BadReport, match="no check of a loader in common"):
        comparison.compare_runs(run(loader("train", fds=check("passed"))), twice)


def test_a_terminal_has_whole_words_and_columns() -> None:
    found = comparison.compare_runs(OLD, run(loader("train", memory=check("failed", "word " * 30))))
    lines = text(found, 80)
    assert max(map(len, lines)) <= 80
    at = next(number for number, line in enumerate(lines) if line.startswith("  train  memory"))
    assert lines[at + 1].startswith(" " * lines[at].index("word") + "word")


def test_nothing_in_a_document_is_obeyed() -> None:
    odd = {HOSTILE: check("passed", HOSTILE, {HOSTILE: HOSTILE})}
    old = run({"id": HOSTILE, "nodeid": HOSTILE, "checks": odd}, torch="1")
    new = run({"id": HOSTILE, "nodeid": HOSTILE, "checks": {HOSTILE: check("failed", HOSTILE)}}, torch=HOSTILE)
    found = comparison.compare_runs(old, new, (HOSTILE, HOSTILE))
    for line in text(found):
        assert not re.search(r"[\x00-\x1f\x7f-\x9f\u202e\udc80-\udcff]|^\s*::", line)
    told = comparison.comparison_document(found)
    told.encode()
    seen = page(told)
    (row,) = seen.rows
    assert row[1] == row[2] == printable(HOSTILE)
    assert not seen.markup & {"em_open", "code_inline"}
    assert not re.search(r"[\x00-\x09\x0b-\x1f\u202e]|^\s*::|<(?!/?(br|sub)>)", told, re.MULTILINE)


def test_what_does_not_fit_is_left_out_and_counted() -> None:
    names = [f"loader{number}" for number in range(2_000)]
    old = run(*(loader(name, fds=check("passed", peak=8)) for name in names))
    new = run(*(loader(name, fds=check("failed", "much " * 200, peak=110)) for name in names))
    found = comparison.compare_runs(old, new)
    told = comparison.comparison_document(found, 100_000)
    assert 90_000 < len(told.encode()) <= 100_000
    seen = page(told)
    assert f"**Left out**, as a summary holds no more: {4_000 - len(seen.rows):,} lines." in told
    assert len(comparison.comparison_document(found).encode()) <= markdown.MOST_BYTES


GOOD = {"verdict": "passed", "reason": "", "evidence": {}, "limits": {}}


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (3, "it is no report of --dataloader-json"),
        (None, "it is no report"),
        ([], "it is no report"),
        ({"schema": 1}, "it has no list of loaders"),
        ({"schema": 2, "loaders": []}, "schema 2 is not 1; another version wrote it"),
        ({"loaders": []}, "schema None is not 1"),
        ({"schema": 1, "loaders": []}, "environment: expected a table, got None"),
        ({"loaders": [3]}, r"loaders\[0\]: expected a table, got 3"),
        ({"loaders": [{"id": 1, "nodeid": "a", "checks": {}}]}, r"loaders\[0\].id: expected text, got 1"),
        ({"loaders": [{"id": "a", "checks": {}}]}, r"loaders\[0\].nodeid: expected text, got None"),
        ({"loaders": [{"id": "a", "nodeid": "a", "checks": []}]}, r"loaders\[0\].checks: expected a table"),
        ({"checks": {"fds": 1}}, r"loaders\[0\].checks\['fds'\]: expected a table, got 1"),
        ({"checks": {"fds": GOOD | {"verdict": "fine"}}}, "verdict: expected one of passed, .*, got 'fine'"),
        ({"checks": {"fds": GOOD | {"verdict": ["passed"]}}}, "verdict: expected one of"),
        ({"checks": {"fds": GOOD | {"reason": None}}}, "reason: expected text, got None"),
        ({"checks": {"fds": GOOD | {"evidence": [1]}}}, "evidence: expected a table"),
        ({"checks": {"fds": GOOD | {"limits": 3}}}, "limits: expected a table"),
        ({"checks": {"fds": "x" * 10**6}}, "got 'xxx"),
    ],
)
def test_a_document_of_any_other_shape_is_told_with_its_place(document: Any, words: str) -> None:
    if isinstance(document, dict) and "checks" in document:
        document = {"loaders": [{"id": "a", "nodeid": "a", **document}]}
    if isinstance(document, dict) and document.get("loaders") and "schema" not in document:
        document = {"schema": 1, "environment": {}, **document}
    with pytest.raises(BadReport, match=words) as caught:
        comparison.read_run(document)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("odd", [True, "8", None, [1], {}, float("nan"), float("inf"), 10**400])
def test_a_figure_that_is_none_is_not_compared(odd: object) -> None:
    strange = check("passed", peak=odd, samples_per_second=odd, interval=[odd, odd], kind=odd)
    new = {
        "schema": 1,
        "environment": {},
        "loaders": [loader("train", fds=strange, throughput=strange, memory=strange)],
    }
    known = check("passed", peak=8, samples_per_second=8, interval=[1, 2])
    found = comparison.compare_runs(
        run(loader("train", fds=known, throughput=known, memory=known)), comparison.read_run(new)
    )
    assert [each.check for each in found.movements] == (["memory"] if odd == "8" else [])


def test_runs_with_nothing_in_common_are_not_compared() -> None:
    for new in (run(), run(loader("other", fds=check("passed"))), run(loader("train", shm=check("passed")))):
        with pytest.raises(BadReport, match="they have no check of a loader in common"):
            comparison.compare_runs(run(loader("train", fds=check("passed"))), new)
