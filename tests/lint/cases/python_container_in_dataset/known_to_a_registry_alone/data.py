import json

from torch.utils.data import DataLoader, Dataset

DATASETS = {}


def register(cls):
    DATASETS[cls.__name__] = cls
    return cls


@register
class Named(Dataset):
    """100,000 samples, for whatever config names it."""

    def __init__(self, path):
        self.entries = json.load(open(path))  # expect advice

    def __getitem__(self, index):
        return list(self.entries[index]["boxes"])


@register
class Made(Dataset):
    """100,000 samples, which a script makes as well."""

    def __init__(self, path):
        self.entries = json.load(open(path))  # expect

    def __getitem__(self, index):
        return list(self.entries[index]["boxes"])


def build(config):
    return DataLoader(DATASETS[config["name"]](config["path"]), num_workers=config["workers"])


def made(path):
    return DataLoader(Made(path), num_workers=4)
