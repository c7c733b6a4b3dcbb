"""A source that never ends has one pass, until something leaves it."""

import numpy as np
from torch.utils.data import DataLoader


def random_batches(n, size):
    while True:
        yield np.random.randint(0, n, size).tolist()


def train(model, dataset, opt, epochs=100):
    loader = DataLoader(dataset, batch_sampler=random_batches(len(dataset), 32), num_workers=8)
    for epoch in range(epochs):
        for step, x in enumerate(loader):
            loss = model(x).mean()
            loss.backward()
            opt.step()
            if step == 50_000:
                return


def train_in_parts(model, dataset, opt, epochs=100):
    loader = DataLoader(dataset, batch_sampler=random_batches(len(dataset), 32), num_workers=8)  # expect
    for epoch in range(epochs):
        for step, x in enumerate(loader):
            model(x).mean().backward()
            opt.step()
            if step == 1_000:
                break


def train_epoch(model, loader, opt):
    for step, x in enumerate(loader):
        model(x).mean().backward()
        opt.step()
        if step == 1_000:
            return


def train_by_function(model, dataset, opt, epochs=100):
    loader = DataLoader(dataset, batch_sampler=random_batches(len(dataset), 32), num_workers=8)  # expect
    for epoch in range(epochs):
        train_epoch(model, loader, opt)
