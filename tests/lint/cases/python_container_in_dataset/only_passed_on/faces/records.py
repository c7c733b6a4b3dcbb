import json

from torch.utils.data import Dataset


class Wanted(Dataset):
    """100,000 samples."""

    def __init__(self, path):
        self.entries = json.load(open(path))  # expect

    def __getitem__(self, index):
        return list(self.entries[index]["boxes"])


class Unwanted(Dataset):
    """Its package passes it on, and nobody takes it from there. 100,000 samples."""

    def __init__(self, path):
        self.entries = json.load(open(path))  # expect advice

    def __getitem__(self, index):
        return list(self.entries[index]["boxes"])


class Uttered(Dataset):
    """Passed on under another name, which may be used anywhere. 100,000 samples."""

    def __init__(self, path):
        self.entries = json.load(open(path))  # expect

    def __getitem__(self, index):
        return list(self.entries[index]["boxes"])
