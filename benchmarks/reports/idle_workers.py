"""After a change of the library a stream of many files counts as one shard: one worker reads, the others are idle."""

import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

REPORT = "huggingface/datasets#8669"
TRUE = "3 of 4 workers get no sample"
CHECK, WORDS = "order", r"3 of 4 workers get no sample"


class Sharded(IterableDataset):
    def __init__(self, shards):
        self.shards = shards

    def __iter__(self):
        info = get_worker_info()
        worker, workers = (info.id, info.num_workers) if info else (0, 1)
        for shard in range(worker, self.shards, workers):
            for row in range(shard, 512, self.shards):
                yield torch.tensor([worker, row])


def make():
    return DataLoader(Sharded(1), batch_size=16, num_workers=4)


def mended():
    return DataLoader(Sharded(8), batch_size=16, num_workers=4)


def bare(loader):
    return f"{len({int(row[0]) for rows in loader for row in rows})} of 4 workers give samples"
