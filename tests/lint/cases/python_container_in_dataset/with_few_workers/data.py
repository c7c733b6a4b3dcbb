import json
import os

import soundfile
import torch
from PIL import Image
from torch.utils.data import Dataset


class Tracks(Dataset):
    """Records of one text or number for each name, for four workers. 100,000 samples."""

    def __init__(self, path):
        self.tracks = json.load(open(path))  # expect advice
        self.keys = [*self.tracks]

    def __getitem__(self, index):
        track = self.tracks[self.keys[index]]
        start = float(track["start"])
        name = track.get("name")
        wave, _ = soundfile.read(track["path"], start=int(start), frames=int(track["length"]))
        return wave * track["scale"], os.path.join("out", name)


class AskedFor(Tracks):
    """The same by two loaders, of which the command line gives one its four workers. 100,000 samples."""

    def __init__(self, path):
        self.tracks = json.load(open(path))  # expect advice

    def __getitem__(self, index):
        return Image.open(self.tracks[index]["path"])


class MoreWorkers(Dataset):
    """Eight, for which a text or two are not too much. 100,000 samples."""

    def __init__(self, path):
        self.tracks = json.load(open(path))  # expect advice

    def __getitem__(self, index):
        return Image.open(self.tracks[index]["path"])


class ManyWorkers(Dataset):
    """100,000 samples."""

    def __init__(self, path):
        self.tracks = json.load(open(path))  # expect

    def __getitem__(self, index):
        return Image.open(self.tracks[index]["path"])


class OnceManyWorkers(Dataset):
    """100,000 samples."""

    def __init__(self, path):
        self.tracks = json.load(open(path))  # expect

    def __getitem__(self, index):
        return Image.open(self.tracks[index]["path"])


class NobodyKnows(Dataset):
    """100,000 samples."""

    def __init__(self, path):
        self.tracks = json.load(open(path))  # expect advice

    def __getitem__(self, index):
        return Image.open(self.tracks[index]["path"])


class WithLists(Dataset):
    """100,000 samples."""

    def __init__(self, path):
        self.tracks = json.load(open(path))  # expect

    def __getitem__(self, index):
        track = self.tracks[index]
        return Image.open(track["path"]), torch.tensor(track["boxes"])


class WithRecords(Dataset):
    """100,000 samples."""

    def __init__(self, path):
        self.tracks = json.load(open(path))  # expect

    def __getitem__(self, index):
        track = self.tracks[index]
        return soundfile.read(track["left"]["path"]), float(track["length"])


class HandedOn(Dataset):
    """What is behind the name is not known. 100,000 samples."""

    def __init__(self, path, decode):
        self.tracks = json.load(open(path))  # expect advice
        self.decode = decode

    def __getitem__(self, index):
        times = self.tracks[index]["times"]
        return self.decode(times), os.path.join("out", self.tracks[index]["path"])


class HandedOnByMore(Dataset):
    """100,000 samples."""

    def __init__(self, path, decode):
        self.tracks = json.load(open(path))  # expect
        self.decode = decode

    def __getitem__(self, index):
        return self.decode(self.tracks[index]["times"])


class Tokens(Dataset):
    """Lists of no fixed length are dear with few workers, too. 100,000 samples."""

    def __init__(self, path, tokenizer):
        self.tokens = [tokenizer.encode(line) for line in open(path)]  # expect

    def __getitem__(self, index):
        return torch.tensor(self.tokens[index])
