"""The summary of a job: what needs a look first, everything as it is, and never more than GitHub takes."""

from __future__ import annotations

import re
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_dataloader.printable import printable
from pytest_dataloader.record import Record
from pytest_dataloader.report import markdown
from pytest_dataloader.verdict import Advice, Outcome
from tests.pytest_dataloader.rendering import page

PLACE = {
    "python": "3.12.1",
    "torch": "2.9.0",
    "cpus": 4,
    "cpus_allowed": 1.5,
    "cpu_model": "CPU|X",
    "platform": "Linux",
}
HOSTILE = (
    "a|b \\| `c` *d* _e_ **f** ~~g~~ [h](http://i) ![j](k) <img src=x onerror=y> </details> <!-- &amp; $l$ "
    "\x1b[31m\u202e\n::error file=m::n\n| --- |\n# o\n\n\t- p\udcff"
)


def record(check: str, verdict: Outcome, reason: str, id_: str = "train", **others: object) -> Record:
    advice = (Advice("DL204", "keep the workers"), Advice("", "use a faster disk")) if verdict == "failed" else ()
    made = Record(id_, f"pyproject.toml::{id_}", "DataLoader(Jpeg)", check, verdict, reason, {}, {}, advice)
    return replace(made, **others)  # type: ignore[arg-type]  # fields of a record


RECORDS = [
    record("fds", "passed", "peak 45 of 1,024"),
    record("order", "inconclusive", "too few samples"),
    record("resume", "not_measured", "no state_dict"),
    record("shards", "not_measured", "it gave no sample", vacuous=True),
    record("memory", "failed", "workers grow\n  by a lot\n    of it rows"),
    record("fds", "passed", "peak 12 of 1,024", id_="val"),
]


def test_what_needs_a_look_comes_first_and_the_rest_is_folded_by_loader() -> None:
    seen = page(markdown.report_document(RECORDS, PLACE))
    assert seen.headings == ["DataLoader checks: 1 failed, 1 inconclusive, 2 passed, 2 not measured"]
    urgent, train, val = seen.tables
    assert urgent == [
        ["verdict", "loader", "check", "what was seen"],
        ["❌ failed", "train", "memory", "workers grow\n→ DL204 keep the workers\n→ use a faster disk"],
        ["⚠️ inconclusive", "train", "order", "too few samples"],
        ["⬜ not measured", "train", "shards", "it gave no sample"],
    ]
    assert train[1:] == [
        ["✅ passed", "fds", "peak 45 of 1,024"],
        ["⬜ not measured", "resume", "no state_dict"],
    ]
    assert val[1:] == [["✅ passed", "fds", "peak 12 of 1,024"]]
    assert seen.summaries == [
        "train DataLoader(Jpeg): 1 failed, 1 inconclusive, 1 passed, 2 not measured",
        "val DataLoader(Jpeg): 1 passed",
    ]
    assert seen.drawings == "by a lot\n  of it rows\n"


def test_a_run_where_nothing_fails_is_folded_as_a_whole_and_says_where_it_was() -> None:
    text = markdown.report_document([RECORDS[0]], PLACE)
    assert len(page(text).tables) == 1
    assert "<sub>Python 3.12.1, torch 2.9.0, 1.5 of 4 CPUs (CPU\\|X), Linux</sub>" in text


def test_a_run_without_a_loader_says_so() -> None:
    seen = page(markdown.report_document([], PLACE))
    assert seen.headings == ["DataLoader checks: nothing was measured"]
    assert not seen.tables + seen.summaries


def test_bars_and_a_tuning_are_drawn() -> None:
    rate = {"samples_per_second": 96.5, "interval": [44.7, 207.0]}
    floor = {"min_samples_per_second": 600.0}
    row = {
        "change": "as it is",
        "samples_per_second": 10.0,
        "vs_baseline": 1.0,
        "vs_previous": 0,
        "source": "",
        "now": True,
    }
    tuning = {"rows": [row], "batch_sizes": [], "pinning": []}
    seen = page(
        markdown.report_document(
            [
                record("throughput", "failed", "96.5 samples/s", evidence=rate, limits=floor),
                record("tune", "passed", "4 workers", evidence=tuning, advice=(Advice("", "DataLoader(<x>)"),)),
            ],
            PLACE,
        )
    )
    assert seen.headings == ["DataLoader checks: 1 failed"]  # a tuning is no check
    assert "16 % of 600 samples/s" in seen.drawings
    assert "samples/s  vs baseline" in seen.drawings
    assert "DataLoader(<x>)" in seen.drawings
    assert seen.summaries == ["train DataLoader(Jpeg): 1 failed"]


def test_names_and_messages_are_shown_as_they_are_and_obeyed_nowhere() -> None:
    advice = (Advice("DL1|2", HOSTILE),)
    hostile = record("memory", "failed", HOSTILE, id_=HOSTILE, description=HOSTILE, advice=advice)
    text = markdown.report_document(
        [hostile, replace(hostile, check="fds", verdict="passed")], {**PLACE, "torch": HOSTILE}
    )
    seen = page(text)
    (row,), (calm,) = (table[1:] for table in seen.tables)
    told = printable(HOSTILE).replace("\t", " ")
    first = told.partition("\n")[0]
    assert row == ["❌ failed", told, "memory", f"{first}\n→ DL1|2 {told}"]
    assert calm == ["✅ passed", "fds", first]
    name = printable(" ".join(HOSTILE.split()))
    assert seen.summaries == [f"{name} {name}: 1 failed, 1 passed"]
    assert printable(HOSTILE).splitlines()[1] in seen.drawings
    assert not re.search(r"<(?!/?(details|summary|b|pre)>)", seen.html)
    assert not seen.markup & {"em_open", "s_open", "link_open", "image", "code_inline", "fence", "list_item_open"}
    assert set(re.findall(r"<[^>]*>", text)) <= {
        f"<{slash}{name}>" for name in ("br", "details", "summary", "b", "pre", "sub") for slash in ("", "/")
    }
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]|^\s*::", text, re.MULTILINE)


@settings(deadline=None)
@given(st.text(st.sampled_from("ab\\|`*_~[]()<>&#;!$-:= \n\t\x1b") | st.characters(), max_size=60))
def test_any_text_is_one_cell(text: str) -> None:
    row = f"{markdown.table_head('a', 'b')}{markdown.table_row(markdown.cell(text), 'end')}"
    ((_, (cell, end)),) = page(row).tables
    assert end == "end"
    assert "".join(cell.split()) == "".join(printable(text.strip()).split())


def test_what_does_not_fit_is_left_out_and_counted() -> None:
    reason = "worker 0 grows by <much> & more; " * 40
    many = [record("memory", "failed", reason, id_=f"loader{number}") for number in range(600)]
    many += [replace(each, check="fds", verdict="inconclusive") for each in many]
    many += [replace(each, check="shm", verdict="passed") for each in many[:600]]
    text = markdown.report_document(many, PLACE)
    assert 900_000 < len(text.encode()) <= markdown.MOST_BYTES < 2**20
    seen = page(text)
    assert seen.headings == ["DataLoader checks: 600 failed, 600 inconclusive, 600 passed"]
    (rows,) = seen.tables
    shown = len(rows) - 1
    assert rows[1][0] == "❌ failed"
    (told,) = re.findall(r"\*\*Left out\*\*, .*", text)
    assert f"{600 - shown} failed, 600 inconclusive and" in told
    assert "the details of 600 loaders" in told
    assert text.index("Left out") < text.index("<sub>Python")


def test_a_block_that_fits_no_more_is_left_out_whole() -> None:
    many = [record("fds", "passed", "peak", id_=f"loader{number}") for number in range(100)]
    seen = page(text := markdown.report_document(many, PLACE, 9_000))
    assert len(text.encode()) <= 9_000
    assert f"the details of {100 - len(seen.summaries)} loaders" in text
    assert 20 < len(seen.summaries) < 100


def test_one_long_message_does_not_push_out_the_others() -> None:
    seen = page(markdown.report_document([record("fds", "failed", "x" * 10**7), *RECORDS], PLACE))
    assert len(seen.rows) == 1 + len(RECORDS)
    assert seen.rows[0][3].startswith("x" * 1_997 + "...")
