import json

from torch.utils.data import DataLoader, Dataset


class Numbers(Dataset):
    def __getitem__(self, index):
        return index


class Named(Dataset):
    """Read by a caller that wants no workers."""

    def __init__(self, path):
        self.entries = json.load(open(path))

    def __getitem__(self, index):
        return list(self.entries[index]["boxes"])


class Listed(Dataset):
    """Read by a caller with workers as well. 100,000 samples."""

    def __init__(self, path):
        self.entries = json.load(open(path))  # expect

    def __getitem__(self, index):
        return list(self.entries[index]["boxes"])


class Kept(Dataset):
    """Read by those who turn nothing off, and by one of whom that is not known. 100,000 samples."""

    def __init__(self, path):
        self.entries = json.load(open(path))  # expect

    def __getitem__(self, index):
        return list(self.entries[index]["boxes"])


def make(workers=8, names=None, listing=None, keep=True):
    data = Numbers()
    if names is not None:
        data = Named(names)
    elif listing:
        data = Listed(listing)
    elif keep:
        data = Kept("kept.json")
    return DataLoader(data, num_workers=workers)
