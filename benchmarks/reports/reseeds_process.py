"""A dataset seeds torch in every read; without workers the dropout of the model then draws the same mask."""

import torch
from torch.utils.data import DataLoader, Dataset

REPORT = "pytorch/pytorch#76572"
TRUE = "reading seeds torch of the training process: it draws the same numbers after each batch"
CHECK, WORDS = "randomness", r"re-seeds torch"


class Noisy(Dataset):
    def __init__(self, own):
        self.own = own

    def __len__(self):
        return 256

    def __getitem__(self, index):
        if self.own:
            generator = torch.Generator().manual_seed(index)
            return torch.randn(8, generator=generator)
        torch.manual_seed(0)
        return torch.randn(8) + index


def make():
    return DataLoader(Noisy(own=False), batch_size=16)


def mended():
    return DataLoader(Noisy(own=True), batch_size=16)


def bare(loader):
    masks = {tuple(torch.nn.functional.dropout(torch.ones(64)).tolist()) for _ in loader}
    return f"{len(masks)} dropout masks in {len(loader)} steps"
