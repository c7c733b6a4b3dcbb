"""A sharded loader starts a process for each epoch that nobody ends: they add up until the machine is full."""

import multiprocessing

import torch
from torch.utils.data import DataLoader, TensorDataset

REPORT = "NVIDIA/sentiment-discovery#60"
TRUE = "each epoch leaves a process behind"
CHECK, WORDS = "workers", r"leaves 1 process behind"


def serve(requests):
    while requests.recv() is not None:
        pass


class Managed:
    def __init__(self, ends):
        self.loader = DataLoader(TensorDataset(torch.randn(256, 8)), batch_size=16, shuffle=True)
        self.ends, self.managers = ends, []

    def __len__(self):
        return len(self.loader)

    def __iter__(self):
        ours, theirs = multiprocessing.Pipe()
        manager = multiprocessing.Process(target=serve, args=(theirs,), daemon=True)
        manager.start()
        self.managers.append((manager, ours))
        try:
            yield from self.loader
        finally:
            if self.ends:
                ours.send(None)
                manager.join()
                self.managers.clear()


def make():
    return Managed(ends=False)


def mended():
    return Managed(ends=True)


def bare(loader):
    for _ in range(3):
        for _ in loader:
            pass
    left = multiprocessing.active_children()
    for each in left:
        each.kill()
    return f"{len(left)} processes left by 3 epochs"
