"""A prefetcher looks for the next batch before it gives the one that it has, and ends with the last in its hands."""

import torch
from torch.utils.data import DataLoader, TensorDataset

REPORT = "antonioterpin/synthpix#121"
TRUE = "the last batch of the loader inside never comes"
CHECK, WORDS = "order", r"1 batch|last batch"


class Prefetcher:
    def __init__(self, loses):
        self.loader = DataLoader(TensorDataset(torch.arange(320)), batch_size=16, shuffle=True, num_workers=2)
        self.loses = loses

    def __len__(self):
        return len(self.loader)

    def __iter__(self):
        iterator = iter(self.loader)
        ahead = next(iterator)
        for following in iterator:
            yield ahead
            ahead = following
        if not self.loses:
            yield ahead


def make():
    return Prefetcher(loses=True)


def mended():
    return Prefetcher(loses=False)


def bare(loader):
    return f"{sum(1 for _ in loader)} batches of {len(loader)}"
