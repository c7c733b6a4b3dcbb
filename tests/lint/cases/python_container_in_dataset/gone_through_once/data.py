import json

from torch.utils.data import Dataset


class Ordered(Dataset):
    """100,000 samples."""

    def __init__(self, path):
        self.entries = json.load(open(path))  # expect advice

    def __getitem__(self, index):
        return list(self.entries[index]["boxes"])


class Decorated(Dataset):
    """100,000 samples."""

    def __init__(self, path):
        self.entries = json.load(open(path))  # expect advice

    def __getitem__(self, index):
        return list(self.entries[index]["boxes"])


class Shuffled(Dataset):
    """100,000 samples."""

    def __init__(self, path):
        self.entries = json.load(open(path))  # expect

    def __getitem__(self, index):
        return list(self.entries[index]["boxes"])


class Learned(Dataset):
    """100,000 samples."""

    def __init__(self, path):
        self.entries = json.load(open(path))  # expect

    def __getitem__(self, index):
        return list(self.entries[index]["boxes"])


class Repeated(Dataset):
    """100,000 samples."""

    def __init__(self, path):
        self.entries = json.load(open(path))  # expect

    def __getitem__(self, index):
        return list(self.entries[index]["boxes"])


class WithGradients(Dataset):
    """100,000 samples."""

    def __init__(self, path):
        self.entries = json.load(open(path))  # expect

    def __getitem__(self, index):
        return list(self.entries[index]["boxes"])


class Again(Dataset):
    """100,000 samples."""

    def __init__(self, path):
        self.entries = json.load(open(path))  # expect

    def __getitem__(self, index):
        return list(self.entries[index]["boxes"])


class Elsewhere(Dataset):
    """100,000 samples."""

    def __init__(self, path):
        self.entries = json.load(open(path))  # expect advice

    def __getitem__(self, index):
        return list(self.entries[index]["boxes"])


class Both(Dataset):
    """100,000 samples."""

    def __init__(self, path):
        self.entries = json.load(open(path))  # expect

    def __getitem__(self, index):
        return list(self.entries[index]["boxes"])
