"""The JSON report: its shape, and that readers never see a part of it."""

from __future__ import annotations

import json as stdlib_json
import os
from typing import TYPE_CHECKING

import pytest

from pytest_dataloader.record import Record
from pytest_dataloader.report import json
from pytest_dataloader.verdict import Advice

if TYPE_CHECKING:
    from pathlib import Path

MEMORY = Record(
    "train", "pyproject.toml::train", "DataLoader(...)", "memory", "passed", "no growth", {"growth": 0}, {}, ()
)
THROUGHPUT = Record(
    "train",
    "pyproject.toml::train",
    "",
    "throughput",
    "failed",
    "too slow",
    {"samples_per_second": 12.5},
    {"min_samples_per_second": 20.0},
    (Advice("DL207", "use workers"),),
)


def test_checks_of_a_loader_stand_together() -> None:
    content = json.evidence_document([THROUGHPUT, MEMORY], {"python": "3.11"})
    assert content == {
        "schema": 1,
        "environment": {"python": "3.11"},
        "loaders": [
            {
                "id": "train",
                "nodeid": "pyproject.toml::train",
                "description": "DataLoader(...)",
                "checks": {
                    "throughput": {
                        "verdict": "failed",
                        "reason": "too slow",
                        "evidence": {"samples_per_second": 12.5},
                        "limits": {"min_samples_per_second": 20.0},
                        "advice": [{"code": "DL207", "text": "use workers"}],
                    },
                    "memory": {
                        "verdict": "passed",
                        "reason": "no growth",
                        "evidence": {"growth": 0},
                        "limits": {},
                        "advice": [],
                    },
                },
            }
        ],
    }


def test_a_report_is_written_over_the_last_one_with_the_folders_it_needs(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "seen.json"
    json.write_json(path, {"schema": 1, "loaders": ["ä", "\udcff"]})
    json.write_json(path, {"schema": 1, "loaders": []})
    assert stdlib_json.loads(path.read_text(encoding="utf-8")) == {"schema": 1, "loaders": []}
    assert [file.name for file in path.parent.iterdir()] == ["seen.json"]  # no draft is left
    umask = os.umask(0)
    os.umask(umask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask


def test_a_report_that_cannot_be_written_leaves_the_last_one_whole(tmp_path: Path) -> None:
    path = tmp_path / "seen.json"
    json.write_json(path, {"schema": 1})
    with pytest.raises(ValueError, match="not JSON compliant"):
        json.write_json(path, {"schema": float("nan")})
    assert stdlib_json.loads(path.read_text()) == {"schema": 1}
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(OSError, match=r"Not a directory|exists"):
        json.write_json(path / "below.json", {"schema": 1})
