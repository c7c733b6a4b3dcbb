"""A loader with persistent workers is built anew for every epoch, and the old ones are kept: workers add up."""

import multiprocessing

import torch
from torch.utils.data import DataLoader, TensorDataset

REPORT = "Lightning-AI/pytorch-lightning#18672"
TRUE = "each epoch leaves two workers of a loader that is no longer used"
CHECK, WORDS = "workers", r"leaves 2 processes behind"


class Reloaded:
    def __init__(self, keeps):
        self.data, self.keeps, self.loaders = TensorDataset(torch.randn(256, 8)), keeps, []

    def __len__(self):
        return 16

    def __iter__(self):
        loader = DataLoader(self.data, batch_size=16, shuffle=True, num_workers=2, persistent_workers=True)
        self.loaders = [*self.loaders, loader] if self.keeps else [loader]
        try:
            yield from loader
        finally:
            if not self.keeps:
                self.loaders.clear()


def make():
    return Reloaded(keeps=True)


def mended():
    return Reloaded(keeps=False)


def bare(loader):
    for _ in range(3):
        for _ in loader:
            pass
    left = len(multiprocessing.active_children())
    loader.loaders.clear()
    return f"{left} workers alive after 3 epochs"
