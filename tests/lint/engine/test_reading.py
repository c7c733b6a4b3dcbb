"""Files that this Python reads, files that are left to libcst, and files that break parsers."""

from __future__ import annotations

import ast
import os
import signal
from typing import TYPE_CHECKING

import pytest
from dl_lint.engine import processes, reading
from dl_lint.engine.reading import Reading
from dl_lint.engine.report import Failure
from dl_lint.source import parser
from dl_lint.source.parser import Syntax
from dl_lint.source.text import SourceError

if TYPE_CHECKING:
    from dl_lint.source.file import Source

MODULE = "from torch.utils.data import DataLoader\n\nloader = DataLoader(make({}))\n"


def read(data: dict[str, bytes], jobs: int = 1) -> dict[str, Syntax | Failure]:
    found = Reading(data, {})
    found.gather(data, jobs)
    return {path: found.of(path) for path in data}


def described(found: dict[str, Syntax | Failure]) -> dict[str, str]:
    return {path: ast.dump(one.module) if isinstance(one, Syntax) else repr(one) for path, one in found.items()}


@pytest.fixture
def data() -> dict[str, bytes]:
    good = {f"m{number}.py": MODULE.format(number).encode() for number in range(6)}
    return good | {"bad.py": b"def f(:\n", "latin.py": b"# coding: latin-1\nx = '\xe9'\n"}


def test_a_syntax_error_is_a_failure_and_its_neighbours_are_read(data: dict[str, bytes]) -> None:
    found = read(data)
    assert [path for path, one in found.items() if isinstance(one, Failure)] == ["bad.py"]
    assert str(found["bad.py"]).startswith("bad.py:1: syntax error: something is left open")


def parse_here(source: Source) -> Syntax:
    try:
        return Syntax(ast.parse(source.code), source.code)
    except SyntaxError as error:
        raise SourceError(source.path, "syntax error", error.lineno) from None


@pytest.mark.parametrize("jobs", [1, 3])
def test_what_libcst_reads_comes_back_from_its_processes(
    data: dict[str, bytes], monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    here = described(read(data))
    monkeypatch.setattr(parser, "parse_natively", lambda _: None)
    monkeypatch.setattr(parser, "parse_with_libcst", parse_here)
    assert described(read(data, jobs)) == here | {"bad.py": repr(Failure("bad.py", "syntax error", 1))}


@pytest.mark.parametrize("function", ["parse_natively", "parse_with_libcst"])
def test_a_fault_of_ours_in_one_file_is_named_and_not_kept(
    data: dict[str, bytes], monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    def stumble(source: Source) -> Syntax:
        if source.path == "bad.py":
            raise KeyError("loader")
        return parse_here(source)

    monkeypatch.setattr(parser, function, stumble)
    reads = Reading(data, {})
    reads.gather(data, 2)
    said = "reading it broke down, please report it: KeyError: 'loader'"
    assert reads.of("bad.py") == Failure("bad.py", said)
    assert not reads.repeatable
    assert isinstance(reads.of("m1.py"), Syntax)


@pytest.mark.parametrize(("number", "repeatable"), [(signal.SIGSEGV, True), (signal.SIGKILL, False)])
def test_a_process_that_dies_takes_one_file_with_it(
    data: dict[str, bytes], monkeypatch: pytest.MonkeyPatch, number: int, repeatable: bool
) -> None:
    def die(source: Source) -> Syntax:
        if source.path == "m3.py":
            os.kill(os.getpid(), number)
        return parse_here(source)

    monkeypatch.setattr(parser, "parse_natively", lambda _: None)
    monkeypatch.setattr(parser, "parse_with_libcst", die)
    reads = Reading(data, {})
    reads.gather(data, 1)
    failure = reads.of("m3.py")
    assert isinstance(failure, Failure)
    assert failure.message.startswith("not analysed: ")
    assert isinstance(reads.of("m4.py"), Syntax)
    assert reads.repeatable is repeatable


def test_a_file_that_takes_far_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def turn(_source: Source) -> Syntax:
        while True:
            pass

    monkeypatch.setattr(processes, "CPU_SECONDS", 0)
    monkeypatch.setattr(parser, "parse_natively", lambda _: None)
    monkeypatch.setattr(parser, "parse_with_libcst", turn)
    found = read({"slow.py": b"x = 1\n"})
    assert found == {"slow.py": Failure("slow.py", "not analysed: takes far more time than others of its size")}


def test_a_file_of_many_megabytes_is_not_analysed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LARGEST_BYTES", 100)
    found = read({"big.py": b"x = 1\n" * 100})
    assert found == {"big.py": Failure("big.py", "not analysed: more than 0 MB")}


def test_the_deepest_tree_that_is_read_comes_back_from_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser, "parse_natively", lambda _: None)
    monkeypatch.setattr(parser, "parse_with_libcst", parse_here)
    assert isinstance(read({"deep.py": ("x = a" + ".b" * 190).encode()})["deep.py"], Syntax)


def test_syntax_of_a_newer_python_is_read() -> None:
    text = "type A[T] = list[T]\ndef f[T](x: T): return t'é' + DataLoader(x)\n"
    syntax = read({"new.py": text.encode()})["new.py"]
    assert isinstance(syntax, Syntax)
    [call] = [node for node in ast.walk(syntax.module) if isinstance(node, ast.Call)]
    assert syntax.place(call) == (2, 30, 2, 43)
