"""Files of reports, compressed by their name."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

from pytest_dataloader.report import files

if TYPE_CHECKING:
    from pathlib import Path


def test_a_name_in_gz_is_compressed_and_gives_the_same_bytes_each_time(tmp_path: Path) -> None:
    one, other = tmp_path / "ours.json.gz", tmp_path / "other.json.gz"
    for path in (one, other):
        files.write_text(path, "ä" * 10_000)
    assert gzip.decompress(one.read_bytes()).decode() == "ä" * 10_000
    assert len(one.read_bytes()) < 1000
    assert one.read_bytes() == other.read_bytes()


def test_another_name_is_not(tmp_path: Path) -> None:
    files.write_text(tmp_path / "ours.json", "ä")
    assert (tmp_path / "ours.json").read_text(encoding="utf-8") == "ä"
