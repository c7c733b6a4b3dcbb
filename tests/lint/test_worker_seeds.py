"""What DL404 advises where a function seeds several generators, torch's among them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.lint.conftest import Project

DATA = """\
import random

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Noisy(Dataset):
    def __getitem__(self, index):
        return np.random.rand() + random.random()


def seed_worker(worker_id):
    {first}
    {second}


def loader():
    return DataLoader(Noisy(), num_workers=4, worker_init_fn=seed_worker)
"""
ALONE = "derive the seed from `torch.initial_seed() % 2**32`, which differs by worker and epoch, or leave it to torch"
WITH_TORCH = f"{ALONE}. Remove `torch.manual_seed` (data.py:14), too: `torch.initial_seed()` is its number from then on"


@pytest.mark.parametrize(
    ("first", "second", "row", "likewise", "remedy"),
    [
        ("np.random.seed(worker_id)", "random.seed(worker_id)", 14, [15], ALONE),
        ("torch.manual_seed(worker_id)", "np.random.seed(worker_id)", 15, [], WITH_TORCH),
        ("torch.manual_seed(7)", "np.random.seed(worker_id)", 15, [], WITH_TORCH),
        ("np.random.seed(worker_id)", "torch.manual_seed(worker_id)", 14, [], ALONE),
        ("torch.manual_seed(torch.initial_seed() + worker_id)", "np.random.seed(worker_id)", 15, [], ALONE),
    ],
    ids=["two", "after torch", "after torch by a constant", "before torch", "after torch by its own seed"],
)
def test_one_finding_names_all_and_a_seed_of_torch_before(
    project: Project, first: str, second: str, row: int, likewise: list[int], remedy: str
) -> None:
    project.write({"data.py": DATA.format(first=first, second=second)})
    [one] = [record for record in project.lint_json().records if record["code"] == "DL404"]
    assert one["location"]["row"] == row
    assert [other["location"]["row"] for other in one["related"]] == [19, *likewise]
    assert one["remedy"] == remedy
