"""Loaders that go over their data in stored order, in jobs of several processes."""

import itertools

from accelerate import Accelerator
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, IterableDataset


class Photos(Dataset):
    def __getitem__(self, index):
        return self.photos[index]


class Rows(IterableDataset):
    def __iter__(self):
        yield from self.rows


def stored(model, optimizer):
    model = DistributedDataParallel(model)
    loader = DataLoader(Photos(), batch_size=8)  # expect
    for batch in loader:
        model(batch).mean().backward()
        optimizer.step()


def said(model, optimizer):
    model = DistributedDataParallel(model)
    loader = DataLoader(Photos(), batch_size=8, shuffle=False)  # expect
    for batch in loader:
        model(batch).mean().backward()
        optimizer.step()


def cycle(loader):
    while True:
        yield from loader


def prepared_too_late(model, optimizer):
    accelerator = Accelerator()
    loader = DataLoader(Photos(), batch_size=8, shuffle=True)  # expect
    model, optimizer, batches = accelerator.prepare(model, optimizer, cycle(loader))
    for _ in range(1000):
        loss = model(next(batches)).mean()
        accelerator.backward(loss)
        optimizer.step()


def prepared_too_late_by_library(model, optimizer):
    accelerator = Accelerator()
    loader = DataLoader(Photos(), batch_size=8, shuffle=True)  # expect
    model, batches = accelerator.prepare(model, itertools.cycle(loader))
    for _ in range(1000):
        loss = model(next(batches)).mean()
        accelerator.backward(loss)
        optimizer.step()


# --- traps ---------------------------------------------------------------------------------


def prepared(model, optimizer):
    accelerator = Accelerator()
    loader = DataLoader(Photos(), batch_size=8, shuffle=True)
    model, loader = accelerator.prepare(model, loader)
    batches = cycle(loader)
    for _ in range(1000):
        loss = model(next(batches)).mean()
        accelerator.backward(loss)
        optimizer.step()


def iterable(model, optimizer):
    model = DistributedDataParallel(model)
    for batch in DataLoader(Rows(), batch_size=8):
        model(batch).mean().backward()
        optimizer.step()


def unknown(model, optimizer, data, sampler):
    model = DistributedDataParallel(model)
    for batch in DataLoader(data, batch_size=8):
        model(batch).mean().backward()
        optimizer.step()
    for batch in DataLoader(Photos(), batch_size=8, sampler=sampler):
        model(batch).mean().backward()
        optimizer.step()


def evaluates(model):
    model = DistributedDataParallel(model)
    return sum(model(batch).mean() for batch in DataLoader(Photos(), batch_size=8))


def alone(model, optimizer):
    for batch in DataLoader(Photos(), batch_size=8):
        model(batch).mean().backward()
        optimizer.step()
