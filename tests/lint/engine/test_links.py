"""Files that only call what others build or train: linked with the rest, whatever is read first."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from dl_lint.engine.links import linking

if TYPE_CHECKING:
    from tests.lint.conftest import Project

COCO = """\
from torch.utils.data import DataLoader, Dataset


class Coco(Dataset):
    def __getitem__(self, index):
        return self.images[index]


def build(image_set, workers):
    return DataLoader(Coco(image_set), num_workers=workers)
"""

DISPATCH = """\
from .coco import build as build_coco


def build_dataset(image_set, args):
    if args.dataset_file == "coco":
        return build_coco(image_set, 4)
    raise ValueError(args.dataset_file)
"""

MAIN = """\
from data import build_dataset


def main(model, args):
    loader = build_dataset("train", args)
    for epoch in range(args.epochs):
        for batch in loader:
            model(batch)
"""

FILES = {"data/coco.py": COCO, "data/__init__.py": DISPATCH, "main.py": MAIN}


def test_a_dispatcher_without_a_word_of_loaders_is_linked(project: Project) -> None:
    project.write(FILES)
    [record] = project.lint_json("--select", "DL204").records
    assert (record["filename"], record["location"]["row"]) == ("data/coco.py", 10)
    assert "the loop at main.py:6" in record["message"]


def test_who_calls_a_builder_is_known_where_nobody_reads_the_dispatcher(project: Project) -> None:
    told = "prefetch_factor=2, num_workers=workers"
    files = {
        "data/coco.py": COCO.replace("num_workers=workers", told),
        "data/__init__.py": DISPATCH.replace("(image_set, 4)", "(image_set, 0)"),
    }
    for seed in range(4):
        project.write(files)
        names = random.Random(seed).sample(sorted(files), len(files))
        assert project.lint_json("--select", "DL202", *names).places == [("data/coco.py", 10, "DL202")]


def test_findings_do_not_depend_on_the_order_in_which_files_are_named(project: Project) -> None:
    project.write(FILES)
    wanted = project.lint_json().places
    assert wanted
    for seed in range(4):
        names = random.Random(seed).sample(sorted(FILES), len(FILES))
        assert project.lint_json(*names).places == wanted


LINKS: dict[str, tuple[dict[str, str], list[str]]] = {
    "a dispatcher": ({"a/__init__.py": DISPATCH}, ["a/__init__.py"]),
    "one in between": (
        {"a/__init__.py": DISPATCH, "setup.py": "import a\n\ndef get_dataset():\n    return a.build_dataset()\n"},
        ["a/__init__.py", "setup.py"],
    ),
    "of lines in brackets": (
        {"b.py": "from a import (\n    other,\n    coco,\n)\n\ndef make_loader(x):\n    return coco.build(x)\n"},
        ["b.py"],
    ),
    "no import": ({"b.py": "def build_dataset(coco):\n    return coco()\n"}, []),
    "of something else": ({"b.py": "import cocoa\n\ndef build_dataset(x):\n    return cocoa.get(x)\n"}, []),
    "what uses nothing of it": ({"b.py": "import coco\n\ndef describe(x):\n    return coco.NAME + x\n"}, []),
    "an import alone": ({"b.py": "from coco import build\n"}, []),
    "a module by another name": ({"b.py": "import data.coco as images\nimages.build(1, 2)\n"}, ["b.py"]),
    "what is handed on": ({"b.py": "from coco import build\nspawn(build, 4)\n"}, ["b.py"]),
    "all names of it": ({"b.py": "from coco import *\nbuild(1, 2)\n"}, ["b.py"]),
    "a name that it does not define": ({"b.py": "from coco import DataLoader\nDataLoader(1)\n"}, []),
    "a launcher of a training loop": (
        {
            "a/coco.py": "def run(model, steps):\n    model(steps).backward()\n    next(steps).to(1)\n",
            "launch.py": "from a.coco import run\nrun(None, 3)\n",
        },
        ["launch.py"],
    ),
    "a factory of what goes over a loader": (
        {
            "a/coco.py": "class Runner:\n    def run(self):\n        for batch in self.loader: pass\n",
            "a/__init__.py": "from .coco import Runner\n\ndef make(loader):\n    return Runner(loader)\n",
        },
        ["a/__init__.py"],
    ),
    "of a file that only loads": (
        {"a/coco.py": "def build(data, workers):\n    return DataLoader(data)\n", "a/__init__.py": DISPATCH},
        ["a/__init__.py"],
    ),
    "of a file that builds neither": (
        {"a/coco.py": "def build(data, workers):\n    return data.sum()\n", "a/__init__.py": DISPATCH},
        [],
    ),
    "more than a dispatcher": ({"b.py": DISPATCH + "# a word\n" * 2000}, ["b.py"]),
}


@pytest.mark.parametrize(("texts", "wanted"), LINKS.values(), ids=LINKS)
def test_what_links(texts: dict[str, str], wanted: list[str]) -> None:
    data = {path: text.encode() for path, text in {"a/coco.py": COCO, **texts}.items()}
    assert sorted(linking(data, texts, ["a/coco.py"])) == wanted
