"""A lambda in a chain of a dataset stays there, whatever is done about another function."""

import webdataset as wds
from torch.utils.data import DataLoader


def load(urls, captions):
    def identity(samples):
        return samples

    dataset = wds.WebDataset(urls, resampled=True).select(lambda sample: True).decode("pil").map(captions)
    return DataLoader(dataset, num_workers=8, collate_fn=identity)  # expect


def load_as_it_is(urls):
    def identity(samples):
        return samples

    dataset = wds.WebDataset(urls, resampled=True).decode("pil").map(str)
    return DataLoader(dataset, num_workers=8, collate_fn=identity)  # expect
