"""Traces as they are, as profilers should not write them, cut off, damaged, and larger than a window of memory."""

from __future__ import annotations

import contextlib
import gzip
import json
import random
from typing import TYPE_CHECKING, Any

import pytest

from pytest_dataloader.errors import BadTrace
from pytest_dataloader.probe.device import json_stream
from pytest_dataloader.probe.device.json_stream import read_events

if TYPE_CHECKING:
    from pathlib import Path

EVENTS = [
    {"ph": "X", "name": f"kernel {number} \\ ü \"'", "ts": number + 0.25, "args": {"n": [1, {}]}}
    for number in range(50)
]
DOCUMENT = {"schemaVersion": 1, "deviceProperties": [{"id": 0}], "traceEvents": EVENTS, "traceName": "after"}


@pytest.fixture(params=[7, 64, 1 << 20])
def window(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Characters that are read at a time."""
    monkeypatch.setattr(json_stream, "_CHUNK", request.param)
    return int(request.param)


def written(folder: Path, text: str, *, packed: bool = False) -> Path:
    path = folder / ("trace.json.gz" if packed else "trace.json")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    return path


@pytest.mark.usefixtures("window")
@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("packed", [False, True])
def test_each_event_comes_once_and_in_order(tmp_path: Path, indent: int | None, packed: bool) -> None:
    about: dict[str, Any] = {}
    assert list(read_events(written(tmp_path, json.dumps(DOCUMENT, indent=indent), packed=packed), about)) == EVENTS
    assert about == {key: value for key, value in DOCUMENT.items() if key != "traceEvents"}


@pytest.mark.usefixtures("window")
def test_a_list_of_events_alone_is_a_trace(tmp_path: Path) -> None:
    assert list(read_events(written(tmp_path, json.dumps(EVENTS)))) == EVENTS


@pytest.mark.parametrize("window", [64, 1 << 20], indirect=True)
@pytest.mark.usefixtures("window")
def test_what_profilers_write_that_is_no_json(tmp_path: Path) -> None:
    text = (
        '{"traceEvents": [\n{"name": "plain"},\n{"name": "copy", "dur": 0, "bandwidth": inf},\n'
        '{"name": "C:\\work\\new\\file.py", "low": -inf, "occupancy": nan},\n'
        '{"name": "a bell \x07 and\na line"}, {"name": "last \\u00fc"}\n]}'
    )
    assert [event["name"] for event in read_events(written(tmp_path, text))] == [
        "plain",
        "copy",
        "C:\\work\new\file.py",
        "a bell \x07 and\na line",
        "last ü",
    ]


@pytest.mark.usefixtures("window")
@pytest.mark.parametrize("packed", [False, True])
def test_a_trace_that_is_cut_off_gives_what_it_has_and_then_says_so(tmp_path: Path, packed: bool) -> None:
    text = json.dumps(DOCUMENT, indent=1)
    for cut in (1, 40, len(text) // 2, len(text) - 40, len(text) - 2):
        path = tmp_path / "trace.json"
        path.write_bytes(gzip.compress(text.encode())[:cut] if packed else text.encode()[:cut])
        if packed and cut >= len(gzip.compress(text.encode())):
            continue
        seen: list[object] = []
        with pytest.raises(BadTrace, match=r"trace\.json") as caught:
            seen.extend(read_events(path))
        assert "\n" not in str(caught.value)
        assert seen == EVENTS[: len(seen)]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "neither an object nor a list"),
        (b"not json", "neither an object nor a list"),
        (b'{"a": 1}', "no list of traceEvents"),
        (b'{"traceEvents": 7}', "no list of traceEvents"),
        (b'{"traceEvents": [{"a": }]}', "no JSON at character 17"),
        (b'{"traceEvents" [1]}', "expected a key and its value"),
        (b'{"traceEvents": [' + b"[" * 100_000, "nested too deeply"),
        (b"\x1f\x8b but nothing packed", "cannot read"),
        (b"\xff\xfe\x00\x01", "neither an object nor a list"),
    ],
)
def test_what_is_no_trace_is_told_in_a_line(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(content)
    with pytest.raises(BadTrace, match=words) as caught:
        list(read_events(path))
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadTrace, match="No such file"):
        list(read_events(tmp_path / "nothing.json"))
    with pytest.raises(BadTrace, match="directory"):
        list(read_events(tmp_path))


def test_an_event_without_an_end_is_not_read_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "_LONGEST", 1 << 21)
    with pytest.raises(BadTrace, match="no JSON at character 17"):
        list(read_events(written(tmp_path, '{"traceEvents": [{"name": "' + "a" * (1 << 23))))


@pytest.mark.usefixtures("window")
def test_damaged_traces_are_read_or_named_and_nothing_else(tmp_path: Path) -> None:
    text, chance = json.dumps(DOCUMENT, indent=1).encode(), random.Random(7)
    for _ in range(60):
        damaged = bytearray(text)
        for _ in range(chance.randint(1, 8)):
            at = chance.randrange(len(damaged))
            match chance.randrange(3):
                case 0:
                    damaged[at] = chance.randrange(256)
                case 1:
                    del damaged[at : at + chance.randint(1, 30)]
                case _:
                    damaged[at:at] = chance.randbytes(chance.randint(1, 30))
        path = tmp_path / "trace.json"
        path.write_bytes(damaged)
        with contextlib.suppress(BadTrace):
            list(read_events(path))
