"""A sampler takes indices from the front of a list and looks others up in it: its cost grows with the square."""

import time

import torch
from torch.utils.data import DataLoader, Dataset, Sampler

REPORT = "michuanhaohao/reid-strong-baseline#96"
TRUE = "the sampler costs the main process more than reading does"
CHECK, WORDS = "stages|throughput|memory", r"[Ss]ampler|Balanced"


class Rows(Dataset):
    def __len__(self):
        return 60_000

    def __getitem__(self, index):
        return torch.tensor([index])


class Balanced(Sampler):
    def __init__(self, quick):
        self.quick = quick

    def __len__(self):
        return 60_000 // 32

    def __iter__(self):
        left = torch.randperm(60_000).tolist()
        if self.quick:
            for start in range(0, 60_000, 32):
                yield left[start : start + 32]
            return
        while left:
            batch = []
            while len(batch) < 32 and left:
                index = left[0]
                left.remove(index)
                if index not in left[-500:]:
                    batch.append(index)
                left = [*left]
            yield batch


def make():
    return DataLoader(Rows(), batch_sampler=Balanced(quick=False), num_workers=2)


def mended():
    return DataLoader(Rows(), batch_sampler=Balanced(quick=True), num_workers=2)


def bare(loader):
    begun, iterator = time.process_time(), iter(loader.batch_sampler)
    for _ in range(20):
        next(iterator)
    return f"{(time.process_time() - begun) / 20 * 1000:.2f} ms for a batch of indices"
