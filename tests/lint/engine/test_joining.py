"""What a fault does on several lines of one block is one finding."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from dl_lint.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

LOOP = """
from torch.utils.data import DataLoader


def train(model, dataset, others):
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    for images, labels, weights in loader:
        images = images.to("cuda")
        labels = labels.to("cuda"){comment}
        weights = weights.to("cuda")
        model(images, labels, weights)
        masks = images.new_zeros(3)
    for images, _ in DataLoader(others, num_workers=4, pin_memory=True):
        model(images.to("cuda"))
"""


def lines(folder: Path, capsys: pytest.CaptureFixture[str], comment: str = "") -> list[int]:
    (folder / "train.py").write_text(LOOP.format(comment=comment))
    main(["--no-cache", "--select", "DL102", "--output-format", "json", str(folder)])
    return [finding["location"]["row"] for finding in json.loads(capsys.readouterr().out)]


def test_copies_side_by_side_are_one_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert lines(tmp_path, capsys) == [8, 14]


def test_a_comment_takes_back_its_own_line_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert lines(tmp_path, capsys, "  # dl-lint: ignore[DL102]") == [8, 10, 14]


def test_one_fix_mends_them_all(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(LOOP.format(comment=""))
    main(["--no-cache", "--select", "DL102", "--fix", str(tmp_path)])
    assert (tmp_path / "train.py").read_text().count("non_blocking=True") == 4
