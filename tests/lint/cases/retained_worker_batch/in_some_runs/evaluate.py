import torch
from torch.utils.data import DataLoader


def evaluate(dataset):
    kept = []
    for images, labels in DataLoader(dataset, num_workers=4):
        kept.append(labels.detach())  # expect
    return torch.cat(kept)
