"""Findings in code that an error keeps from running are advice."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.lint.conftest import Project

IMPORTS = "import torch\nfrom torch.utils.data import DataLoader\n"


def severities(project: Project) -> list[str]:
    return [one["severity"] for one in project.lint_json("--select", "DL102").records]


def trained(before: str = "", within: str = "", after: str = "", head: str = "") -> str:
    """A copy that waits, with code before its loop, within it before the copy, and after it."""
    return f"""\
{IMPORTS}{head}

def train(model, dataset, options):
    {before or "pass"}
    for images in DataLoader(dataset, num_workers=2, pin_memory=True):
        {within or "pass"}
        images = images.cuda()
        model(images)
        {after or "pass"}
"""


@pytest.mark.parametrize(
    ("code", "severity"),
    [
        (trained(), "slow"),
        (trained(before="folder = root_folder"), "advice"),
        (trained(within="model.scale(optimiser)"), "advice"),
        (trained(after="optimiser.step()"), "advice"),
        (trained(after="for one in options: print(optimiser)"), "slow"),
        (trained(within="print(optimiser)", after="for one in options: print(one)"), "advice"),
        (trained(within="print(optimiser)", after="if options: print(model)\n        else: print(options)"), "advice"),
        (trained(within="print(optimiser)", after="with options: print(options)"), "advice"),
        (trained(within="print(optimiser)", after="last = images"), "advice"),
        (trained(within="print(optimiser)", after="def step(): return images"), "advice"),
        (trained(before="optimiser = 1", within="print(optimiser)"), "slow"),
        (trained(head="optimiser = 1\n", within="print(optimiser)"), "slow"),
        (trained(head="from elsewhere import *\n", within="print(optimiser)"), "slow"),
        (trained(head="def make():\n    global optimiser\n    optimiser = 1\n", within="print(optimiser)"), "slow"),
        (trained(head="globals().update(optimiser=1)\n", within="print(optimiser)"), "slow"),
        (trained(within="if options.verbose: print(optimiser)"), "slow"),
        (trained(within="options.verbose and print(optimiser)"), "slow"),
        (trained(within="optimiser and print(options)"), "advice"),
        (trained(within="print(optimiser if options else None)"), "slow"),
        (trained(within="step = lambda: optimiser"), "slow"),
        (trained(within="rate: Rate = 1"), "slow"),
        (trained(before="if options is None: return", after="optimiser.step()"), "slow"),
        (trained(within="if images is None: continue", after="optimiser.step()"), "slow"),
        (trained(before="print(__file__, __name__, NotImplemented)"), "slow"),
        (trained(before="for one in options: print(optimiser)"), "slow"),
        (trained(before="try: print(optimiser)\n    except NameError: print(options)"), "slow"),
    ],
    ids=str,
)
def test_a_name_that_nothing_binds(project: Project, code: str, severity: str) -> None:
    project.write({"train.py": code})
    assert severities(project) == [severity]


@pytest.mark.parametrize(
    ("test", "severity"),
    [
        ("if False:", "advice"),
        ("if model is None:\n        print()\n    elif not DRAWN:", "slow"),
        ("if DRAWN:", "advice"),
        ("if True:\n        print(model)\n    else:", "advice"),
        ("if True:", "slow"),
        ("if model:", "slow"),
    ],
    ids=str,
)
def test_what_a_test_keeps_from_running(project: Project, test: str, severity: str) -> None:
    code = f"""\
{IMPORTS}DRAWN = False


def train(model, dataset):
    {test}
        with torch.no_grad():
            for images in DataLoader(dataset, num_workers=2, pin_memory=True):
                if model:
                    model(images.cuda()).backward()
    model(dataset)
"""
    project.write({"train.py": code})
    assert severities(project) == [severity]


@pytest.mark.parametrize(
    ("data", "imported", "severity"),
    [
        ("def crop(image):\n    return image\n", "from data import crop", "slow"),
        ("def crop(image):\n    return image\n", "from data import resize", "advice"),
        ("def crop(image):\n    return image\n", "try:\n    from data import resize\nexcept ImportError: ...", "slow"),
        ("def crop(image):\n    return image\n", "if torch:\n    from data import resize", "slow"),
        ("from elsewhere import *\n", "from data import resize", "slow"),
        ("def __getattr__(name):\n    return name\n", "from data import resize", "slow"),
        ("globals()['resize'] = 1\n", "from data import resize", "slow"),
        ("def crop(image):\n    return image\n", "from other import resize", "slow"),
    ],
)
def test_a_file_that_imports_what_is_not_there(project: Project, data: str, imported: str, severity: str) -> None:
    project.write({"data.py": IMPORTS + data, "train.py": trained(head=f"{imported}\n")})
    assert severities(project) == [severity]


METHOD = """\
{imports}{head}

class Trainer({base}):
    def __init__(self, model, dataset):
        {sets}
        self.model = model
        self.loader = DataLoader(dataset, num_workers=2, pin_memory=True)

    def train(self):
        print({reads})
        for images in self.loader:
            self.model(images.cuda())
"""
BASE = "class Base:\n    def prepare(self):\n        self.length = 3\n"


@pytest.mark.parametrize(
    ("head", "base", "sets", "reads", "severity"),
    [
        ("", "", "self.length = 3", "self.length", "slow"),
        ("", "", "pass", "self.length", "advice"),
        (BASE, "Base", "pass", "self.length", "slow"),
        (BASE, "", "pass", "self.length", "advice"),
        ("", "torch.nn.Module", "pass", "self.length", "advice"),
        ("", "torch.nn.Module", "pass", "self.training", "slow"),
        ("", "torch.nn.Linear", "pass", "self.length", "slow"),
        ("from elsewhere import Base\n", "Base", "pass", "self.length", "slow"),
        ("", "", "setattr(self, 'length', 3)", "self.length", "slow"),
        ("", "", "self.__dict__.update(length=3)", "self.length", "slow"),
        ("def fill(trainer):\n    trainer.length = 3\n", "", "pass", "self.length", "slow"),
        ("", "", "pass", "self.length if self.model else 3", "slow"),
        ("", "", "pass", "self.__class__", "slow"),
    ],
)
def test_an_attribute_that_nothing_sets(
    project: Project, head: str, base: str, sets: str, reads: str, severity: str
) -> None:
    code = METHOD.format(imports=IMPORTS, head=head, base=base, sets=sets, reads=reads)
    project.write({"train.py": code, "notes.py": "print('no loader here')\n"})
    assert severities(project) == [severity]


def test_one_that_a_file_without_loaders_sets(project: Project) -> None:
    code = METHOD.format(imports=IMPORTS, head="", base="", sets="pass", reads="self.length")
    project.write({"train.py": code, "fill.py": "def fill(trainer):\n    trainer.length = 3\n"})
    assert severities(project) == ["slow"]


def test_a_notebook_may_bind_by_magic(project: Project) -> None:
    cell: dict[str, object] = {
        "cell_type": "code",
        "source": trained(within="print(optimiser)"),
        "metadata": {},
        "outputs": [],
        "execution_count": None,
    }
    project.write({"train.ipynb": json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})})
    assert severities(project) == ["slow"]
