"""A dataset maps a file; under spawn the map is pickled, and every worker holds the array in its own memory."""

import pickle
import tempfile
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

REPORT = "numpy/numpy#30574"
TRUE = "the mapped 67 MB are copied into each worker"
CHECK, WORDS = "memory|workers|portability", r"rows.*(MB|map)|(MB|map).*rows"


class Mapped(Dataset):
    def __init__(self, by_path):
        self.folder = tempfile.TemporaryDirectory()
        self.path, self.by_path = Path(self.folder.name, "rows.npy"), by_path
        rows = np.lib.format.open_memmap(self.path, mode="w+", dtype=np.float32, shape=(16384, 1024))
        rows.flush()
        self.rows = np.load(self.path, mmap_mode="r")

    def __len__(self):
        return 16384

    def __getitem__(self, index):
        return torch.from_numpy(self.rows[index] + index)

    def __getstate__(self):
        state = dict(vars(self), folder=None)
        return state | {"rows": None} if self.by_path else state

    def __setstate__(self, state):
        vars(self).update(state)
        self.rows = np.load(self.path, mmap_mode="r") if self.by_path else self.rows


def make():
    return DataLoader(Mapped(by_path=False), 64, shuffle=True, num_workers=2, multiprocessing_context="spawn")


def mended():
    return DataLoader(Mapped(by_path=True), 64, shuffle=True, num_workers=2, multiprocessing_context="spawn")


def bare(loader):
    return f"{len(pickle.dumps(loader.dataset)) / 1e6:,.1f} MB pickled for each worker"
