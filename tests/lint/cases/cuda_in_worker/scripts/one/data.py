"""Workers of a project that spawns them may use CUDA."""

import torch
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __getitem__(self, index):
        return torch.from_numpy(self.rows[index]).cuda()


def make_loader(rows):
    return DataLoader(Rows(rows), num_workers=4)
