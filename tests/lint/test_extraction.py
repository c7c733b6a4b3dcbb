"""Facts from the cache, from here, from processes; and files that break parsers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from dl_lint import extraction, processes
from dl_lint.cache import Cache, digest
from dl_lint.extraction import Extraction, monstrous
from dl_lint.facts import FileFacts, read
from dl_lint.report import Failure

if TYPE_CHECKING:
    from dl_lint.source import Source

MODULE = "from torch.utils.data import DataLoader\n\nloader = DataLoader(make({}))\n"


def extract(data: dict[str, bytes], cache: Cache, jobs: int = 1) -> dict[str, FileFacts | Failure]:
    found = Extraction(data, {path: digest(content) for path, content in data.items()}, cache)
    found.gather(data, jobs)
    return {path: found.of(path) for path in data}


def described(found: dict[str, FileFacts | Failure]) -> dict[str, str]:
    return {path: repr(one) for path, one in found.items()}


@pytest.fixture
def data() -> dict[str, bytes]:
    good = {f"m{number}.py": MODULE.format(number).encode() for number in range(6)}
    return good | {"bad.py": b"def f(:\n", "latin.py": b"# coding: latin-1\nx = '\xe9'\n"}


def test_cache_processes_and_this_process_agree(
    tmp_path: Path, data: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = Cache(str(tmp_path))
    here = extract(data, Cache(None))
    assert isinstance(here["bad.py"], Failure)
    assert isinstance(here["latin.py"], FileFacts)
    monkeypatch.setattr(extraction, "WORTH_PROCESSES_BYTES", 0)
    apart = extract(data, cache, jobs=3)
    monkeypatch.setattr(extraction, "read", None)  # what is not in the cache breaks down now
    assert described(extract(data, cache)) == described(apart) == described(here)


def test_a_change_of_the_facts_code_makes_old_records_strangers(
    tmp_path: Path, data: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = Cache(str(tmp_path))
    extract(data, cache)
    monkeypatch.setattr(extraction, "tool_version", lambda *_: "another")
    monkeypatch.setattr(extraction, "read", None)
    assert {path for path, one in extract(data, cache).items() if "broke down" in str(one)} == data.keys()


@pytest.mark.parametrize("worth", [0, 10**9])
def test_a_fault_of_ours_in_one_file_is_named_and_not_kept(
    tmp_path: Path, data: dict[str, bytes], monkeypatch: pytest.MonkeyPatch, worth: int
) -> None:
    def stumble(source: Source) -> FileFacts:
        if source.path == "m3.py":
            raise KeyError("loader")
        return read(source)

    cache = Cache(str(tmp_path))
    monkeypatch.setattr(extraction, "WORTH_PROCESSES_BYTES", worth)
    monkeypatch.setattr(extraction, "read", stumble)
    broken = extract(data, cache, jobs=2)
    assert broken["m3.py"] == Failure("m3.py", "reading it broke down, please report it: KeyError: 'loader'")
    monkeypatch.undo()
    assert described(extract(data, cache)) == described(extract(data, Cache(None)))
    assert [path for path, one in broken.items() if isinstance(one, Failure)] == ["m3.py", "bad.py"]


MONSTERS = {
    "brackets": "x = " + "(" * 3_000 + "1" + ")" * 3_000,
    "lists": "x = " + "[\n" * 3_000 + "]\n" * 3_000,
    "signs": "x = " + "-" * 50_000 + "1",
    "attributes": "x = a" + ".b" * 10_000,
    "elifs": "if 1:\n pass\n" + "elif 1:\n pass\n" * 30_000,
    "lambdas": "x = " + "lambda:" * 20_000 + "1",
    "powers": "x = (a" + " \\\n** a" * 20_000 + ")",
}


@pytest.mark.parametrize("name", MONSTERS)
def test_a_monstrous_file_is_not_analysed_and_its_neighbours_are(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "CPU_SECONDS", 1)
    data = {"good.py": MODULE.encode(), "monster.py": MONSTERS[name].encode(), "table.py": TABLE.encode()}
    assert monstrous(data["monster.py"])
    found = extract(data, Cache(None))
    assert isinstance(found["good.py"], FileFacts)
    assert isinstance(found["table.py"], FileFacts)
    failure = found["monster.py"]
    assert isinstance(failure, Failure)
    assert failure.message.startswith("not analysed: ")


# Wide, not deep: looked at in a process of its own, and read.
TABLE = "NAMES = [\n" + "    'a name among many',\n" * 1_000 + "]\n"


def test_usual_files_are_no_monsters() -> None:
    assert monstrous(TABLE.encode())
    usual = sorted(Path(extraction.__file__).parent.rglob("*.py"))
    assert not [path for path in usual if monstrous(path.read_bytes())]


def test_a_file_of_many_megabytes_is_not_analysed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extraction, "LARGEST_BYTES", 100)
    found = extract({"big.py": b"x = 1\n" * 100}, Cache(None))
    assert found == {"big.py": Failure("big.py", "not analysed: more than 0 MB")}


def test_deep_nesting_that_the_parser_survives_does_not_overflow_python() -> None:
    found = extract({"deep.py": ("x = " + "[" * 400 + "]" * 400).encode()}, Cache(None))
    assert isinstance(found["deep.py"], Failure)
    assert found["deep.py"].message == "not analysed: nested too deeply"
