"""How many samples the words of a data set's class tell: its documentation, or the name of a large public data set."""

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

_NAMED = re.compile(rf"(?<![a-z])(?:ms)?({'|'.join(PUBLIC)})(?![a-z_ -]*format)", re.IGNORECASE)


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
    return max((PUBLIC[name.lower()] for name in _NAMED.findall(text)), default=0)


def _numbers(text: str) -> Iterator[int]:
    """The numbers of samples that the documentation in a class tells."""
    of_sound = any(word in text.lower() for word in _OF_SOUND)
    for words in _DOCUMENTED.findall(text):
        for found in _NUMBERED.finditer(words):
            if not (of_sound and found["things"].lower().startswith("sample")):
                number = int(found["number"].lower().rstrip("k").replace(",", ""))
                yield number * 1000 if found["thousands"] else number
