"""Which loaders a dataset goes to, by call chain, and what runs before there are workers."""

from __future__ import annotations

import pytest
from dl_lint.flow.values import Class
from dl_lint.pipeline import workers
from dl_lint.project import Project
from dl_lint.source.file import Source
from dl_lint.source.parser import parse
from dl_lint.source.positions import span

HEAD = """
from functools import partial
from torch.utils.data import ConcatDataset, DataLoader, Dataset, Subset, random_split

flag = input()
"""

DATASETS = """
class A(Dataset):
    def __init__(self, reader=None):
        self.reader = reader
        self.open()

    def open(self):
        self.file = None

    def __getitem__(self, index):
        return self.reader[index]


class B(A):
    def open(self):
        self.other = Made()


class Made:
    def __init__(self):
        self.path = ""


class Reader:
    def __init__(self):
        self.path = ""

    def __getitem__(self, index):
        return index
"""


def project_of(text: str) -> Project:
    code = (HEAD + DATASETS + text).encode()
    return Project.load(["a.py"], ".", lambda path: parse(Source.of(path, code)) if path == "a.py" else None)


def class_of(project: Project, name: str) -> Class:
    return next(Class(scope) for scope in project.files[0].scopes if scope.kind == "class" and scope.name == name)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("A()", ["A"]),
        ("Subset(A(), [0])", ["A"]),
        ("ConcatDataset([A(), B()])", ["A", "B"]),
        ("ConcatDataset([Subset(A(), [0]), B()])", ["A", "B"]),
        ("random_split(A(), [1, 2])[0]", ["A"]),
        ("A() if flag else B()", ["A", "B"]),
        ("unknown()", []),
        ("[1, 2]", []),
    ],
)
def test_a_loader_is_given_the_datasets_inside_others(given: str, expected: list[str]) -> None:
    project = project_of(f"loader = DataLoader({given})\n")
    (loader,) = project.loaders()
    assert sorted(one.cls.scope.name for one in workers.given(project, loader)) == expected


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ("DataLoader(A())", True),
        ("DataLoader(A(), num_workers=0)", True),
        ("DataLoader(A(), num_workers=2)", False),
        ("DataLoader(A()), DataLoader(A(), num_workers=2)", False),
        ("DataLoader(A(), num_workers=n)", False),
        ("make(A(), 0)", True),
        ("make(A(), 0), make(B(), 4)", False),
        ("make(A(), 0), make([], 4)", True),
        ("outer(A(), 0), outer([], 4)", True),
        ("None", False),
    ],
)
def test_a_dataset_is_idle_when_no_loader_of_it_has_workers(calls: str, expected: bool) -> None:
    project = project_of(
        "def make(dataset, count):\n    return DataLoader(dataset, num_workers=count)\n"
        "def outer(dataset, count):\n    return make(dataset, count)\n"
        f"made = {calls}\n"
    )
    assert workers.idle(project, class_of(project, "A")) is expected


def test_an_argument_is_handed_over_where_the_builder_is_called() -> None:
    project = project_of(
        "def make(dataset, init=None):\n    return DataLoader(dataset, num_workers=2, worker_init_fn=init)\n"
        "one = make(A(), init=print)\n"
        "two = make(A())\n"
    )
    (loader,) = project.loaders()
    lines = [span(workers.handed(project, one, "worker_init_fn"))[0] for one in workers.variants(project, loader)]
    text = (HEAD + DATASETS).count("\n")
    assert lines == [text + 3, text + 2]


def test_building_runs_constructors_of_what_is_made_and_kept_and_looks_methods_up_in_the_class() -> None:
    project = project_of("made = A(Reader()), B()\n")
    found = {
        (function.parent.name if function.parent else "", function.name)
        for function in workers.building(project, class_of(project, "B"))
    }
    assert found == {("A", "__init__"), ("B", "open"), ("Made", "__init__"), ("Reader", "__init__")}


def test_methods_are_those_of_the_dataset_and_of_what_it_holds() -> None:
    project = project_of("made = A(Reader())\n")
    found = [(function.name, cls.scope.name) for function, cls in workers.methods(project, class_of(project, "A"))]
    assert found == [("__getitem__", "A"), ("__getitem__", "Reader")]


@pytest.mark.parametrize(
    ("collate", "expected"),
    [
        ("stack", ["stack"]),
        ("lambda samples: samples", ["<lambda>"]),
        ("partial(stack, pad=1)", ["stack"]),
        ("Collate()", ["__call__"]),
        ("Collate().collate", ["collate"]),
        ("stack if flag else Collate()", ["__call__", "stack"]),
        ("None", []),
        ("unknown", []),
    ],
)
def test_collators_are_the_functions_that_collate(collate: str, expected: list[str]) -> None:
    project = project_of(
        "def stack(samples, pad=0):\n    return samples\n"
        "class Collate:\n"
        "    def __call__(self, samples):\n        return samples\n"
        "    def collate(self, samples):\n        return samples\n"
        f"loader = DataLoader(A(), collate_fn={collate})\n"
    )
    assert sorted(one.function.name for one in workers.collators(project)) == expected
