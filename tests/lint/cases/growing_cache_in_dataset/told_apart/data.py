"""Only the dataset of the loader without workers caches, and there the cache is hit."""

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Series(Dataset):
    def __init__(self, names, cache=False):
        self.names = np.array(names)
        self.cache = cache
        self.kept = {}

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        if self.cache and index in self.kept:
            return self.kept[index]
        sample = torch.from_numpy(np.load(self.names[index]))
        if self.cache:
            self.kept[index] = sample
        return sample


def make_loaders(names, options):
    train_loader = DataLoader(Series(names, cache=options.cache), batch_size=4, shuffle=True)
    test_loader = DataLoader(Series(names), batch_size=4, num_workers=4)
    return train_loader, test_loader
