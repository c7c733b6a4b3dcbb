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
