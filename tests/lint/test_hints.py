"""What the configuration says of a project, and what each key makes the rules say or leave unsaid."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.lint.conftest import Project

IMPORT = """\
import torch
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
"""

OWN_LOADER = """\
from shop.data import FastLoader

def make(dataset):
    return FastLoader(dataset, num_workers=0, persistent_workers=True)
"""

OWN_CLASS = """\
class FastLoader:
    def __init__(self, dataset, num_workers=0, **options):
        self.options = options
"""

OWN_DATASET = """\
from shop.data import Rows

class Faces(Rows):
    def __init__(self, path):
        self.file = open(path)

    def __getitem__(self, index):
        return self.file.readline()
"""

OWN_DEVICE = """\
def train(dataset, model, where):
    loader = DataLoader(dataset, num_workers=2, pin_memory=True)
    for images, labels in loader:
        model(images.to(where.accel))
"""

OWN_TRAINER = """\
def train(model, optimizer, dataset, epochs):
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, sampler=sampler)
    for epoch in range(epochs):
        for images, labels in loader:
            model(images, labels).backward()
            optimizer.step()
"""

NESTED = """\
def make(dataset):
    return DataLoader(dataset, num_workers=2, collate_fn=lambda samples: samples)
"""

SCRIPT = """\
loader = DataLoader([1, 2], num_workers=2)
for batch in loader:
    print(batch)
"""

HANDLE = """\
from torch.utils.data import Dataset

class Faces(Dataset):
    def __init__(self, path):
        self.file = open(path)

    def __len__(self):
        return 10

    def __getitem__(self, index):
        return self.file.readline()

def make(path):
    return DataLoader(Faces(path), num_workers=2)
"""

ON_DEVICE = """\
def collate(samples):
    return torch.stack(samples).to("cuda")

def make(dataset):
    return DataLoader(dataset, num_workers=2, collate_fn=collate)
"""

STRATEGY = """\
def main(dataset):
    torch.multiprocessing.set_sharing_strategy("file_system")
    for batch in DataLoader(dataset, num_workers=4):
        print(batch)
"""

PINNED_DEVICE = """\
def make(dataset):
    return DataLoader(dataset, pin_memory=True, pin_memory_device="cuda")
"""

NUMPY_STATE = """\
import numpy as np

def seed(worker_id):
    np.random.seed(np.random.get_state()[1][0] + worker_id)

def shift(sound):
    return np.roll(sound, np.random.randint(len(sound)))

def make(dataset):
    return DataLoader(dataset, num_workers=2, worker_init_fn=seed)
"""


def codes(project: Project, *options: str) -> set[str]:
    ran = project.lint_json(*options)
    assert ran.err == ""
    return {record["code"] for record in ran.records}


@pytest.mark.parametrize(
    ("text", "key", "code", "without"),
    [
        (OWN_LOADER, 'dataloader-classes = ["shop.data.FastLoader"]', "DL202", False),
        (OWN_LOADER, 'dataloader-classes = ["FastLoader"]', "DL202", False),
        (IMPORT + OWN_DATASET, 'dataset-classes = ["shop.data.Rows"]', "DL303", False),
        (IMPORT + OWN_DEVICE, 'device-names = ["accel"]', "DL102", False),
        (IMPORT + OWN_TRAINER, "trainer-calls-set-epoch = true", "DL401", True),
        (IMPORT + NESTED, 'start-method = "fork"', "DL306", True),
        (IMPORT + SCRIPT, 'start-method = "fork"', "DL307", True),
        (IMPORT + HANDLE, 'start-method = "spawn"', "DL303", True),
        (IMPORT + ON_DEVICE, 'start-method = "forkserver"', "DL304", True),
        (IMPORT + STRATEGY, 'start-method = "spawn"', "DL208", False),
        (IMPORT + PINNED_DEVICE, 'target-torch = "2.7"', "DL209", True),
        (IMPORT + NUMPY_STATE, 'target-torch = "1.8"', "DL404", True),
    ],
)
def test_a_key_changes_what_a_rule_says(project: Project, text: str, key: str, code: str, *, without: bool) -> None:
    project.write({"train.py": text})
    assert (code in codes(project)) is without
    project.write({"pyproject.toml": f"[tool.dl-lint]\n{key}\n"})  # and the cache knows that it did
    assert (code in codes(project)) is not without


def test_a_class_of_the_project_may_be_named_too(project: Project) -> None:
    project.write({"shop/__init__.py": "", "shop/data.py": OWN_CLASS, "train.py": OWN_LOADER})
    assert codes(project) == set()
    assert codes(project, "--config", 'dataloader-classes = ["shop.data.FastLoader"]') == {"DL202"}
    assert codes(project, "--config", 'dataloader-classes = ["other.FastLoader"]') == set()


def test_keys_that_do_not_speak_of_a_torch_or_method_change_nothing(project: Project) -> None:
    project.write({"train.py": IMPORT + PINNED_DEVICE + NESTED})
    assert codes(project, "--config", 'target-torch = "2.8"', "--config", 'start-method = "spawn"') == {
        "DL209",
        "DL306",
    }


def test_a_handle_that_pickle_refuses_is_told_however_workers_start(project: Project) -> None:
    project.write({"train.py": IMPORT + "import h5py\n" + HANDLE.replace("open(path)", "h5py.File(path)")})
    for method, said in (("fork", "forked workers share it"), ("forkserver", "cannot be pickled for them")):
        records = project.lint_json("--config", f"start-method = '{method}'").records
        assert [record["code"] for record in records] == ["DL303"]
        assert said in records[0]["message"]


def test_a_key_on_the_command_line_wins_over_the_file(project: Project) -> None:
    project.write({"train.py": IMPORT + NESTED, "pyproject.toml": '[tool.dl-lint]\nstart-method = "fork"\n'})
    assert codes(project) == set()
    assert codes(project, "--config", "start-method = 'spawn'") == {"DL306"}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("start-metod = 'fork'", '--config has no key "start-metod" (did you mean "start-method"?)'),
        ("start-method = 'thread'", "--config start-method must be one of fork, spawn, forkserver, not 'thread'"),
        ("target-torch = 2.4", '--config target-torch must be a version such as "2.4", not 2.4'),
        ("target-torch = '2'", "--config target-torch must be a version such as \"2.4\", not '2'"),
        ("device-names = 'accel'", "--config device-names must be a list of strings, not 'accel'"),
        ("dataset-classes = ['a-b']", '--config dataset-classes: \'a-b\' is no name such as "data.Loader" or "Loader"'),
        ("trainer-calls-set-epoch = 1", "--config trainer-calls-set-epoch must be true or false, not 1"),
        ("ignore = ['DL999']", '--config ignore: no rule "DL999" (did you mean'),
        ("pedantic=yes", "--config: 'pedantic=yes' is no line of TOML"),
    ],
)
def test_a_key_that_cannot_be_meant_is_refused(project: Project, line: str, said: str) -> None:
    ran = project.lint("--config", line)
    assert ran.status == 2
    assert ran.err.startswith(f"dl-lint: error: {said}")


def test_two_files_cannot_configure_a_run(project: Project) -> None:
    project.write({"a.toml": "", "b.toml": ""})
    ran = project.lint("--config", "a.toml", "--config", "b.toml")
    assert (ran.status, "one file can configure a run" in ran.err) == (2, True)
