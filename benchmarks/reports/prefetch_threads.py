"""A prefetching generator starts a thread an epoch; where a loop is left early, it waits for ever with its batches."""

import queue
import threading

import torch
from torch.utils.data import DataLoader, Dataset

REPORT = "justheuristic/prefetch_generator#8"
TRUE = "each epoch that is left early leaves a thread, and the batches that it holds"
CHECK, WORDS = "workers", r"leaves 1 thread behind"


class Rows(Dataset):
    def __len__(self):
        return 2048

    def __getitem__(self, index):
        return torch.full((2048,), float(index))


class Ahead:
    def __init__(self, stops):
        self.loader = DataLoader(Rows(), batch_size=32, shuffle=True)
        self.stops = stops

    def __len__(self):
        return len(self.loader)

    def __iter__(self):
        made, left, end = queue.Queue(maxsize=4), threading.Event(), object()

        def put(item):
            while not left.is_set():
                try:
                    made.put(item, timeout=0.05 if self.stops else None)
                except queue.Full:
                    continue
                return True
            return False

        def run():
            for batch in self.loader:
                if not put(batch):
                    return
            put(end)

        threading.Thread(target=run, daemon=True).start()
        try:
            while (item := made.get()) is not end:
                yield item
        finally:
            if self.stops:
                left.set()


def make():
    return Ahead(stops=False)


def mended():
    return Ahead(stops=True)


def bare(loader):
    import time

    before = threading.active_count()
    for _ in range(5):
        for _ in loader:
            break
    time.sleep(0.5)
    return f"{threading.active_count() - before} threads left by 5 epochs that were left early"
