"""JSON documents that a command is given: regular files up to a size, compressed or not, and errors in a line."""

from __future__ import annotations

import gzip
import io
import json
import zlib
from typing import TYPE_CHECKING, Any

from pytest_dataloader.errors import BadReport
from pytest_dataloader.probe.host import disk
from pytest_dataloader.report import comparison

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_dataloader.errors import DataLoaderCheckError


_MOST_BYTES = 100_000_000
"""A loader's evidence is some 50 kB, with a timeline a megabyte."""


def read_report(path: Path) -> comparison.ReportedRun:
    """The run in a file of ``--dataloader-json``. Raises BadReport that names the file."""
    document = read_document(path, _MOST_BYTES, BadReport)
    try:
        return comparison.read_run(document)
    except BadReport as error:
        raise BadReport(f"{path}: {error}") from None


def read_document(path: Path, most_bytes: int, error_of: type[DataLoaderCheckError]) -> Any:
    """The document in a file of up to ``most_bytes``, also unpacked. Raises ``error_of`` that names the file."""
    try:
        content = disk.read_bytes(path, most_bytes)
        if content.startswith(b"\x1f\x8b"):
            content = _unpacked(content, most_bytes)
        return json.loads(content)
    except OSError as error:  # gzip's own are some
        raise error_of(f"cannot read {path}: {error.strerror or error}") from None
    except (EOFError, zlib.error) as error:
        raise error_of(f"cannot read {path}: {error}") from None
    except (ValueError, RecursionError) as error:
        raise error_of(f"{path} is no JSON: {error}") from None


def _unpacked(content: bytes, most_bytes: int) -> bytes:
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
        unpacked = file.read(most_bytes + 1)
    if len(unpacked) > most_bytes:
        raise disk.TooLargeError(0, f"unpacks to more than {most_bytes / 1e6:,.0f} MB")
    return unpacked
