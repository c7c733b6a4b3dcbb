"""WeightedRandomSampler is given a weight for each class: as many different samples are drawn as there are classes."""

import torch
from torch.utils.data import DataLoader, Dataset, WeightedRandomSampler

REPORT = "deep-voice/soundbay#49"
TRUE = "only samples 0 to 9 of 2,000 are ever drawn"
CHECK, WORDS = "order", r"10 weights for 2,000 samples"


class Labelled(Dataset):
    def __init__(self):
        self.labels = torch.arange(2000) % 10

    def __len__(self):
        return 2000

    def __getitem__(self, index):
        return torch.full((4,), float(index)), self.labels[index]


def make():
    dataset = Labelled()
    weights = 1.0 / torch.bincount(dataset.labels)
    return DataLoader(dataset, batch_size=32, sampler=WeightedRandomSampler(weights, len(dataset)), num_workers=2)


def mended():
    dataset = Labelled()
    weights = (1.0 / torch.bincount(dataset.labels))[dataset.labels]
    return DataLoader(dataset, batch_size=32, sampler=WeightedRandomSampler(weights, len(dataset)), num_workers=2)


def bare(loader):
    return f"{len({int(row[0]) for rows, _ in loader for row in rows})} different samples of 2,000"
