"""A stream is shuffled in a buffer that is much smaller than a shard: neighbours stay neighbours, batches are alike."""

import random

import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

REPORT = "webdataset/webdataset#71"
TRUE = "batches are made of neighbours, the same ones in every epoch"
CHECK, WORDS = "order", r"shared a batch in the epoch before"


class Stream(IterableDataset):
    def __init__(self, buffer):
        self.buffer = buffer

    def __iter__(self):
        info = get_worker_info()
        worker, workers = (info.id, info.num_workers) if info else (0, 1)
        rng, held = random.Random(torch.initial_seed()), []
        for row in range(worker, 4000, workers):
            held.append(row)
            if len(held) >= self.buffer:
                at = rng.randrange(len(held))
                held[at], held[-1] = held[-1], held[at]
                yield torch.tensor(held.pop())
        rng.shuffle(held)
        yield from map(torch.tensor, held)


def make():
    return DataLoader(Stream(16), batch_size=32, num_workers=2)


def mended():
    return DataLoader(Stream(4000), batch_size=32, num_workers=2)


def bare(loader):
    spread = [float(rows.float().std()) for rows in loader]
    return f"rows of a batch spread over {sum(spread) / len(spread):,.0f} of 4,000 (a random batch: 1,155)"
