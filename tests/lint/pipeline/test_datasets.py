"""Datasets: which classes are, what they keep on self, what fetching a sample runs and reads."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from dl_lint.pipeline.datasets import DatasetClass
    from dl_lint.project import Project

    from ..linked import Load

HEADER = "from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset\n"


def code(text: str) -> str:
    return HEADER + textwrap.dedent(text)


def only(project: Project) -> DatasetClass:
    [found] = project.dataset_classes()
    return found


KINDS = {
    "map": ("class A(Dataset): pass", [("A", "map")]),
    "iterable": ("class A(IterableDataset): pass", [("A", "iterable")]),
    "by a base of the project": ("class A(Dataset): pass\nclass B(A): pass", [("A", "map"), ("B", "map")]),
    "of torchvision": ("from torchvision import datasets\nclass A(datasets.ImageFolder): pass", [("A", "map")]),
    "generic": ("class A(Dataset[int]): pass", [("A", "map")]),
    "given to a loader": (
        "class A:\n    def __getitem__(self, i): return i\nDataLoader(A(), num_workers=2)",
        [("A", "map")],
    ),
    "given to a loader, iterated": ("class A:\n    def __iter__(self): yield 1\nDataLoader(A())", [("A", "iterable")]),
    "of the same name": ("class Dataset: pass\nclass A(Dataset): pass", []),
    "not one": ("class A(list): pass", []),
}


@pytest.mark.parametrize(("text", "expected"), KINDS.values(), ids=KINDS)
def test_which_classes_are_datasets(load: Load, text: str, expected: list[tuple[str, str]]) -> None:
    assert [(one.name, one.kind) for one in load(code(text)).dataset_classes()] == expected


def test_what_is_kept_on_self_comes_from_all_methods_and_bases(load: Load) -> None:
    project = load(
        code("""
        class Base:
            def __init__(self):
                self.items = []

        class A(Base, Dataset):
            def __init__(self):
                super().__init__()
                self.root, self.size = "a", 2
                self._fill()

            def _fill(self):
                self.items.append(1)
                self.items += [2]

            @staticmethod
            def make(self):
                self.other = 1
        """)
    )
    kept = [(one.attribute, one.method.name, one.change is not None) for one in project.kept(only(project).cls)]
    assert sorted(kept) == [
        ("items", "__init__", False),
        ("items", "_fill", False),
        ("items", "_fill", True),
        ("root", "__init__", False),
        ("size", "__init__", False),
    ]


def test_fetching_a_sample_reaches_methods_helpers_properties_and_callables(load: Load) -> None:
    project = load(
        code("""
        def decode(path):
            return helper(path)

        def helper(path):
            return path

        def unrelated():
            pass

        class Flip:
            def __call__(self, x):
                return self.really(x)

            def really(self, x):
                return x

        class A(Dataset):
            def __init__(self):
                self.flip = Flip()
                self.setup()

            def setup(self):
                unrelated()

            @property
            def root(self):
                return self._root()

            def _root(self):
                return "a"

            def __getitem__(self, index):
                return self.flip(self.load(index))

            def load(self, index):
                return decode(self.root + str(index))
        """)
    )
    names = {scope.name for scope in project.fetching(only(project).cls)}
    assert names == {"__getitem__", "__call__", "really", "load", "root", "_root", "decode", "helper"}


def test_a_base_that_fetches_reaches_what_the_subclass_overrides(load: Load) -> None:
    project = load(
        code("""
        class Base(Dataset):
            def __getitem__(self, index):
                return self.load(index)

            def load(self, index):
                raise NotImplementedError

        class A(Base):
            def load(self, index):
                return self.paths[index]
        """)
    )
    reads = {one.name: [read.attribute for read in project.reads(one.cls)] for one in project.dataset_classes()}
    assert reads == {"Base": ["load"], "A": ["load", "paths"]}
