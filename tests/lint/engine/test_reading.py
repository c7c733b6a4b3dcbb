"""Files that are read, files that are refused, and a fault of ours in one of them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from dl_lint.engine import reading
from dl_lint.engine.reading import Reading
from dl_lint.engine.report import Failure
from dl_lint.source import parser
from dl_lint.source.parser import Syntax

if TYPE_CHECKING:
    from dl_lint.source.file import Source

MODULE = "from torch.utils.data import DataLoader\n\nloader = DataLoader(make({}))\n"


def read(data: dict[str, bytes]) -> dict[str, Syntax | Failure]:
    found = Reading(data, {})
    return {path: found.of(path) for path in data}


@pytest.fixture
def data() -> dict[str, bytes]:
    good = {f"m{number}.py": MODULE.format(number).encode() for number in range(6)}
    return good | {"bad.py": b"def f(:\n", "latin.py": b"# coding: latin-1\nx = '\xe9'\n"}


def test_a_syntax_error_is_a_failure_and_its_neighbours_are_read(data: dict[str, bytes]) -> None:
    found = read(data)
    assert [path for path, one in found.items() if isinstance(one, Failure)] == ["bad.py"]
    assert str(found["bad.py"]).startswith("bad.py:1: syntax error for Python ")


def test_a_fault_of_ours_in_one_file_is_named_and_not_kept(
    data: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    parse = parser.parse

    def stumble(source: Source) -> Syntax:
        if source.path == "bad.py":
            raise KeyError("loader")
        return parse(source)

    monkeypatch.setattr(parser, "parse", stumble)
    reads = Reading(data, {})
    said = "reading it broke down, please report it: KeyError: 'loader'"
    assert reads.of("bad.py") == Failure("bad.py", said)
    assert not reads.repeatable
    assert isinstance(reads.of("m1.py"), Syntax)


def test_a_file_of_many_megabytes_is_not_analysed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LARGEST_BYTES", 100)
    found = read({"big.py": b"x = 1\n" * 100})
    assert found == {"big.py": Failure("big.py", "not analysed: more than 0 MB")}


@pytest.mark.skipif(sys.version_info >= (3, 15), reason="this Python may know all that is tried here")
def test_syntax_of_a_newer_python_is_refused_by_name() -> None:
    text = "lazy import torch\nx = DataLoader(y)\n"
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert read({"new.py": text.encode()})["new.py"] == Failure(
        "new.py", f"syntax error for Python {version}: invalid syntax", 1
    )
