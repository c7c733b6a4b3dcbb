"""Each sample draws a figure that the library keeps until it is closed: workers grow, no attribute holds it."""

import torch
from torch.utils.data import DataLoader, Dataset

REPORT = "torchgeo/torchgeo#825"
TRUE = "figures stay in a module's registry: workers grow by 64 kB a sample"
CHECK, WORDS = "memory", r"FIGURES"
FIGURES = {}


def figure():
    number = len(FIGURES)
    FIGURES[number] = bytearray(65536)
    return number


def close(number):
    FIGURES.pop(number)


class Drawn(Dataset):
    def __init__(self, closes):
        self.closes = closes

    def __len__(self):
        return 4000

    def __getitem__(self, index):
        number = figure()
        drawn = torch.frombuffer(FIGURES[number], dtype=torch.uint8)[:512] + index % 200
        if self.closes:
            close(number)
        return drawn


def make():
    return DataLoader(Drawn(closes=False), batch_size=16, shuffle=True, num_workers=2)


def mended():
    return DataLoader(Drawn(closes=True), batch_size=16, shuffle=True, num_workers=2)


def bare(loader):
    for index in range(100):
        loader.dataset[index]
    held = sum(map(len, FIGURES.values()))
    FIGURES.clear()
    return f"{held / 1e6:.1f} MB held after 100 samples"
