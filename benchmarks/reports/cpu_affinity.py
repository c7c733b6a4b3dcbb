"""Something that workers load binds them all to one CPU, and more workers make nothing faster."""

import os

import torch
from torch.utils.data import DataLoader, Dataset

REPORT = "pytorch/pytorch#101850"
TRUE = "all workers may run on one CPU only"
CHECK, WORDS = "workers", r"1 of \d+ CPUs"


class Rows(Dataset):
    def __len__(self):
        return 512

    def __getitem__(self, index):
        return torch.tensor(len(os.sched_getaffinity(0)))


def bind(_):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def make():
    return DataLoader(Rows(), batch_size=16, shuffle=True, num_workers=2, worker_init_fn=bind)


def mended():
    return DataLoader(Rows(), batch_size=16, shuffle=True, num_workers=2)


def bare(loader):
    return f"a worker may run on {int(next(iter(loader))[0])} CPUs"
