"""Samples are divided by their own largest value; those that are empty become NaN, and with them the loss."""

import torch
from torch.utils.data import DataLoader, Dataset

REPORT = "xufangchn/Motion-Deblurring-with-Real-Events#3"
TRUE = "8 of 800 samples are NaN throughout"
CHECK, WORDS = "order", r"NaN"


class Events(Dataset):
    def __init__(self, least):
        self.rows = torch.rand(800, 64)
        self.rows[::100] = 0.0
        self.least = least

    def __len__(self):
        return 800

    def __getitem__(self, index):
        row = self.rows[index]
        return row / row.max().clamp(min=self.least), index


def make():
    return DataLoader(Events(0.0), batch_size=16, shuffle=True, num_workers=2)


def mended():
    return DataLoader(Events(1e-6), batch_size=16, shuffle=True, num_workers=2)


def bare(loader):
    return f"{sum(int(rows.isnan().all(1).sum()) for rows, _ in loader)} of 800 samples are NaN"
