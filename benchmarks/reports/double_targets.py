"""Targets are Python floats: the default collate function makes float64 of them, and the loss or the device refuses."""

import torch
from torch.utils.data import DataLoader, Dataset

REPORT = "pytorch/pytorch#109968"
TRUE = "targets come as float64 beside float32 rows"
CHECK, WORDS = "order", r"float64"


class Priced(Dataset):
    def __init__(self, as_tensor):
        self.as_tensor = as_tensor

    def __len__(self):
        return 320

    def __getitem__(self, index):
        price = index / 7
        return torch.full((8,), float(index)), torch.tensor(price) if self.as_tensor else price


def make():
    return DataLoader(Priced(as_tensor=False), batch_size=16, shuffle=True, num_workers=2)


def mended():
    return DataLoader(Priced(as_tensor=True), batch_size=16, shuffle=True, num_workers=2)


def bare(loader):
    rows, targets = next(iter(loader))
    layer = torch.nn.Linear(8, 1)
    try:
        torch.nn.functional.mse_loss(layer(rows)[:, 0], targets).backward()
        return f"targets are {targets.dtype}, mse_loss works"
    except RuntimeError as error:
        return f"targets are {targets.dtype}: {error}"
