import json

import torch
from torch.utils.data import Dataset


class Persons(Dataset):
    """The folder tells."""

    def __init__(self, path):
        self.entries = json.load(open(path))  # expect

    def __getitem__(self, index):
        return torch.tensor(self.entries[index]["boxes"])
