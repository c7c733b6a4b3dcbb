"""One lambda, word for word in several loaders, is one fault; another is another."""

import torch
from torch.utils.data import DataLoader


def make_loaders(train, valid, test):
    yield DataLoader(train, num_workers=4, collate_fn=lambda rows: torch.stack(rows))  # expect
    yield DataLoader(valid, num_workers=4, collate_fn=lambda rows: torch.stack(rows))  # with it
    yield DataLoader(test, num_workers=4, collate_fn=lambda rows: torch.stack(rows))  # with it
    yield DataLoader(test, num_workers=4, collate_fn=lambda rows: torch.cat(rows))  # expect
