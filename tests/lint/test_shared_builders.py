"""Functions that build loaders for several callers: DL204 names those whose loader is iterated again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.lint.conftest import Project

BUILD = """\
from torch.utils.data import DataLoader


def build(dataset, shuffle=False):
    return DataLoader(dataset, num_workers=4, shuffle=shuffle)


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


def test(model, dataset, names):
    loader = build(dataset)
    for batch in loader:
        model(batch)
    for name in names:
        model.draw(name)
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


ONCE = """\
from build import build


def once(model, dataset):
    loader = build(dataset)
    for batch in loader:
        model(batch)
"""
EXPORT = """\
from build import build


def export(model, loader):
    for batch in loader:
        model(batch)


def main(model, dataset):
    loader = build(dataset)
    export(model, loader)
    print("done")
"""


@pytest.mark.parametrize(
    "once",
    [
        ONCE,
        EXPORT,
        EXPORT.replace("    export(", "    total = export("),
        ONCE.replace("in loader", "in enumerate(loader)"),
        ONCE.replace("    loader = build", "    loader = None\n    loader = build"),
    ],
)
def test_where_the_others_read_theirs_once_and_end_one_value_is_for_all(project: Project, once: str) -> None:
    project.write({"build.py": BUILD, "train.py": TRAIN, "once.py": once})
    [one] = found(project)
    assert one["remedy"] == (
        "pass `persistent_workers=True` (torch 1.7 or newer): "
        "other callers of `build` read theirs once, and lose nothing"
    )
    assert (one["fix"], len(one["related"])) == (None, 2)


@pytest.mark.parametrize(
    "once",
    [
        ONCE + "    for step in range(100):\n        model(step)\n",
        ONCE + "    return loader\n",
        ONCE + "    model.loader = loader\n",
        ONCE.replace("    for", "    for _ in range(2):\n        build(dataset)\n    for"),
        ONCE.replace("def once", "class Keeping:\n    pass\n\n\ndef once").replace("loader", "Keeping.loader"),
        EXPORT + "    export(model, dataset)\n",
        EXPORT.replace("    export(", "    return export("),
        EXPORT.replace('print("done")', "return lambda: len(loader)"),
        EXPORT.replace("export(model, loader)\n    print", "model.fit(loader)\n    print"),
        EXPORT.replace("loader = build", "global loader\n    loader = build"),
        ONCE + "\n\ndef unread(model, dataset):\n    loader = build(dataset)\n    return loader\n",
    ],
)
def test_but_not_where_workers_would_stay_for_longer(project: Project, once: str) -> None:
    project.write({"build.py": BUILD, "train.py": TRAIN, "once.py": once})
    [one] = found(project)
    assert "from train.py:5 only: it builds others too" in one["remedy"]


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


PRIVATE = """\
from torch.utils.data import DataLoader


class Private(DataLoader):
    def __init__(self, dataset, *, rate, num_workers=0, pin_memory=False):
        super().__init__(dataset, num_workers=num_workers, pin_memory=pin_memory)
        self.rate = rate

    @classmethod
    def of(cls, loader, *, generator=None):
        return cls(loader.dataset, rate=1 / len(loader), num_workers=loader.num_workers, pin_memory=loader.pin_memory)


class Engine:
    def _prepare(self, loader, rate):
        if rate is None:
            return loader
        return Private.of(loader)

    def make(self, model, loader, rate):
        loader = self._prepare(loader, rate)
        return model, loader

    def make_with(self, model, loader, rate):
        return self.make(model, loader, rate)


def train(model, loader):
    for images in loader:
        model(images.cuda())


def main(model, dataset, epochs):
    engine = Engine()
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    model, loader = engine.make(model, loader, 1)
    model, loader = engine.make_with(model, loader, 1)
    for epoch in range(epochs):
        model, loader = engine.make_with(model, loader, 1)
        train(model, loader)
"""


def test_a_loader_made_of_another_of_its_own_kind_comes_to_an_end(project: Project) -> None:
    """What each is given is asked of the one that it was made of, which was made by the same calls."""
    project.write({"train.py": PRIVATE})
    found = project.lint_json()
    assert found.err == ""
    assert ("train.py", 30, "DL102") in found.places


MODES = """\
from torch.utils.data import DataLoader


def build(dataset, mode):
    if mode == "train":
        return DataLoader(dataset, num_workers=4, shuffle=True)
    elif mode == "test":
        return DataLoader(dataset, num_workers=4)
    return None


"""


def test_a_caller_that_never_comes_to_the_place_is_none(project: Project) -> None:
    train, test = TRAIN.replace("shuffle=True", '"train"'), TEST.replace("(dataset)", '(dataset, "test")')
    project.write({"build.py": MODES, "train.py": train, "test.py": test})
    [one] = found(project)
    assert one["location"]["row"] == 6
    assert one["remedy"].startswith("pass `persistent_workers=True`")
    project.write({"train.py": train, "test.py": test.replace('"test"', "names[0]")})
    [one] = found(project)
    assert "from train.py:5 only: it builds others too" in one["remedy"]
