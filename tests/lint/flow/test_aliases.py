"""Functions and classes that are called by other names: through containers, choices and results."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ..describe import probes

if TYPE_CHECKING:
    from ..linked import Load

RUNNER = "class Runner:\n    def __init__(self, n):\n        probe(n)\n"

CALLS = {
    "one of two": "kind = Runner if x else list\nkind(1)",
    "out of a dict": "KINDS = {'plain': Runner}\nKINDS[x](1)",
    "out of a dict by a name": "KINDS = {'plain': Runner}\nkind = KINDS[x]\nkind(1)",
    "by get": "KINDS = {'plain': Runner}\nkind = KINDS.get(x)\nkind(1)",
    "of a function": "def choose():\n    return Runner\nchoose()(1)",
    "of a function by a name": "def choose():\n    return Runner\nkind = choose()\nkind(1)",
    "one of several that a function gives": (
        "def choose(x):\n    if x:\n        return len, Runner\n    return max, list\nmetric, kind = choose(x)\nkind(1)"
    ),
    "an attribute": "class Trial:\n    kind = Runner\n    def run(self):\n        self.kind(1)",
    "a subclass": "class Below(Runner): pass\nKINDS = [Below]\nKINDS[0](1)",
}


@pytest.mark.parametrize("name", CALLS)
def test_a_constructor_is_found_whatever_its_class_is_called_by(load: Load, name: str) -> None:
    assert probes(load(f"{RUNNER}{CALLS[name]}\n")) == ["1"]


def test_a_function_is_found_through_a_table(load: Load) -> None:
    code = "def step(n):\n    probe(n)\nSTEPS = {'a': step}\ndef run(name):\n    chosen = STEPS[name]\n    chosen(2)\n"
    assert probes(load(code)) == ["2"]


def test_what_is_only_handed_on_is_not_called(load: Load) -> None:
    assert probes(load(f"{RUNNER}kinds = [Runner]\nprint(kinds)\n")) == ["unknown"]


def test_a_call_that_its_argument_switches_off_is_not_reached(load: Load) -> None:
    code = """
from torch.utils.data import Dataset
class Words:
    def index(self, word, grow=True):
        if grow:
            self.add(word)
    def add(self, word):
        self.known[word] = 1
class Data(Dataset):
    def __init__(self):
        self.words = Words()
    def __getitem__(self, index):
        return self.words.index(index{given})
"""
    for given, expected in {"": {"__getitem__", "index", "add"}, ", grow=False": {"__getitem__", "index"}}.items():
        project = load(code.replace("{given}", given))
        [cls] = project.dataset_classes()
        assert {scope.name for scope in project.fetching(cls.cls)} == expected
