"""Workers fill a cache on disk at first use; two write the same file at once, and one reads what is half written."""

import tempfile
import time
from pathlib import Path

import torch
from torch.utils.data import DataLoader, Dataset

REPORT = "cytomining/copairs#128"
TRUE = "two workers write statistics.bin at the same time; one reads it half written"
CHECK, WORDS = "workers", r"statistics\.bin"


class Standardised(Dataset):
    def __init__(self, at_once):
        self.folder = tempfile.TemporaryDirectory()
        self.path, self.at_once, self.mean = Path(self.folder.name, "statistics.bin"), at_once, None

    def __len__(self):
        return 256

    def write(self, path):
        with path.open("wb") as file:
            for _ in range(4):
                file.write(bytes(1024))
                file.flush()
                time.sleep(0.05)

    def load(self):
        if not self.path.exists():
            if self.at_once:
                own = Path(tempfile.mkstemp(dir=self.folder.name)[1])
                self.write(own)
                own.replace(self.path)
            else:
                self.write(self.path)
        return len(self.path.read_bytes())

    def __getitem__(self, index):
        if self.mean is None:
            self.mean = self.load()
        return torch.tensor([index, self.mean])


def make():
    return DataLoader(Standardised(at_once=False), batch_size=8, shuffle=True, num_workers=2)


def mended():
    return DataLoader(Standardised(at_once=True), batch_size=8, shuffle=True, num_workers=2)


def bare(loader):
    return f"sizes read: {sorted({int(row[1]) for rows in loader for row in rows})}"
