"""A stream goes through an indexed dataset; an IndexError in one of its samples is taken for its end."""

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset

REPORT = "pytorch/pytorch#82732"
TRUE = "an IndexError at sample 150 ends the epoch silently: 250 of 400 samples are lost"
CHECK, WORDS = "order", r"IndexError|150"


class Rows(Dataset):
    def __init__(self, names):
        self.names = names

    def __len__(self):
        return 400

    def __getitem__(self, index):
        if index >= 400:
            raise IndexError(index)
        return torch.full((8,), float(index)), len(self.names[index % len(self.names)].split("/")[1])


class Stream(IterableDataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __iter__(self):
        yield from self.rows


def names(broken):
    return [("a" if broken and at == 150 else f"a/{at}") for at in range(400)]


def make():
    return DataLoader(Stream(Rows(names(broken=True))), batch_size=16)


def mended():
    return DataLoader(Stream(Rows(names(broken=False))), batch_size=16)


def bare(loader):
    return f"{sum(len(rows) for rows, _ in loader)} of 400 samples, no error"
