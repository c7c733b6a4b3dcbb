"""What is followed across files and choices: entry scripts without a word of loaders, factories, lists, settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.lint.conftest import Project

TRAINING = """\
from torch.utils.data import DataLoader, Dataset


class Squares(Dataset):
    def __len__(self):
        return 100

    def __getitem__(self, index):
        return float(index * index)


def train(model, epochs, num_workers):
    loader = DataLoader(Squares(), batch_size=4, shuffle=True, num_workers=num_workers)
    for _ in range(epochs):
        for numbers in loader:
            model(numbers).mean().backward()
"""

RUNNERS = """\
import torch


class Runner:
    def __init__(self, model, loader):
        self.model, self.loader = model, loader

    def run(self):
        for (x,) in self.loader:
            self.model(x.to(torch.device("cuda")))
"""

MAIN = """\
import torch
from torch.utils.data import DataLoader, TensorDataset
from runners import make


def main(model, epochs):
    loader = DataLoader(TensorDataset(torch.rand(99, 8)), num_workers=4, pin_memory=True, persistent_workers=True)
    runner = make(model, loader)
    for _ in range(epochs):
        runner.run()
"""

ENTRIES = {
    "a launcher": "from training import train\n\ntrain(None, epochs=500, num_workers=2)\n",
    "options of an entry script": (
        "import argparse\nfrom training import train\n\np = argparse.ArgumentParser()\n"
        "p.add_argument('--workers', type=int, default=2)\na = p.parse_args()\ntrain(None, 10, a.workers)\n"
    ),
    "a launcher of a launcher": None,
    "Hydra": (
        "import hydra\nfrom training import train\n\n@hydra.main(config_path='conf', config_name='c')\n"
        "def main(cfg):\n    train(None, cfg.run.epochs, num_workers=cfg.run.workers)\n\nmain()\n"
    ),
}


@pytest.mark.parametrize("name", ENTRIES)
def test_a_script_that_says_nothing_of_loaders_gives_them_their_workers(project: Project, name: str) -> None:
    entry = ENTRIES[name]
    project.write({"training.py": TRAINING, "conf/c.yaml": "run:\n  workers: 2\n  epochs: 500\n"})
    if entry is None:
        between = "from training import train\n\ndef go(count):\n    train(None, 10, count)\n"
        project.write({"between.py": between, "launch.py": "from between import go\n\ngo(2)\n"})
    else:
        project.write({"launch.py": entry})
    [record] = project.lint_json("--select", "DL204").records
    assert record["filename"] == "training.py"
    assert "2" in record["message"].partition("workers")[0] or "workers (2 by default)" in record["message"]


def test_a_factory_hands_a_loader_to_what_iterates_it(project: Project) -> None:
    factory = "from .plain import Runner\n\n\ndef make(model, loader):\n    return Runner(model, loader)\n"
    project.write({"main.py": MAIN, "runners/plain.py": RUNNERS, "runners/__init__.py": factory})
    assert project.lint_json("--select", "DL102").places == [("runners/plain.py", 10, "DL102")]


def test_lightning_validates_on_each_of_a_list_of_loaders(project: Project) -> None:
    code = """\
import pytorch_lightning as pl
from torch.utils.data import DataLoader


class Data(pl.LightningDataModule):
    def __init__(self, sets):
        super().__init__()
        self.sets = sets

    def val_dataloader(self):
        loaders = []
        for one in self.sets:
            loaders.append(DataLoader(one, batch_size=2, num_workers=4))
        return loaders


def main(module, sets):
    pl.Trainer(max_epochs=10).fit(module, datamodule=Data(sets))
"""
    project.write({"data.py": code})
    assert project.lint_json("--select", "DL204").places == [("data.py", 13, "DL204")]


def test_a_loader_that_a_function_prepares_is_still_that_loader(project: Project) -> None:
    code = """\
from accelerate import Accelerator
from torch.utils.data import DataLoader


def train(accelerator, model, loader):
    model, loader = accelerator.prepare(model, loader)
    for batch in loader:
        accelerator.backward(model(batch))


def main(model, dataset):
    train(Accelerator(), model, DataLoader(dataset, num_workers=4))
"""
    project.write({"main.py": code})
    ran = project.lint("--sight", ".")
    assert ran.out.splitlines()[4:6] == [
        "  who iterates them                 1      0      0",
        "training loops: their loader        1      0      0",
    ]
