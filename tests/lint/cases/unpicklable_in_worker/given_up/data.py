import torch
from torch.utils.data import DataLoader


def make_loader(dataset):
    return DataLoader(dataset, num_workers=4, collate_fn=lambda paths: torch.load(paths[0]))  # expect advice
