"""What ``benchmarks/fix_corpora.py`` says of calls that a fix has changed."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

UNBOUND = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "bound_calls.py"))["unbound"]

CODE = """\
import torch
from torch.utils.data import DataLoader


class Batch:
    def __init__(self, rows):
        self.rows = rows

    def to(self, device{more}):
        return Batch(self.rows.to(device))


class Loader(DataLoader):
    def __init__(self, dataset, num_workers{more}):
        super().__init__(dataset, num_workers=num_workers)


def collate(rows):
    return Batch(torch.stack(rows))


def copy(tensor, *, device{more}):
    return tensor.to(device)


def train(dataset):
    Loader(dataset, 4)
    copy(dataset[0], device="cuda")
    torch.zeros(3)
    for batch in DataLoader(dataset, collate_fn=collate):
        batch.to("cuda")
"""

CHANGES = {
    "of a method": ('batch.to("cuda")', 'batch.to("cuda", non_blocking=True)'),
    "of a constructor": ("Loader(dataset, 4)", "Loader(dataset, 4, non_blocking=True)"),
    "of a function": ('device="cuda")', 'device="cuda", non_blocking=True)'),
    "of torch": ("collate_fn=collate)", "collate_fn=collate, non_blocking=True)"),
    "of a built-in": ("torch.zeros(3)", "torch.is_tensor(3, 4)"),
}


@pytest.mark.parametrize(("old", "new"), CHANGES.values(), ids=CHANGES)
def test_a_call_that_does_not_bind_any_more_is_told(old: str, new: str, tmp_path: Path) -> None:
    code = CODE.replace("{more}", "")
    before, after = {"a.py": code.encode()}, {"a.py": code.replace(old, new).encode()}
    (said,) = UNBOUND(tmp_path, before, after)
    assert new.rstrip(")").replace('"', "'") in said


@pytest.mark.parametrize(("old", "new"), [*CHANGES.values()][:3], ids=[*CHANGES][:3])
def test_one_that_binds_is_not(old: str, new: str, tmp_path: Path) -> None:
    code = CODE.replace("{more}", ", non_blocking=False")
    assert [*UNBOUND(tmp_path, {"a.py": code.encode()}, {"a.py": code.replace(old, new).encode()})] == []


def test_a_call_that_was_wrong_before_is_not_told(tmp_path: Path) -> None:
    code = CODE.replace("{more}", "").replace("Loader(dataset, 4)", "Loader(dataset, 4, 5, 6)")
    after = code.replace("torch.zeros(3)", "torch.zeros(3, dtype=torch.int64)")
    assert [*UNBOUND(tmp_path, {"a.py": code.encode()}, {"a.py": after.encode()})] == []
