"""Functions that build loaders for several callers: DL204 names those whose loader is iterated again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.lint.conftest import Project

BUILD = """\
from torch.utils.data import DataLoader


def build(dataset, shuffle=False):
    return DataLoader(dataset, num_workers=2, shuffle=shuffle)


"""
TRAIN = """\
from build import build


def train(model, dataset, epochs):
    loader = build(dataset, shuffle=True)
    for epoch in range(epochs):
        for batch in loader:
            model(batch)


"""
TEST = """\
from build import build


def test(model, dataset):
    loader = build(dataset)
    for batch in loader:
        model(batch)
"""
VALIDATE = """\
def validate(model, dataset, epochs):
    valid = build(dataset)
    for epoch in range(epochs):
        for batch in valid:
            model(batch)


"""
SCORE = """\
from build import build
from torchvision.datasets import ImageFolder


def score(model, path):
    loader = build(ImageFolder(path))
    return [model(batch) for batch in loader]
"""


def found(project: Project) -> list[dict[str, Any]]:
    return [one for one in project.lint_json().records if one["code"] == "DL204"]


def test_the_caller_is_named_whose_loader_is_iterated_again(project: Project) -> None:
    project.write({"build.py": BUILD, "train.py": TRAIN, "test.py": TEST})
    [one] = found(project)
    assert (one["filename"], one["location"]["row"], one["fix"]) == ("build.py", 5, None)
    assert one["remedy"] == (
        "let `build` take `persistent_workers` (torch 1.7 or newer), and pass True from train.py:5 only: "
        "it builds others too"
    )
    assert [(other["filename"], other["location"]["row"]) for other in one["related"]] == [
        ("train.py", 6),
        ("train.py", 5),
    ]


def test_several_callers_are_named(project: Project) -> None:
    project.write({"build.py": BUILD, "train.py": TRAIN + VALIDATE, "test.py": TEST})
    [one] = found(project)
    assert "pass True from train.py:5 and train.py:12 only" in one["remedy"]


@pytest.mark.parametrize(
    "files",
    [
        {"train.py": TRAIN},
        {"train.py": TRAIN + VALIDATE},
        {"train.py": TRAIN, "test.py": TEST.replace("build(dataset)", "dataset")},
    ],
    ids=["one caller", "all again", "others ask elsewhere"],
)
def test_where_all_are_iterated_again_the_builder_may_keep_their_workers(
    project: Project, files: dict[str, str]
) -> None:
    project.write({"build.py": BUILD, **files})
    [one] = found(project)
    assert (one["remedy"].startswith("pass `persistent_workers=True`"), one["fix"] is None) == (True, False)


@pytest.mark.parametrize(
    "files",
    [
        {"test.py": TEST},
        {"test.py": TEST, "score.py": SCORE},
        {
            "train.py": TRAIN.replace("        for batch", "        loader.mixing = epoch < 9\n        for batch"),
            "test.py": TEST,
        },
        {
            "train.py": TRAIN.replace(
                "        for batch", "        if epoch % 5:\n            continue\n        for batch"
            )
        },
    ],
    ids=["once", "twice, once each", "changed", "rare"],
)
def test_where_none_is_or_may_be_it_is_silent(project: Project, files: dict[str, str]) -> None:
    project.write({"build.py": BUILD, **files})
    assert found(project) == []
