"""How many samples the words of a data set's class tell: its documentation, or the name of a public data set."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dl_lint.facts import tree as t

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.model import Project
    from dl_lint.project.values import Class

_DOCUMENTED = re.compile(r"(\"\"\".*?\"\"\"|'''.*?''')", re.DOTALL)

_NUMBERED = re.compile(
    r"(?<![\w.,=/] )(?<![\w.,=/*])(?P<number>\d{1,3}(?:,\d{3})+|\d{3,8}|\d{1,4}(?P<thousands>k))\s+(?:\w+\s+)?"
    r"(?P<things>samples?|images?|train|training|test|testing|validation|records?|examples?|pairs|clips|utterances)\b"
    r"(?!\s*(?:per|/|a)\b)",
    re.IGNORECASE,
)
"""``11,000 train, 1000 test``; not a number that something is divided by, nor one in a name or for a second."""

_OF_SOUND = ("sample_rate", "sampling", "samplerate", "khz")
"""Words of code for which a sample is one number of a sound."""

PUBLIC = {
    "coco": 118_000,
    "imagenet": 1_281_000,
    "kinetics": 240_000,
    "audioset": 2_000_000,
    "librispeech": 281_000,
    "openimages": 1_700_000,
    "laion": 400_000_000,
}
"""Images, clips or utterances of the training part of large public data sets."""

_NAMED = re.compile(rf"(?<![a-z])(?:ms)?({'|'.join(PUBLIC)})(?![a-z_ -]*format)", re.IGNORECASE | re.ASCII)

SMALL = {
    "ade20k": 20_200,
    "camvid": 400,
    "cifar": 50_000,
    "cityscapes": 23_000,
    "crowdpose": 36_000,
    "div2k": 800,
    "dukemtmc": 16_500,
    "esc50": 2_000,
    "ffhq": 70_000,
    "flickr8k": 30_000,
    "food101": 75_800,
    "hmdb51": 3_600,
    "kitti": 86_000,
    "ljspeech": 13_100,
    "market1501": 13_000,
    "mnist": 60_000,
    "modelnet": 9_800,
    "mpii": 25_000,
    "msmt17": 32_600,
    "nuscenes": 28_100,
    "pascalvoc": 16_600,
    "shapenet": 51_000,
    "speechcommands": 85_000,
    "svhn": 73_300,
    "timit": 4_600,
    "ucf101": 9_500,
    "urbansound8k": 8_700,
    "vctk": 44_000,
    "vimeo90k": 64_600,
    "youtubevos": 3_500,
}
"""Samples of the training part of smaller ones, rounded up: images, persons, captions, clips, frames, point clouds or
utterances, as their own pages tell. A class is of one by its own name: others may be mentioned in passing."""


def told(project: Project, cls: Class) -> int:
    """The samples that a class is said to be of; 0 where nothing says it."""
    return project.evaluator.once(("told size", cls), lambda: _told(project, cls))


def _told(project: Project, cls: Class) -> int:
    node = cls.scope.node
    if not isinstance(node, t.ClassDef) or cls.scope.file.path.endswith(".ipynb"):
        return 0
    lines = project.evaluator.files.text(cls.scope.file).splitlines()
    text = "\n".join(lines[node.at[0] - 1 : node.end_line])
    counted = sum(_numbers(text))
    if counted:
        return counted
    large = [PUBLIC[name.lower()] for name in _NAMED.findall(text)]
    named = node.name.lower().replace("_", "")
    return max(large or (size for name, size in SMALL.items() if name in named), default=0)


def _numbers(text: str) -> Iterator[int]:
    """The numbers of samples that the documentation in a class tells."""
    of_sound = any(word in text.lower() for word in _OF_SOUND)
    for words in _DOCUMENTED.findall(text):
        for found in _NUMBERED.finditer(words):
            if not (of_sound and found["things"].lower().startswith("sample")):
                number = int(found["number"].lower().rstrip("k").replace(",", ""))
                yield number * 1000 if found["thousands"] else number
