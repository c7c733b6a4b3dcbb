"""Two datasets are joined whose labels have other types: a batch takes that of its first sample."""

import torch
from torch.utils.data import ConcatDataset, DataLoader, Dataset

REPORT = "pytorch/pytorch#61089"
TRUE = "labels are float32 in some batches and float64 in others"
CHECK, WORDS = "order", r"float32.*float64|float64.*float32"


class Labelled(Dataset):
    def __init__(self, label):
        self.label = label

    def __len__(self):
        return 200

    def __getitem__(self, index):
        return torch.full((8,), float(index)), self.label


def make():
    return DataLoader(ConcatDataset([Labelled(1), Labelled(0.5)]), batch_size=16, shuffle=True, num_workers=2)


def mended():
    return DataLoader(ConcatDataset([Labelled(1.0), Labelled(0.5)]), batch_size=16, shuffle=True, num_workers=2)


def bare(loader):
    found = [labels.dtype for _, labels in loader]
    return ", ".join(f"{found.count(each)} batches of {each}" for each in sorted(set(found), key=str))
