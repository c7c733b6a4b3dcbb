"""What cannot be pickled, how deep it may lie, and where it is blamed."""

from __future__ import annotations

import pytest
from dl_lint.pipeline import pickling
from dl_lint.project import Project
from dl_lint.source.file import Source
from dl_lint.source.parser import parse
from dl_lint.source.positions import span

HEAD = """\
import threading
import torch
from collections import defaultdict
from functools import partial
from torch.utils.data import Dataset, Subset, random_split
from torchvision.transforms import Compose, Lambda
from torchvision.datasets import MNIST


def plain(x, k=0):
    return x


def build():
    def inner(x):
        return x
    return inner


class Kept(Dataset):
    def __init__(self, what=None):
        self.what = what

    def method(self, samples):
        return samples


class Stated(Kept):
    def __getstate__(self):
        return {}


class Dropped(Kept):
    def __init__(self, what):
        self.what = what
        self.what = None
"""


def obstacles(value: str) -> list[tuple[str, int]]:
    """What stands in the way of ``value``, each with its line counted from there."""
    code = (HEAD + f"here({value})\n").encode()
    project = Project.load(["a.py"], ".", lambda path: parse(Source.of(path, code)) if path == "a.py" else None)
    ((argument,),) = [call.args for call in project.files[0].methods["here"]]
    found = pickling.obstacles(project, project.value(argument), argument)
    return [(one.what, span(one.node)[0] - HEAD.count("\n")) for one in found]


@pytest.mark.parametrize(
    "value",
    [
        "plain",
        "partial(plain, k=3)",
        "Kept().method",
        "Kept(plain)",
        "Kept(Compose([plain, Lambda(plain)]))",
        "Kept(sorted([1], key=lambda x: x))",
        "Kept(list(x for x in [1]))",
        "Kept(set(x for x in [1]))",
        "Kept(defaultdict(list))",
        "Stated(lambda x: x)",
        "Dropped(lambda x: x)",
        "torch.zeros(3)",
        "unknown",
        "None",
    ],
)
def test_what_pickles_is_let_go(value: str) -> None:
    assert obstacles(value) == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("lambda x: x", "a lambda"),
        ("partial(lambda x: x)", "a lambda"),
        ("partial(plain, k=lambda x: x)", "a lambda"),
        ("build()", "the nested function `inner`"),
        ("Kept(lambda x: x)", "a lambda"),
        ("Subset(Kept(lambda x: x), [0])", "a lambda"),
        ("random_split(Kept(lambda x: x), [1, 1])[0]", "a lambda"),
        ("MNIST('data', transform=Compose([Lambda(lambda x: x)]))", "a lambda"),
        ("Kept({'a': [lambda x: x]})", "a lambda"),
        ("Kept(defaultdict(lambda: 0))", "a lambda"),
        ("Kept(threading.Lock())", "a lock"),
        ("Kept(torch.Generator())", "a torch.Generator"),
        ("Kept(open('a'))", "an open file"),
        ("Kept((x for x in [1]))", "a generator"),
    ],
)
def test_what_does_not_pickle_is_found_where_it_is_made(value: str, expected: str) -> None:
    assert obstacles(value) == [(expected, 1)]
