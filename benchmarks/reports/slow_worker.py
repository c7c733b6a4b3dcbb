"""The files of one worker of a stream are slow; batches come in turn, and the other workers wait for it."""

import time

import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

REPORT = "pytorch/pytorch#135409"
TRUE = "worker 1 takes 8 times as long as the others, which wait for it: 4 workers go at its pace"
CHECK, WORDS = "stages|throughput", r"worker 1|slowest worker|in_order"


class Files(IterableDataset):
    def __init__(self, uneven):
        self.uneven = uneven

    def __iter__(self):
        info = get_worker_info()
        worker, workers = (info.id, info.num_workers) if info else (0, 1)
        for row in range(worker, 4096, workers):
            slow = worker == 1 if self.uneven else row % 16 < 4
            time.sleep(0.008 if slow and self.uneven else 0.001)
            yield torch.tensor(row)


def make():
    return DataLoader(Files(uneven=True), batch_size=8, num_workers=4)


def mended():
    return DataLoader(Files(uneven=False), batch_size=8, num_workers=4)


def bare(loader):
    iterator = iter(loader)
    for _ in range(8):
        next(iterator)
    begun = time.monotonic()
    for _ in range(40):
        next(iterator)
    return f"{320 / (time.monotonic() - begun):,.0f} samples a second"
