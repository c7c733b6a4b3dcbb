"""Two loaders that are not to pin, whose batches go through one helper, behind which the host waits, or does not."""

import torch
from torch.utils.data import DataLoader


def to_gpu(part):
    return part.cuda(non_blocking=True)  # expect advice


def to_device(part):
    return part.cuda(non_blocking=True)  # expect


def fit(model, train_set, val_set):
    train_loader = DataLoader(train_set, num_workers=1, pin_memory=False)
    val_loader = DataLoader(val_set, num_workers=1, pin_memory=False)
    for loader in (val_loader, train_loader):
        for text, lengths in loader:
            lengths = to_gpu(lengths)
            longest = torch.max(lengths).item()
            model(to_device(text), longest)


def said_of_one_only(model, train_set, val_set):
    for lengths in DataLoader(train_set, num_workers=1):
        lengths = lengths.cuda(non_blocking=True)  # expect
        model(lengths.max().item())
    for lengths in DataLoader(val_set, num_workers=1, pin_memory=False):
        model(lengths.cuda(non_blocking=True))  # expect
        first = 1
        second = first + 1
        third = second + 1
        model(third)
        model(lengths.max().item())
