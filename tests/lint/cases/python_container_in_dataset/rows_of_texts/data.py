import csv

import torch
from torch.utils.data import DataLoader, Dataset


class Clips(Dataset):
    def __init__(self, path):
        self.rows = []  # expect
        with open(path) as f:
            for row in csv.DictReader(f, delimiter="\t"):
                self.rows.append(row)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        row = self.rows[i]
        return torch.load(row["path"]), row["caption"], row["start"], row["id"]


loader = DataLoader(Clips("list.tsv"), batch_size=8, num_workers=4, shuffle=True)
