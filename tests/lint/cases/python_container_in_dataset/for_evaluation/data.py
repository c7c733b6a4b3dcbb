import json

from torch.utils.data import Dataset


class Base(Dataset):
    """100,000 samples."""

    def __init__(self, path):
        self.entries = json.load(open(path))  # expect

    def __getitem__(self, index):
        return list(self.entries[index]["boxes"])


class Ranking(Dataset):
    """100,000 samples."""

    def __init__(self, path, split):
        self.entries = json.load(open(path))  # expect advice

    def __getitem__(self, index):
        return list(self.entries[index]["boxes"])


class RetrievalEval(Dataset):
    """Made by who knows whom, but named for what it does. 100,000 samples."""

    def __init__(self, path):
        self.entries = json.load(open(path))  # expect advice

    def __getitem__(self, index):
        return list(self.entries[index]["boxes"])


class EvalTwice(Dataset):
    """100,000 samples."""

    def __init__(self, path):
        self.entries = json.load(open(path))  # expect

    def __getitem__(self, index):
        return list(self.entries[index]["boxes"])


class Either(Dataset):
    """100,000 samples."""

    def __init__(self, path):
        self.entries = json.load(open(path))  # expect

    def __getitem__(self, index):
        return list(self.entries[index]["boxes"])


class Shared(Dataset):
    """Fills what both kinds read. 100,000 samples."""

    def __init__(self, path):
        self.entries = json.load(open(path))  # expect


class SharedVal(Shared):
    def __getitem__(self, index):
        return list(self.entries[index]["boxes"])


class SharedFit(Shared):
    def __getitem__(self, index):
        return list(self.entries[index]["boxes"])[0]


KINDS = {"retrieval": RetrievalEval}


class VideoTestFrames(Dataset):
    """100,000 samples."""

    def __init__(self, path):
        self.entries = json.load(open(path))  # expect advice

    def __getitem__(self, index):
        return list(self.entries[index]["boxes"])


class TrainTestFrames(Dataset):
    """100,000 samples."""

    def __init__(self, path):
        self.entries = json.load(open(path))  # expect

    def __getitem__(self, index):
        return list(self.entries[index]["boxes"])


class Latest(Dataset):
    """100,000 samples."""

    def __init__(self, path):
        self.entries = json.load(open(path))  # expect

    def __getitem__(self, index):
        return list(self.entries[index]["boxes"])


KINDS |= {"frames": VideoTestFrames, "all": TrainTestFrames, "latest": Latest}
