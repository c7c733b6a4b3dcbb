"""``pytest-dataloader trace merge``: a trace of ``torch.profiler`` and one of ours as one."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_dataloader.diagnosis import documents
from pytest_dataloader.diagnosis.arguments import CommandParser
from pytest_dataloader.errors import BadTrace
from pytest_dataloader.printable import printable, put
from pytest_dataloader.report import files, merging

if TYPE_CHECKING:
    from collections.abc import Sequence

NAME = "trace merge"
_EXAMPLES = (
    "trace merge torch.json ours.json",
    "trace merge torch.json.gz ours.json -o both.json",
    "trace merge rank0.json ours.json -o both.json.gz",
)

_MERGED, _NOT_MERGED = 0, 2
_MOST_BYTES = 1_000_000_000
"""A second of a busy training step is some 10 MB of events."""


def main(arguments: Sequence[str]) -> int:
    """Merge the two files that the arguments name; the status to exit with."""
    parser = _parser()
    given = parser.parse(arguments)
    try:
        documents = [read_trace(given.torch), read_trace(given.ours)]
        merged = merging.merge(*documents)
    except BadTrace as error:
        print(printable(f"{parser.prog}: {error}"), file=sys.stderr)
        return _NOT_MERGED
    path = given.output or _beside(given.ours)
    try:
        files.write_text(path, json.dumps(merged, separators=(",", ":")) + "\n")
    except OSError as error:
        print(printable(f"{parser.prog}: cannot write {path}: {error.strerror or error}"), file=sys.stderr)
        return _NOT_MERGED
    counts = [len(document["traceEvents"]) for document in documents]
    put(printable(f"{path}: {counts[0]:,} events of torch.profiler, {counts[1]:,} of loaders\n"), sys.stdout)
    return _MERGED


def _parser() -> CommandParser:
    parser = CommandParser(
        NAME,
        "Put a loader's timeline into a trace of torch.profiler of the same run, for ui.perfetto.dev.",
        _EXAMPLES,
        "0 where a file was written, 2 where none was",
    )
    parser.add_argument("torch", type=Path, metavar="TORCH.json", help="what torch.profiler exported, also as .json.gz")
    parser.add_argument("ours", type=Path, metavar="OURS.json", help="what --trace or --dataloader-trace wrote")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="MERGED.json", help="the file to write (OURS.merged.json); .gz compresses"
    )
    return parser


def _beside(path: Path) -> Path:
    """OURS.merged.json for OURS.json, and for OURS.json.gz."""
    plain = path.with_suffix("") if path.suffix == ".gz" else path
    return plain.with_suffix(".merged.json")


def read_trace(path: Path) -> Any:
    """The trace in a file, compressed or not. Raises BadTrace that names the file."""
    document = documents.read_document(path, _MOST_BYTES, BadTrace)
    if not isinstance(document, dict) or not isinstance(document.get("traceEvents"), list):
        raise BadTrace(f"{path} is no trace: it has no list of traceEvents")
    return document
