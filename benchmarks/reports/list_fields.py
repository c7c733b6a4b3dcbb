"""A sample has a list of numbers; the default collate function turns the lists of a batch on their side."""

import torch
from torch.utils.data import DataLoader, Dataset

REPORT = "pytorch/pytorch#50272"
TRUE = "a list of 40 numbers becomes 40 tensors of 16 numbers each, each sent on its own"
CHECK, WORDS = "order", r"list of 40"


class Boxes(Dataset):
    def __init__(self, lists):
        self.rows = torch.randn(320, 40)
        self.lists = lists

    def __len__(self):
        return 320

    def __getitem__(self, index):
        row = self.rows[index]
        return {"row": row.tolist() if self.lists else row, "target": index}


def make():
    return DataLoader(Boxes(lists=True), batch_size=16, shuffle=True, num_workers=2)


def mended():
    return DataLoader(Boxes(lists=False), batch_size=16, shuffle=True, num_workers=2)


def bare(loader):
    rows = next(iter(loader))["row"]
    return f"batch of 16: {len(rows)} rows of {len(rows[0])}"
