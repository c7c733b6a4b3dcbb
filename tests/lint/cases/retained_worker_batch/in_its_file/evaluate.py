import torch
from torch.utils.data import DataLoader

torch.multiprocessing.set_sharing_strategy("file_system")


def evaluate(dataset):
    kept = []
    for images, labels in DataLoader(dataset, num_workers=4):
        kept.append(labels.detach())
    return torch.cat(kept)
