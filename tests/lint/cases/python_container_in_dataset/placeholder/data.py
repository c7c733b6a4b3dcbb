import csv

import torch
from torch.utils.data import DataLoader, Dataset


class Base(Dataset):
    def __init__(self, root):
        self.root = root
        self.captions = {}
        self.names = sorted(self.captions)

    def __len__(self):
        return len(self.names)

    def __getitem__(self, i):
        name = self.names[i]
        return torch.load(f"{self.root}/{name}.pt"), self.captions[name]


class Child(Base):
    def __init__(self, root, path):
        super().__init__(root)
        self.captions = {}  # expect
        with open(path) as f:
            for row in csv.reader(f):
                self.captions[row[0]] = row[1]
        self.names = sorted(self.captions)


loader = DataLoader(Child("a", "list.csv"), batch_size=8, num_workers=4)
