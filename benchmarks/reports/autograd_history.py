"""Samples are computed by a layer with gradients: batches carry its graph, and with workers the loader raises."""

import torch
from torch.utils.data import DataLoader, Dataset

REPORT = "pytorch/pytorch#82411"
TRUE = "samples require gradients and carry the layer's graph"
CHECK, WORDS = "order|workers|memory", r"grad"


class Embedded(Dataset):
    def __init__(self, detached):
        self.layer = torch.nn.Linear(16, 256)
        self.detached = detached

    def __len__(self):
        return 320

    def __getitem__(self, index):
        row = self.layer(torch.full((16,), float(index)))
        return row.detach() if self.detached else row


def make():
    return DataLoader(Embedded(detached=False), batch_size=16, shuffle=True)


def mended():
    return DataLoader(Embedded(detached=True), batch_size=16, shuffle=True)


def bare(loader):
    return f"batch: {next(iter(loader)).grad_fn}"
