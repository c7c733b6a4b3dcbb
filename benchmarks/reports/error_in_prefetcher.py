"""An error in the thread of a prefetcher does not reach the loop: it gets the batch before once more."""

import threading

import torch
from torch.utils.data import DataLoader, Dataset

REPORT = "deepseek-ai/DeepSpec#78"
TRUE = "the loader raises at sample 100, and the loop is given an old batch again instead"
CHECK, WORDS = "order|workers", r"ValueError"


class Rows(Dataset):
    def __init__(self, broken):
        self.broken = broken

    def __len__(self):
        return 320

    def __getitem__(self, index):
        if self.broken and index == 100:
            raise ValueError("sample 100 is broken")
        return torch.tensor(index)


class Prefetcher:
    def __init__(self, broken):
        self.loader = DataLoader(Rows(broken), batch_size=16)

    def __len__(self):
        return len(self.loader)

    def __iter__(self):
        self.iterator, self.batch = iter(self.loader), None

        def fetch():
            self.batch = next(self.iterator, None)

        fetch()
        for _ in range(len(self.loader)):
            batch = self.batch
            thread = threading.Thread(target=fetch, daemon=True)
            thread.start()
            yield batch
            thread.join()


def make():
    return Prefetcher(broken=True)


def mended():
    return Prefetcher(broken=False)


def bare(loader):
    threading.excepthook = lambda _: None
    rows = torch.cat(list(loader))
    threading.excepthook = threading.__excepthook__
    return f"{len(rows)} samples come, {len(rows.unique())} different ones"
