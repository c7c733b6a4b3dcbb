"""Each sample is one row of an array in a file, and each time the whole file is read for it."""

import tempfile
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

REPORT = "torchgeo/torchgeo#1754"
TRUE = "4 MB are read for each sample of 4 kB"
CHECK, WORDS = "stages", r"reads .* of files"


class Rows(Dataset):
    def __init__(self, mapped):
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name, "rows.npy")
        np.save(self.path, np.arange(1024 * 1024, dtype=np.float32).reshape(1024, 1024))
        self.mapped = mapped

    def __len__(self):
        return 1024

    def __getitem__(self, index):
        rows = np.load(self.path, mmap_mode="r" if self.mapped else None)
        return torch.from_numpy(np.array(rows[index]))


def make():
    return DataLoader(Rows(mapped=False), batch_size=16, shuffle=True, num_workers=2)


def mended():
    return DataLoader(Rows(mapped=True), batch_size=16, shuffle=True, num_workers=2)


def bare(loader):
    def read():
        return int(Path("/proc/self/io").read_text().split()[1])

    before = read()
    for index in range(20):
        loader.dataset[index]
    return f"{(read() - before) / 20 / 4096:.0f} bytes read for each byte given"
