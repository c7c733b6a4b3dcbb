"""A sample is found by going through the file from its beginning: the later in the file, the slower."""

import itertools
import tempfile
import time
from pathlib import Path

import torch
from torch.utils.data import DataLoader, Dataset

REPORT = "huggingface/datasets#1803"
TRUE = "each sample reads the file from its beginning: half of it on average"
CHECK, WORDS = "stages", r"reads .* of files"


class Lines(Dataset):
    def __init__(self, indexed):
        self.folder = tempfile.TemporaryDirectory()
        self.path, self.starts = Path(self.folder.name, "lines"), []
        with self.path.open("wb") as file:
            for row in range(20_000):
                self.starts.append(file.tell())
                file.write(b"%d " % row * 20 + b"\n")
        self.indexed = indexed

    def __len__(self):
        return 20_000

    def __getitem__(self, index):
        with self.path.open("rb") as file:
            if self.indexed:
                file.seek(self.starts[index])
                line = file.readline()
            else:
                line = next(itertools.islice(file, index, None))
        return torch.tensor([int(each) for each in line.split()])


def make():
    return DataLoader(Lines(indexed=False), batch_size=16, shuffle=True, num_workers=2)


def mended():
    return DataLoader(Lines(indexed=True), batch_size=16, shuffle=True, num_workers=2)


def bare(loader):
    def cost(indices):
        begun = time.process_time()
        for index in indices:
            loader.dataset[index]
        return time.process_time() - begun

    cost(range(50))
    return f"the last 200 samples cost {cost(range(19_800, 20_000)) / cost(range(200)):.1f} times the first 200"
