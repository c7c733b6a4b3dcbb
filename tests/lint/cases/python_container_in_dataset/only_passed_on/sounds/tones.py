import json

from torch.utils.data import Dataset


class Heard(Dataset):
    """Also in ``__all__``, which uses nothing. 100,000 samples."""

    def __init__(self, path):
        self.entries = json.load(open(path))  # expect advice

    def __getitem__(self, index):
        return list(self.entries[index]["boxes"])


class Played(Dataset):
    """The package does more with it than to pass it on. 100,000 samples."""

    def __init__(self, path):
        self.entries = json.load(open(path))  # expect

    def __getitem__(self, index):
        return list(self.entries[index]["boxes"])


class Sung(Dataset):
    """Another file takes it from the package. 100,000 samples."""

    def __init__(self, path):
        self.entries = json.load(open(path))  # expect

    def __getitem__(self, index):
        return list(self.entries[index]["boxes"])
