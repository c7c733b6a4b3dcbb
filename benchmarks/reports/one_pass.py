"""What a loader iterates is an iterator, not something that gives one: the second epoch is empty, silently."""

import torch
from torch.utils.data import DataLoader, IterableDataset

REPORT = "pytorch/text#1282"
TRUE = "the second epoch is empty"
CHECK, WORDS = "workers", r"second|used up|once"


class Lines(IterableDataset):
    def __init__(self, once):
        self.rows = [torch.tensor(row) for row in range(320)]
        self.lines = iter(self.rows) if once else self.rows

    def __iter__(self):
        return iter(self.lines)


def make():
    return DataLoader(Lines(once=True), batch_size=16)


def mended():
    return DataLoader(Lines(once=False), batch_size=16)


def bare(loader):
    return " then ".join(f"{sum(1 for _ in loader)} batches" for _ in range(2))
