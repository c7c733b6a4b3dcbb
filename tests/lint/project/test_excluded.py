"""Which of the loaders that a function can make come to a caller, by what that caller passes."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .conftest import Load

BUILD = """
from torch.utils.data import DataLoader

def build(d, name="train", shuffle=False, rank=None):
    {lead}
    if {test}:
        return DataLoader(d, num_workers=1)
    return DataLoader(d, num_workers=2)

def pair(d, flag):
    if flag:
        loader = DataLoader(d, num_workers=1)
    else:
        loader = DataLoader(d, num_workers=2)
    return loader, flag

def outer(d, kind, split):
    if kind == "a":
        return build(d, name=split)
    return DataLoader(d, num_workers=3)

{after}
"""

CASES = {
    "a flag left alone": ("shuffle", "probe(build(d))", [2]),
    "a flag": ("not shuffle", "probe(build(d))", [1]),
    "a flag given": ("shuffle", "probe(build(d, shuffle=True))", [1]),
    "a flag that is not known": ("shuffle", "probe(build(d, shuffle=x))", [1, 2]),
    "by position": ("name == 'test'", "probe(build(d, 'train'))", [2]),
    "another name": ("name != 'train'", "probe(build(d))", [2]),
    "among others": ("name in ('valid', 'test')", "probe(build(d))", [2]),
    "among others that are not known": ("name in ('valid', x)", "probe(build(d))", [1, 2]),
    "not among others": ("name not in ['train', 'all']", "probe(build(d))", [2]),
    "None": ("rank is not None", "probe(build(d))", [2]),
    "None given": ("rank is not None", "probe(build(d, rank=0))", [1]),
    "None or not": ("rank is not None", "probe(build(d, rank=x))", [1, 2]),
    "None given again": ("rank is None", "probe(build(d, rank=None))", [1]),
    "both": ("shuffle and x", "probe(build(d))", [2]),
    "either": ("shuffle or x", "probe(build(d))", [1, 2]),
    "neither of two": ("shuffle or name == 'test'", "probe(build(d))", [2]),
    "of something else": ("x", "probe(build(d))", [1, 2]),
    "of an attribute": ("name.lower() == 'test'", "probe(build(d))", [1, 2]),
    "through stars": ("shuffle", "probe(build(d, **options))", [1, 2]),
    "through known stars": ("shuffle", "probe(build(d, **{'shuffle': False}))", [2]),
    "an option": (
        "name == 'test'",
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--name', default='train')\n"
        "probe(build(d, p.parse_args().name))",
        [1, 2],
    ),
    "of one of two callers": ("shuffle", "build(d, shuffle=True)\nprobe(build(d))", [2]),
    "one of two arms": ("x", "probe(pair(d, False)[0])", [2]),
    "the other": ("x", "loader, _ = pair(d, flag=True)\nprobe(loader)", [1]),
    "through two functions": ("name == 'test'", "probe(outer(d, 'a', 'train'))", [2]),
    "the way through two functions": ("name == 'test'", "probe(outer(d, 'a', 'test'))", [1]),
    "past one of them": ("name == 'test'", "probe(outer(d, 'b', 'test'))", [3]),
    "of one that calls on with what it is given": (
        "name == 'test'",
        "def run(split):\n    probe(outer(d, 'a', split))\nrun('train')\nrun('test')",
        [1, 2],
    ),
}


@pytest.mark.parametrize(("test", "after", "expected"), CASES.values(), ids=CASES)
def test_a_loader_behind_a_test_that_the_arguments_decide(
    load: Load, test: str, after: str, expected: list[int]
) -> None:
    assert _workers(load, "pass", test, after) == expected


@pytest.mark.parametrize("lead", ["shuffle = shuffle or x", "if x:\n        shuffle = True", "shuffle |= x"])
def test_a_parameter_that_is_assigned_since_decides_nothing(load: Load, lead: str) -> None:
    assert _workers(load, lead, "shuffle", "probe(build(d))") == [1, 2]


def test_a_decorator_may_pass_something_else(load: Load) -> None:
    text = BUILD.replace("def build", "@configured\ndef build").replace(
        "{after}", "from mine import configured\n{after}"
    )
    assert _workers(load, "pass", "shuffle", "probe(build(d))", text) == [1, 2]


def _workers(load: Load, lead: str, test: str, after: str, text: str = BUILD) -> list[int]:
    """The workers of the loaders that ``probe`` is given, which tell them apart."""
    project = load(textwrap.dedent(text).format(lead=lead, test=test, after=after))
    [call] = project.files[0].methods["probe"]
    found, _ = project.iterated_loaders(call.args[0])
    return sorted({int(project.argument(loader, "num_workers").value.value) for loader in found})  # type: ignore[attr-defined]  # all are literals
