"""How many samples the words of a data set's class tell: its documentation, or the name of a public data set there or
where its objects are made."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dl_lint.facts import tree as t
from dl_lint.project import attributes, public_sets, roles
from dl_lint.project.repetition import words
from dl_lint.project.syntax import children
from dl_lint.project.values import Class, Const, Option, alternatives

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dl_lint.project.model import Project

_DOCUMENTED = re.compile(r"(\"\"\".*?\"\"\"|'''.*?''')", re.DOTALL)

_NUMBERED = re.compile(
    r"(?<![\w.,=/*])(?P<number>\d{1,3}(?:,\d{3})+|(?<![\w.,=/] )(?:\d{3,8}|\d{1,4}(?P<thousands>k)))\s+(?:\w+\s+)?"
    r"(?P<things>samples?|images?|train|training|test|testing|validation|records?|examples?|pairs|clips|utterances)\b"
    r"(?!\s*(?:per|/|a)\b)",
    re.IGNORECASE,
)
"""``11,000 train, 1000 test``; not a number that something is divided by, nor one for a second, nor one in a name,
unless it is written with commas, as no year is."""

_OF_SOUND = ("sample_rate", "sampling", "samplerate", "khz")
"""Words of code for which a sample is one number of a sound."""

_TEXTS = re.compile(r"(?:\"\"\".*?\"\"\"|'''.*?'''|\"[^\"\n]*\"|'[^'\n]*')", re.DOTALL)
"""What is written between quotes in a line of code, and docstrings."""

_SETTING = re.compile(
    r"(?:norm|pretrain|weights|backbone|checkpoint|mean|std|stats)[a-z_]*\s*(?::\s*[\w.\[\]]+\s*)?={1,2}\s*$",
    re.IGNORECASE,
)
"""``normalize_type="imagenet"``, up to the text."""

_PATTERN = re.compile(r"[{%].*\.(?:jpe?g|png|npy|npz|txt|wav|mp4)\b", re.IGNORECASE)
"""``COCO_train2014_{}.jpg``: a name for each of them."""

FEW = 1
"""For a set that is known not to be large, whatever its number is."""

TRIALS = frozenset(
    {"debug", "demo", "dummy", "example", "examples", "fake", "longtail", "longtailed", "lt", "mini", "mock", "random",
     "small", "subset", "synthetic", "tiny", "toy"}
)  # fmt: skip
"""Words in the names of data sets that are none, or parts of one, whatever else their code mentions."""


_PARTS = frozenset({"val", "valid", "validation", "test", "testing", "eval", "evaluation"})
"""Words in the names of the lesser parts of data sets."""

_CHOICES = re.compile(r"""[\[({]\s*(?:(?:'[^'\n]*'|"[^"\n]*")\s*,\s*){2,}(?:'[^'\n]*'|"[^"\n]*")?\s*[\])}]""")
"""``["mvtec", "coco", "visa"]``: a class for any of several sets, small ones among them, tells none."""


def told(project: Project, cls: Class) -> int:
    """The samples that a class is said to be of, by itself or each of those that derive from it, of which the smallest
    counts, else by one that it derives from; 0 where nothing says it."""
    below = [_own(project, one) for one in project.evaluator.callers.subclasses(cls)]
    above = (one for one in attributes.lineage(project.evaluator, cls)[1:] if isinstance(one, Class))
    return _own(project, cls) or min(below, default=0) or max((_own(project, one) for one in above), default=0)


def _own(project: Project, cls: Class) -> int:
    return project.evaluator.once(("told size", cls), lambda: _told(project, cls))


def _told(project: Project, cls: Class) -> int:
    node = cls.scope.node
    if not isinstance(node, t.ClassDef) or cls.scope.file.path.endswith(".ipynb"):
        return 0
    lines = project.evaluator.files.text(cls.scope.file).splitlines()
    text = "\n".join(one for one in lines[node.at[0] - 1 : node.end_line] if not one.lstrip().startswith("#"))
    counted = sum(_numbers(text))
    if counted:
        return counted
    return 0 if TRIALS.intersection(words(node.name)) else _named(project, cls, node.name, text)


def _named(project: Project, cls: Class, name: str, text: str) -> int:
    """The samples of the public data set that a class is of: by its own name, by the texts in it, by its file or by
    what makes its objects."""
    if by_name := public_sets.large(name):
        return by_name
    if public_sets.is_small(name) or not _PARTS.isdisjoint(words(name)):
        return FEW
    within = max(map(public_sets.large, _texts(_CHOICES.sub("", text))), default=0)
    makers = [one for one in roles.makers(project, cls) if one and cls in alternatives(project.value(one.func))]
    around = (word for call in makers for word in _around(project, call))
    return within or max(map(public_sets.large, (_ends(cls.scope.file.path), *around)))


def _texts(code: str) -> Iterator[str]:
    """What is written between quotes, but for settings of something else and patterns of the names of files, which
    tell whose images a set is of and not how many."""
    for found in _TEXTS.finditer(code):
        said = found.group()
        if _SETTING.search(code[max(found.start() - 80, 0) : found.start()]):
            continue
        if said.startswith(('"""', "'''")) or not _PATTERN.search(said):
            yield said


def _ends(path: str) -> str:
    """The last folder of a path and the name of its file."""
    return "/".join(path.split("/")[-2:])


def _around(project: Project, call: t.Call) -> Iterator[str]:
    """What is written around a call that makes an object: what it is given, and the tests that it depends on."""
    for given in (*call.args, *(one.value for one in call.keywords)):
        yield from _written(given)
        for one in alternatives(project.value(given)):
            value = one.default if isinstance(one, Option) else one
            if isinstance(value, Const) and isinstance(value.value, str):
                yield value.value
    for test, outcome in project.tests_around(call):
        if outcome:
            yield from _written(test)


def _written(expr: t.Node) -> Iterator[str]:
    """The texts and the names in an expression."""
    match expr:
        case t.Constant(value=str() as text):
            yield text
        case t.Name(id=name) | t.Attribute(attr=name):
            yield name
        case _:
            pass
    for child in children(expr):
        yield from _written(child)


def _numbers(text: str) -> Iterator[int]:
    """The numbers of samples that the documentation in a class tells."""
    of_sound = any(word in text.lower() for word in _OF_SOUND)
    for said in _DOCUMENTED.findall(text):
        for found in _NUMBERED.finditer(said):
            if not (of_sound and found["things"].lower().startswith("sample")):
                number = int(found["number"].lower().rstrip("k").replace(",", ""))
                yield number * 1000 if found["thousands"] else number
