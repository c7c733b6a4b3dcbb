"""A small project with loaders that keep, miss and break what is asked of them."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

LOADERS = '''
import torch
from torch.utils.data import DataLoader, Dataset

class Zeros(Dataset):
    """Ready-made samples."""
    def __init__(self, length=640):
        self.data = torch.zeros(length, 4)
    def __len__(self):
        return len(self.data)
    def __getitem__(self, index):
        return self.data[index]

class Broken(Zeros):
    def __getitem__(self, index):
        raise KeyError("sample 0 is broken")

def make(num_workers=0):
    return DataLoader(Zeros(), batch_size=16, num_workers=num_workers)

def make_empty():  # misses every floor, however busy the machine is
    return DataLoader(Zeros(0), batch_size=16)

def make_broken():
    return DataLoader(Broken(), batch_size=16)

def raises():
    raise ValueError("no samples in data/train")

def needs(root):
    return make()

ready = make()
dataset = Zeros()
'''

FAST = "--dataloader-seconds=0.3"


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A directory with ``proj/data.py`` and nothing else."""
    pytester.mkpydir("proj").joinpath("data.py").write_text(LOADERS)
    return pytester


def read_json(path: Path) -> dict[str, Any]:
    """The loaders of a report by id."""
    content = json.loads(path.read_text())
    assert content["schema"] == 1
    return {loader["id"]: loader for loader in content["loaders"]}


def read_junit(path: Path) -> dict[str, ET.Element]:
    """The test cases of a JUnit file by class and name."""
    return {f"{case.get('classname')}::{case.get('name')}": case for case in ET.parse(path).getroot().iter("testcase")}
