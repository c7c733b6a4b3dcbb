"""What DL301 says of how much memory a container takes, and of what to keep instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.lint.conftest import Project

DATA = """\
import json

from PIL import Image
from torch.utils.data import Dataset


class Records(Dataset):
    def __init__(self, path):
        self.records = json.load(open(path))

    def __getitem__(self, index):
        return {body}
"""
CLIPS = """\
import os

from torch.utils.data import Dataset


class Clips(Dataset):
    def __init__(self, root, first):
        self.clips = []
        for name in os.listdir(root):
            frames = {frames}
            self.clips.append({{"name": name, "frames": frames}})

    def __getitem__(self, index):
        return self.clips[index]["frames"][:16]
"""


def said(project: Project, source: str) -> dict[str, str]:
    """The one finding of a file: its message and its remedy."""
    project.write({"data.py": source})
    [record] = project.lint_json("--pedantic", "--select", "DL301").records
    return {"message": record["message"], "remedy": record["remedy"]}


def test_records_of_a_file_come_with_the_number_from_which_they_matter(project: Project) -> None:
    flat = said(project, DATA.format(body='Image.open(self.records[index]["path"])'))
    assert flat["message"].endswith("; at about 0.6 kB each, 200,000 make 100 MB a worker")
    untold = said(project, DATA.format(body='self.records[index]["target"]'))
    assert untold["message"].endswith("; at about 1.2 kB each, 80,000 make 100 MB a worker")
    nested = said(project, DATA.format(body='[box for box in self.records[index]["boxes"]]'))
    assert nested["message"].endswith("; at about 2 kB each, 50,000 make 100 MB a worker")


def test_a_list_of_a_range_is_to_stay_a_range(project: Project) -> None:
    found = said(project, CLIPS.format(frames="list(range(first, first + 300))"))
    assert "a copy of what it reads of them" in found["message"]
    assert found["remedy"].startswith("keep `range(…)` itself, not a list of it (data.py:10)")


def test_other_lists_are_to_go_into_arrays(project: Project) -> None:
    for frames in ("sorted(os.listdir(name))", "[first + n for n in range(300)]", "list(map(str, range(300)))"):
        found = said(project, CLIPS.format(frames=frames))
        assert "a copy of all of them" in found["message"]
        assert found["remedy"].startswith("keep numbers and strings in a numpy array")


def test_a_range_itself_is_no_list(project: Project) -> None:
    found = said(project, CLIPS.format(frames="range(first, first + 300)"))
    assert found["remedy"].startswith("keep numbers and strings in a numpy array")


ROWS = """\
from torch.utils.data import Dataset


class Clips(Dataset):
    def __init__(self, path):
        self.clips = []
        for line in open(path):
            name, start, end = line.split(",")
            last = {end}
            self.clips.append({clip})

    def __getitem__(self, index):
        name, start, end = self.clips[index]
        return name, start, end
"""


def test_what_is_made_a_number_is_weighed_as_one(project: Project) -> None:
    for clip in ("(name, float(start), last)", "{'name': name, 'start': float(start), 'end': last}"):
        for end, kilobytes in (("int(end)", "0.26"), ("end.strip()", "0.34")):
            found = said(project, ROWS.replace("{end}", end).replace("{clip}", clip))
            assert f"; at about {kilobytes} kB each" in found["message"]
