"""Whether a call of ``set_sharing_strategy("file_system")`` is sure to have run, which keeps no descriptors (DL305)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.lint.conftest import Project

KEEPING = """\
import torch
from torch.utils.data import DataLoader


def evaluate(dataset):
    kept = []
    for images, labels in DataLoader(dataset, num_workers=4):
        kept.append(labels.detach())
    return torch.cat(kept)
"""


def choosing(first: str) -> str:
    """The file that keeps batches, with statements that run as it is imported."""
    return KEEPING.replace("\n\n\ndef", f"\n\n{first}\n\ndef", 1)


CASES: dict[str, tuple[dict[str, str], bool]] = {
    "by_a_flag": (
        {
            "evaluate.py": choosing(
                """\
if torch.cuda.is_available():
    torch.multiprocessing.set_sharing_strategy("file_system")
"""
            ),
        },
        True,
    ),
    "for_one_of_two": (
        {
            "evaluate.py": KEEPING,
            "other.py": """\
import torch
from evaluate import evaluate
from torch.utils.data import TensorDataset

if __name__ == "__main__":
    evaluate(TensorDataset(torch.zeros(9, 2), torch.zeros(9)))
""",
            "train.py": """\
import torch
from evaluate import evaluate

torch.multiprocessing.set_sharing_strategy("file_system")

if __name__ == "__main__":
    evaluate([1])
""",
        },
        True,
    ),
    "imported": (
        {
            "evaluate.py": KEEPING,
            "train.py": """\
import torch
from evaluate import evaluate

torch.multiprocessing.set_sharing_strategy("file_system")


def main(dataset):
    evaluate(dataset)


if __name__ == "__main__":
    main([1])
""",
        },
        False,
    ),
    "in_its_file": (
        {
            "evaluate.py": choosing(
                """\
torch.multiprocessing.set_sharing_strategy("file_system")
"""
            ),
        },
        False,
    ),
    "in_main": (
        {
            "evaluate.py": KEEPING,
            "train.py": """\
import torch
from evaluate import evaluate


def main(dataset):
    torch.multiprocessing.set_sharing_strategy("file_system")
    evaluate(dataset)


if __name__ == "__main__":
    main([1])
""",
        },
        False,
    ),
    "in_some_runs": (
        {
            "evaluate.py": KEEPING,
            "train.py": """\
import torch
from evaluate import evaluate


def main(dataset, many):
    if many:
        torch.multiprocessing.set_sharing_strategy("file_system")
    evaluate(dataset)


if __name__ == "__main__":
    main([1], False)
""",
        },
        True,
    ),
    "of_descriptors": (
        {
            "evaluate.py": choosing(
                """\
torch.multiprocessing.set_sharing_strategy("file_descriptor")
"""
            ),
        },
        True,
    ),
    "under_guard": (
        {
            "evaluate.py": KEEPING,
            "train.py": """\
import torch
from evaluate import evaluate


if __name__ == "__main__":
    torch.multiprocessing.set_sharing_strategy("file_system")
    evaluate([1])
""",
        },
        False,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_descriptors_are_kept_unless_a_call_is_sure_to_choose_otherwise(project: Project, name: str) -> None:
    files, kept = CASES[name]
    project.write(files)
    assert [one["code"] for one in project.lint_json("--select", "DL305").records] == ["DL305"] * kept
