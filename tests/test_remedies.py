"""What the memory check and DL301 say to paste is the same code, runs, and leaves every record as it was."""

from __future__ import annotations

import pickle
import re
import textwrap
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from dl_lint.rules import python_container_in_dataset as dl301

from pytest_dataloader.checks import memory
from tests.zoo import evidence

if TYPE_CHECKING:
    from collections.abc import Sequence

RECORDS: dict[str, list[Any]] = {
    "texts": ["a/b.jpg", "", "näher", "x" * 300],
    "bytes": [b"\x00\x01", b"", b"z"],
    "tuples": [("a.jpg", 1), ("b.jpg", 2), ()],
    "dicts": [{"path": "a", "boxes": [[1, 2], [3, 4]]}, {}, {"label": None}],
    "nested lists": [[[1, 2], ["a"]], [], [[[]]]],
}
NUMBERS: dict[str, list[Any]] = {"ints": [3, 1, 2], "floats": [0.5, 1.5], "bools": [True, False]}


def code_of(text: str) -> list[str]:
    """The lines of a remedy to paste: those that are indented."""
    return textwrap.dedent("\n".join(line for line in text.splitlines() if line.startswith("    "))).splitlines()


def of_check(kind: str, attribute: str) -> str:
    """What the memory check says to do about a list of objects of a kind."""
    seen = replace(evidence.MEMORY, kinds=("copy_on_access",), attribute=attribute, type=kind, container="list")
    return memory.judge(seen).advice[0].text


def run(code: Sequence[str], records: list[Any], index: int) -> Any:
    """The record at an index, after the code was pasted into constructor and ``__getitem__``."""
    owner = SimpleNamespace(rows=records)
    names = {"self": owner, "np": np, "pickle": pickle, "index": index}
    exec("\n".join(code), names)  # the advice itself is under test
    assert not isinstance(owner.rows, list)
    assert len(owner.ends if "record" in names else owner.rows) == len(records)
    return names["record"] if "record" in names else owner.rows[index]


@pytest.mark.parametrize("kind", RECORDS)
def test_records_are_packed_and_read_back(kind: str) -> None:
    code, records = code_of(of_check(type(RECORDS[kind][0]).__name__, "dataset.rows[*]")), RECORDS[kind]
    assert len(code) <= 6
    for index in range(-1, len(records)):
        assert run(code, records, index) == records[index]


@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers_become_an_array(kind: str) -> None:
    records = NUMBERS[kind]
    code = code_of(of_check(type(records[0]).__name__, "dataset.rows"))
    assert len(code) == 1
    assert [run(code, records, index) for index in range(len(records))] == records


def test_the_linter_says_the_same() -> None:
    assert of_check("dict", "dataset.rows[*]['path']") == dl301.packed_records("rows")
    assert of_check("int", "dataset.rows") == dl301.in_one_array("rows")


def test_a_list_in_a_dict_is_packed_where_it_is() -> None:
    code, records = code_of(of_check("str", "dataset.columns['path'][*]")), ["a", "bc"]
    owner = SimpleNamespace(columns={"path": records, "label": [1, 2]})
    names = {"self": owner, "np": np, "pickle": pickle, "index": 1}
    exec("\n".join(code), names)  # the advice itself is under test
    assert names["record"] == "bc"
    assert owner.columns["label"] == [1, 2]


@pytest.mark.parametrize(
    "changes",
    [
        {"container": "dict"}, {"attribute": "dataset.inner.rows"}, {"attribute": "dataset.datasets[0].rows[*]"},
        {"attribute": "dataset.get.closure['rows'][*]"}, {"type": "Tensor"},
    ],
)  # fmt: skip
def test_what_is_no_list_of_the_dataset_gets_no_code(changes: dict[str, Any]) -> None:
    seen = replace(evidence.MEMORY, kinds=("copy_on_access",), attribute="dataset.rows", type="str", container="list")
    assert not re.search(r"\n {4}", memory.judge(replace(seen, **changes)).advice[0].text)
