"""What DL301 advises: only what the code around the records allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.lint.conftest import Project

DATA = """\
import os

from torch.utils.data import DataLoader, Dataset


class Clips(Dataset):
    def __init__(self, root):
        self.clips = []
        for name in os.listdir(root):
            length = os.path.getsize(name)
            self.clips.append({{"name": name, "frames": list(range(length)), "later": list(range(length))}})

    def __getitem__(self, index):
        clip = self.clips[index]
        return clip["name"], clip["frames"][3:7]

    def other(self, index, value):
        clip = self.clips[index]
        frames = clip["frames"]
        {body}


def make_loader(root):
    return DataLoader(Clips(root), num_workers=8)
"""

RANGE = "keep `range(…)` itself"
BYTES = "serialised in one byte array"


@pytest.mark.parametrize(
    ("body", "ranges", "serialised"),
    [
        ("return len(frames)", True, True),
        ("return frames[:2] + [value]", True, True),
        ("return frames + clip['later']", False, True),
        ("frames[0] = value", False, False),
        ("clip['frames'][0] = value", False, False),
        ("self.clips[index]['name'] = value", False, False),
        ("frames.append(value)", False, False),
        ("self.clips[index] = value", True, True),
        ("self.names[index] = value", True, True),
    ],
)
def test_the_remedy_is_one_that_the_code_bears(project: Project, body: str, ranges: bool, serialised: bool) -> None:
    project.write({"data.py": DATA.format(body=body)})
    [one] = [record for record in project.lint_json().records if record["code"] == "DL301"]
    assert (RANGE in str(one["remedy"])) is ranges
    assert (BYTES in str(one["remedy"])) is serialised
