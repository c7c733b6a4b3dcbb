"""Datasets that are changed while workers hold a copy."""

import multiprocessing

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset


class Epochs(Dataset):
    def __init__(self, rows):
        self.rows = rows
        self.epoch = 0
        self.strength = 1.0
        self.name = "train"

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(self.epoch * 1000 + index)
        return self.rows[index] + self.strength * torch.randn(1, generator=generator)


class SharedEpoch(Dataset):
    """The epoch is in memory that all processes see."""

    def __init__(self, rows):
        self.rows = rows
        self.epoch = multiprocessing.Value("i", 0)
        self.scale = torch.ones(1).share_memory_()

    def set_epoch(self, epoch):
        self.epoch.value = epoch
        self.scale.fill_(1.0 / (1 + epoch))

    def __getitem__(self, index):
        return self.rows[index] * self.scale + self.epoch.value


class Stream(IterableDataset):
    def __init__(self, rows):
        self.rows = rows
        self.seed = 0

    def reshuffle(self, seed):
        self.seed = seed

    def __iter__(self):
        order = torch.randperm(len(self.rows), generator=torch.Generator().manual_seed(self.seed))
        yield from (self.rows[i] for i in order)


def by_method(rows, model):
    dataset = Epochs(rows)
    loader = DataLoader(dataset, num_workers=4, persistent_workers=True)
    for epoch in range(10):
        dataset.set_epoch(epoch)  # expect
        for batch in loader:
            model(batch)


def through_the_loader(rows, model, workers):
    loader = DataLoader(Epochs(rows), num_workers=workers, persistent_workers=workers > 0)
    for epoch in range(10):
        loader.dataset.set_epoch(epoch)  # expect
        train_one(loader, model)


def train_one(loader, model):
    for batch in loader:
        model(batch)


def by_attribute(rows, model):
    dataset = Epochs(rows)
    loader = DataLoader(dataset, num_workers=4, persistent_workers=True)
    for epoch in range(10):
        if epoch > 5:
            dataset.strength = 0.1  # expect
        dataset.name = f"epoch {epoch}"
        for batch in loader:
            model(batch)


def of_a_stream(rows, model):
    stream = Stream(rows)
    loader = DataLoader(stream, num_workers=2, persistent_workers=True)
    for epoch in range(10):
        stream.reshuffle(epoch)  # expect
        for batch in loader:
            model(batch)


class Trainer:
    def __init__(self, rows, model):
        self.dataset = Epochs(rows)
        self.loader = DataLoader(self.dataset, num_workers=4, persistent_workers=True)
        self.model = model

    def fit(self):
        for epoch in range(10):
            self.dataset.set_epoch(epoch)  # expect
            self.run()

    def run(self):
        for batch in self.loader:
            self.model(batch)


def before_the_first_epoch(rows, model):
    dataset = Epochs(rows)
    dataset.strength = 0.5
    loader = DataLoader(dataset, num_workers=4, persistent_workers=True)
    dataset.set_epoch(3)
    for epoch in range(10):
        for batch in loader:
            model(batch, epoch)
    dataset.set_epoch(0)


def without_persistence(rows, model):
    dataset = Epochs(rows)
    loader = DataLoader(dataset, num_workers=4)
    for epoch in range(10):
        dataset.set_epoch(epoch)
        for batch in loader:
            model(batch)


def without_workers(rows, model, args):
    dataset = Epochs(rows)
    loader = DataLoader(dataset, num_workers=0, persistent_workers=False)
    for epoch in range(10):
        dataset.strength = epoch
        for batch in loader:
            model(batch)


def in_shared_memory(rows, model):
    dataset = SharedEpoch(rows)
    loader = DataLoader(dataset, num_workers=4, persistent_workers=True)
    for epoch in range(10):
        dataset.set_epoch(epoch)
        for batch in loader:
            model(batch)


def new_loader_each_epoch(rows, model):
    dataset = Epochs(rows)
    for epoch in range(10):
        dataset.set_epoch(epoch)
        loader = DataLoader(dataset, num_workers=4, persistent_workers=True)
        for batch in loader:
            model(batch)


def other_dataset(rows, model):
    """The dataset that changes is not the one that workers hold."""
    dataset, evaluation = Epochs(rows), Epochs(rows)
    loader = DataLoader(dataset, num_workers=4, persistent_workers=True)
    for epoch in range(10):
        evaluation.set_epoch(epoch)
        for batch in loader:
            model(batch)
        model(evaluation[0])


def sampler_in_main(dataset, model):
    """Samplers live in the main process; what an unknown dataset does is not known."""
    sampler = torch.utils.data.DistributedSampler(dataset)
    loader = DataLoader(dataset, sampler=sampler, num_workers=4, persistent_workers=True)
    for epoch in range(10):
        sampler.set_epoch(epoch)
        loader.sampler.set_epoch(epoch)
        dataset.set_epoch(epoch)
        for batch in loader:
            model(batch)
