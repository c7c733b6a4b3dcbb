"""A collate function takes the fields of a batch from its first sample; one that only others have is dropped."""

import torch
from torch.utils.data import DataLoader, Dataset

REPORT = "sunlabuiuc/PyHealth#1222"
TRUE = "negatives of samples are lost wherever the first sample of a batch has none"
CHECK, WORDS = "order", r"negative"


class Queries(Dataset):
    def __init__(self, always):
        self.always = always

    def __len__(self):
        return 400

    def __getitem__(self, index):
        sample = {"query": torch.full((8,), float(index))}
        if index % 4 or self.always:
            sample["negative"] = torch.full((8,), -float(index))
        return sample


def together(samples):
    return {key: torch.stack([each[key] for each in samples if key in each]) for key in samples[0]}


def make():
    return DataLoader(Queries(always=False), batch_size=8, shuffle=True, num_workers=2, collate_fn=together)


def mended():
    return DataLoader(Queries(always=True), batch_size=8, shuffle=True, num_workers=2, collate_fn=together)


def bare(loader):
    shapes = [len(batch.get("negative", ())) for batch in loader]
    return f"negatives in a batch of 8: {min(shapes)} to {max(shapes)}; {sum(shapes)} in an epoch"
