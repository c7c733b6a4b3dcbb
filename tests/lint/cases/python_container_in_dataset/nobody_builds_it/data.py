import json

from torch.utils.data import Dataset


class Records(Dataset):
    """100,000 samples."""

    def __init__(self, path):
        self.entries = json.load(open(path))  # expect

    def __getitem__(self, index):
        return list(self.entries[index]["boxes"])


class Audio(Dataset):
    """Copied from elsewhere: nothing makes one. 100,000 samples."""

    def __init__(self, path):
        self.entries = json.load(open(path))  # expect advice

    def __getitem__(self, index):
        return list(self.entries[index]["boxes"])


class Parent(Dataset):
    """100,000 samples."""

    def __init__(self, path):
        self.entries = json.load(open(path))  # expect

    def __getitem__(self, index):
        return list(self.entries[index]["boxes"])


class Child(Parent):
    pass


def registered(cls):
    KINDS[cls.__name__.lower()] = cls
    return cls


KINDS = {}


@registered
class Registered(Dataset):
    """100,000 samples."""

    def __init__(self, path):
        self.entries = json.load(open(path))  # expect

    def __getitem__(self, index):
        return list(self.entries[index]["boxes"])
