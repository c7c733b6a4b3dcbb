"""The main process has computed with OpenMP; a forked worker that asks for several threads waits for ever."""

import torch
from torch.utils.data import DataLoader, Dataset

REPORT = "pytorch/pytorch#41197"
TRUE = "workers wait in OpenMP for threads that were not forked with them"
CHECK, WORDS = "workers", r"set_num_threads|OpenMP"


class Products(Dataset):
    def __init__(self):
        torch.set_num_threads(2)
        rows = torch.randn(512, 512)
        self.scale = float((rows @ rows).std())

    def __len__(self):
        return 512

    def __getitem__(self, index):
        rows = torch.full((256, 256), float(index))
        return (rows @ rows)[0] / self.scale


def widen(_):
    torch.set_num_threads(2)


def make():
    return DataLoader(Products(), batch_size=8, shuffle=True, num_workers=2, worker_init_fn=widen)


def mended():
    return DataLoader(Products(), batch_size=8, shuffle=True, num_workers=2)


def bare(loader):
    loader.timeout = 10
    try:
        return f"{sum(map(len, loader))} of 512 samples"
    except RuntimeError as error:
        return f"{error}"
