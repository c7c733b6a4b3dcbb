"""A batch sampler keeps shuffled indices in a set: small integers come out of it in order again."""

import torch
from torch.utils.data import DataLoader, Dataset, Sampler

REPORT = "huggingface/sentence-transformers#3069"
TRUE = "the sampler gives nearly the same order in every epoch, and nearly the stored one"
CHECK, WORDS = "order", r"draws random numbers, but gives the stored order"


class Pairs(Dataset):
    def __len__(self):
        return 1000

    def __getitem__(self, index):
        return torch.full((4,), float(index))


class NoDuplicates(Sampler):
    def __init__(self, ordered):
        self.ordered = ordered

    def __len__(self):
        return 125

    def __iter__(self):
        shuffled = torch.randperm(1000).tolist()
        left = dict.fromkeys(shuffled) if self.ordered else set(shuffled)
        while left:
            batch = []
            for index in left:
                batch.append(index)
                if len(batch) == 8:
                    break
            for index in batch:
                left.pop(index, None) if self.ordered else left.discard(index)
            yield batch


def make():
    return DataLoader(Pairs(), batch_sampler=NoDuplicates(ordered=False), num_workers=2)


def mended():
    return DataLoader(Pairs(), batch_sampler=NoDuplicates(ordered=True), num_workers=2)


def bare(loader):
    one, other = ([int(row[0]) for rows in loader for row in rows] for _ in range(2))
    return f"{sum(a == b for a, b in zip(one, other, strict=True))} of 1,000 places alike in two epochs"
