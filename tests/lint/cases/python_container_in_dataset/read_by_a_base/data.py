import json

from torch.utils.data import DataLoader, Dataset


class Base(Dataset):
    def __init__(self):
        self.entries = []

    def __getitem__(self, index):
        return list(self.entries[index]["boxes"])


class Streets(Base):
    """100,000 samples."""

    def __init__(self, path):
        super().__init__()
        self.entries = json.load(open(path))  # expect


class Fields(Streets):
    """Filled in the place of the streets, and read as they are. 100,000 samples."""

    def __init__(self, path):
        Base.__init__(self)
        self.entries = json.load(open(path))  # expect advice


class Squares(Base):
    """Of another kind than streets. 100,000 samples."""

    def __init__(self, path):
        super().__init__()
        self.entries = json.load(open(path))  # expect


class Rooms(Streets):
    """One that reads for itself. 100,000 samples."""

    def __init__(self, path):
        Base.__init__(self)
        self.entries = json.load(open(path))  # expect

    def __getitem__(self, index):
        return [box[:2] for box in self.entries[index]["boxes"]]


def loaders(path):
    return [DataLoader(cls(path), num_workers=4) for cls in (Streets, Fields, Squares, Rooms)]
