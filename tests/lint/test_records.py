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
    '''100,000 samples.'''

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


CHOSEN = """\
import argparse
import json

from torch.utils.data import DataLoader, Dataset


class Boxes(Dataset):
    '''100,000 samples.'''

    def __init__(self, path):
        self.entries = json.load(open(path))

    def __getitem__(self, index):
        return list(self.entries[index]["boxes"])


parser = argparse.ArgumentParser()
parser.add_argument("--data", default="images")
parser.add_argument("--kind")
parser.add_argument("--boxes-of")
parser.add_argument("--with-boxes", action="store_true")
args = parser.parse_args()
if {test}:
    loader = DataLoader(Boxes("boxes.json"), num_workers=8)
"""


@pytest.mark.parametrize(
    ("test", "prose", "severities"),
    [
        ("args.data == 'boxes'", "Run `main.py --data boxes`.", ["slow"]),
        ("args.data == 'boxes'", "Run `main.py --data images`.", []),
        ("args.data == 'boxes'", "See [the boxes-2d](page).", []),
        ("args.data in ('boxes', 'all')", "With `--data=all`, more.", ["slow"]),
        ("args.data == 'boxes'", "Data sets: Images and BOXES.", ["slow"]),
        ("args.data in ('images', 'boxes')", "", ["slow"]),
        ("args.data in ('boxes', DEFAULT)", "", ["slow"]),
        ("args.data in 'boxes and images'", "", ["slow"]),
        ("args.data != 'images'", "", ["slow"]),
        ("args.kind == 'boxes'", "", ["slow"]),
        ("args.boxes_of", "", ["slow"]),
        ("args.with_boxes", "Add --with-boxes.", ["slow"]),
        ("args.with_boxes", "Boxes are drawn.", []),
        ("not args.with_boxes", "", ["slow"]),
    ],
)
def test_a_dataset_for_an_option_counts_where_the_readme_speaks_of_it(
    project: Project, test: str, prose: str, severities: list[str]
) -> None:
    project.write({"main.py": CHOSEN.format(test=test), "README.md": f"# Images\n\n{prose}\n"})
    found = [one for one in project.lint_json().records if one["code"] == "DL301"]
    assert [one["severity"] for one in found] == severities


def test_without_a_readme_nobody_knows_which_options_are_told(project: Project) -> None:
    project.write({"main.py": CHOSEN.format(test="args.data == 'boxes'")})
    assert [one["severity"] for one in project.lint_json().records if one["code"] == "DL301"] == ["slow"]


DATASETS = "import json\n\nfrom torch.utils.data import Dataset\n" + "".join(
    f"""

class {name}(Dataset):
    '''100,000 samples.'''

    def __init__(self, path):
        self.entries = json.load(open(path))

    def __getitem__(self, index):
        return list(self.entries[index]["boxes"])
"""
    for name in ("Boxes", "Masks", "Extra", "Usual", "Anyway")
)
BUILDERS = """\
from data import Anyway, Boxes, Extra, Masks, Usual


def build_masks(args):
    return Masks(args.path)


def build(args):
    if args.dataset == "boxes":
        return Boxes(args.path)
    if args.dataset in ("masks", "panoptic"):
        return build_masks(args)
    if args.dataset == "anyway":
        return Anyway(args.path)
    if args.extra and args.path:
        return Extra(args.path)
    if args.usual:
        return Usual(args.path)
    return Anyway(args.path)
"""
MAIN = """\
import argparse

from builders import build
from torch.utils.data import DataLoader

parser = argparse.ArgumentParser()
parser.add_argument("--path", required=True)
parser.add_argument("--dataset", default="boxes")
parser.add_argument("--extra", action="store_true")
parser.add_argument("--not-usual", dest="usual", action="store_false")

if __name__ == "__main__":
    for batch in DataLoader(build(parser.parse_args()), num_workers=8):
        print(batch)
"""


def test_datasets_for_options_are_told_from_others_through_their_builders(project: Project) -> None:
    project.write({"data.py": DATASETS, "builders.py": BUILDERS, "main.py": MAIN, "README.md": "# Boxes\n"})
    found = [one for one in project.lint_json("--pedantic").records if one["code"] == "DL301"]
    lines = DATASETS.splitlines()
    severities = {
        next(line for line in reversed(lines[: one["location"]["row"]]) if line.startswith("class "))[6:-10]: one[
            "severity"
        ]
        for one in found
    }
    assert severities == {"Boxes": "slow", "Masks": "advice", "Extra": "advice", "Usual": "slow", "Anyway": "slow"}
