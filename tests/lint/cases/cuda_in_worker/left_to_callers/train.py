"""There are no workers unless a user asks for some."""

import argparse

import torch
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return torch.from_numpy(self.rows[index]).cuda()  # expect advice


def main(rows):
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=0)
    args = parser.parse_args()
    return DataLoader(Rows(rows), batch_size=64, num_workers=args.workers)
