"""What DL204 asks for, by where the number of workers comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.lint.conftest import Project

TRAIN = """\
from torch.utils.data import DataLoader


def train(model, dataset, epochs, cuda, args):
    {before}
    loader = DataLoader(dataset, {workers})
    for epoch in range(epochs):
        for batch in loader:
            model(batch)
"""


@pytest.mark.parametrize(
    ("before", "workers", "wanted"),
    [
        ("", "num_workers=4", "`persistent_workers=True`"),
        ("n = 4 if cuda else 0", "num_workers=n", "`persistent_workers=n > 0`"),
        (
            "kwargs = {'num_workers': 4, 'pin_memory': True} if cuda else {}",
            "**kwargs",
            "`persistent_workers=True` beside `num_workers` in `kwargs`",
        ),
        ("", "**{'num_workers': 4}", "`persistent_workers=True`"),
    ],
    ids=["literal", "name", "spread", "spread literal"],
)
def test_the_remedy_can_be_typed_as_it_is(project: Project, before: str, workers: str, wanted: str) -> None:
    project.write({"train.py": TRAIN.format(before=before or "pass", workers=workers)})
    (record,) = project.lint_json("--pedantic", "--select", "DL204").records
    remedy = str(record["remedy"])
    assert remedy.startswith(f"pass {wanted}")
    assert remedy.endswith(", so that the workers stay between epochs")


FROZEN = """\
import random

from torch.utils.data import Dataset


class Drawn(Dataset):
    def __init__(self, rows):
        self.rows = rows
        self.draws = random.Random(0)

    def __getitem__(self, index):
        return self.rows[index], self.draws.random()
"""
SCRIPT = """\
from torch.utils.data import Dataset

from data import Drawn


def first(dataset: Dataset):
    return dataset[0]


if __name__ == "__main__":
    print(first(Drawn([1, 2])))
"""


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({}, 1),  # whoever takes it may have workers
        ({"train.py": SCRIPT}, 0),
        ({"train.py": SCRIPT, "loading.py": "from torch.utils.data import DataLoader\n"}, 1),
        ({"train.py": SCRIPT, "kit/setup.py": "", "kit/kit.py": "from torch.utils.data import DataLoader\n"}, 1),
    ],
    ids=str,
)
def test_a_project_with_scripts_and_no_loader_has_no_workers(
    project: Project, files: dict[str, str], found: int
) -> None:
    project.write({"data.py": FROZEN, **files})
    assert len(project.lint_json("--select", "DL402").places) == found


@pytest.mark.parametrize(
    ("workers", "said"),
    [
        ("4", "its 4 workers are"),
        ("1", "its one worker is"),
        ("8 if cuda else 4", "its 4 or 8 workers are"),
        ("4 if cuda else 0", "its 4 workers are"),
        ("args.workers", ""),
    ],
)
def test_each_number_of_workers_is_named(project: Project, workers: str, said: str) -> None:
    project.write({"train.py": TRAIN.format(before="pass", workers=f"num_workers={workers}")})
    messages = [str(one["message"]) for one in project.lint_json("--select", "DL204").records]
    assert [f"{said} restarted" in one for one in messages] == ([True] if said else [])
