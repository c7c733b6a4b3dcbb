"""A function that reads is wrapped in an unlimited lru_cache: each worker comes to hold the whole dataset."""

import functools

import torch
from torch.utils.data import DataLoader, Dataset

REPORT = "woven-by-toyota/l5kit#144"
TRUE = "an unlimited lru_cache holds every sample in each worker"
CHECK, WORDS = "memory", r"cache: .* dataset\.read"


@functools.cache
def read_scene(index):
    return bytearray(65536 + index % 2)


def read_again(index):
    return bytearray(65536 + index % 2)


class Scenes(Dataset):
    def __init__(self, cached):
        self.read = read_scene if cached else read_again

    def __len__(self):
        return 4000

    def __getitem__(self, index):
        return torch.frombuffer(self.read(index), dtype=torch.uint8)[:512] + index % 200


def make():
    return DataLoader(Scenes(cached=True), batch_size=16, shuffle=True, num_workers=2)


def mended():
    return DataLoader(Scenes(cached=False), batch_size=16, shuffle=True, num_workers=2)


def bare(loader):
    for index in range(100):
        loader.dataset[index]
    held = read_scene.cache_info().currsize
    read_scene.cache_clear()
    return f"{held} scenes held after 100 samples"
