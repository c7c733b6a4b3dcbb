"""What workers get by pickling: the dataset, collate_fn and worker_init_fn."""

import argparse
import collections
import functools
import multiprocessing
import random
import threading
from functools import partial

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, Sampler
from torchvision import transforms
from torchvision.datasets import MNIST


def collate(samples, pad=0):
    return samples


def seed_worker(worker_id):
    random.seed(torch.initial_seed() + worker_id)


class Padding:
    def __init__(self, pad):
        self.pad = pad

    def __call__(self, samples):
        return collate(samples, self.pad)


class Rows(Dataset):
    def __init__(self, rows, transform=None, keep=None):
        self.rows = sorted(rows, key=lambda row: len(row))
        self.transform = transform
        to_tensor = lambda x: torch.tensor([x]) if type(x) is float else x  # noqa: E731
        self.mean = to_tensor(0.5)
        self.keep = keep

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return max(self.rows[index], key=lambda value: -value)

    def collate(self, samples):
        return samples

    @staticmethod
    def stack(samples):
        return samples

    def loader(self):
        return DataLoader(self, num_workers=2, collate_fn=self.collate)


class Locked(Dataset):
    def __init__(self, rows, keep=None):
        self.rows = rows
        self.lock = threading.Lock()  # expect
        self.rng = torch.Generator()  # expect
        self.numbers = (row * 2 for row in rows)  # expect
        self.counts = collections.defaultdict(lambda: 0)  # expect
        self.groups = collections.defaultdict(list)
        self.names = set(row.name for row in rows)
        self.lengths = list(map(lambda row: len(row), rows))
        self.longest = max((row for row in rows), key=lambda row: len(row))
        self.drawn = np.random.default_rng(0)
        if keep is None:
            self.keep = lambda row: True  # expect
        else:
            self.keep = keep

    def __getitem__(self, index):
        with self.lock:
            return self.rows[index], torch.randn(1, generator=self.rng)


class Managed(Dataset):
    def __init__(self, rows):
        self.manager = multiprocessing.Manager()  # expect
        self.rows = self.manager.list(rows)

    def __getitem__(self, index):
        return self.rows[index]


class ManagedByTorch(Managed):
    def __init__(self, rows):
        self.manager = torch.multiprocessing.Manager()  # expect
        self.rows = self.manager.list(rows)


class ManagedInContext(Managed):
    def __init__(self, rows):
        context = multiprocessing.get_context("spawn")
        self.manager = context.Manager()  # expect
        self.rows = self.manager.list(rows)


class Proxies(Managed):
    """They pickle, and each keeps its manager in the process that made it."""

    def __init__(self, rows):
        manager = multiprocessing.Manager()
        self.rows = manager.list(rows)
        self.cache = multiprocessing.get_context("spawn").Manager().dict()
        self.lock = manager.Lock()


class Restored(Dataset):
    """Says itself what is pickled."""

    def __init__(self, rows):
        self.rows = rows
        self.lock = threading.Lock()

    def __getstate__(self):
        return {"rows": self.rows}

    def __getitem__(self, index):
        return self.rows[index]


class Scanned(Dataset):
    """The lock and the file are gone before there are workers."""

    def __init__(self, rows):
        self.lock = threading.Lock()
        with open("names.txt") as self.file:
            self.names = self.file.read().split()
        self.rows = rows
        self.lock = None

    def __getitem__(self, index):
        return self.rows[index]


class Unused(Dataset):
    """No loader with workers is known."""

    def __init__(self, rows):
        self.rows = rows
        self.scale = lambda row: row * 2

    def __getitem__(self, index):
        return self.scale(self.rows[index])


class Lengths(Sampler):
    """Samplers stay in the main process."""

    def __init__(self, key):
        self.key = key
        self.sizes = lambda index: key(index)

    def __iter__(self):
        return iter(range(10))


def in_arguments(dataset, args):
    def nested(samples):
        return collate(samples, args.pad)

    def init(worker_id):
        np.random.seed(args.seed + worker_id)

    yield DataLoader(dataset, num_workers=4, collate_fn=lambda samples: collate(samples, 1))  # expect
    yield DataLoader(dataset, num_workers=args.workers, collate_fn=nested)  # expect
    yield DataLoader(
        dataset,
        num_workers=args.workers,
        collate_fn=collate,
        worker_init_fn=init,  # expect
    )
    yield DataLoader(dataset, num_workers=2, collate_fn=partial(nested))  # expect
    yield DataLoader(dataset, num_workers=2, collate_fn=build_collate(1))  # expect
    yield build_loader(dataset, init_fn=init)  # expect


def build_loader(dataset, init_fn=None, workers=5):
    return DataLoader(dataset, num_workers=workers, worker_init_fn=init_fn, collate_fn=partial(collate, pad=1))


def build_collate(pad):
    def padded(samples):
        return collate(samples, pad)

    return padded


def local_class(rows):
    class Local(Dataset):
        def __getitem__(self, index):
            return rows[index]

    return DataLoader(Local(), num_workers=1)  # expect


def in_datasets(rows):
    transform = transforms.Compose(
        [
            transforms.ToTensor(),
            transforms.Lambda(lambda x: torch.flatten(x)),  # expect
        ]
    )
    kwargs = {"batch_size": 4}
    kwargs.update({"num_workers": 1, "shuffle": True})
    yield DataLoader(MNIST("data", train=True, transform=transform), **kwargs)
    yield DataLoader(Rows(rows, transform=lambda row: row), num_workers=3)  # expect
    yield DataLoader(Locked(rows), num_workers=3)
    yield DataLoader(Restored(rows), num_workers=3)
    for cls in (Managed, ManagedByTorch, ManagedInContext, Proxies):
        yield DataLoader(cls(rows), num_workers=3)
    yield DataLoader(Scanned(rows), num_workers=3)


def fine(dataset, rows, args):
    yield DataLoader(dataset, num_workers=4, collate_fn=Padding(0), worker_init_fn=seed_worker)
    yield DataLoader(dataset, num_workers=4, collate_fn=partial(collate, pad=3), worker_init_fn=partial(seed_worker))
    yield DataLoader(Rows(rows), num_workers=4, collate_fn=Rows.stack)
    yield Rows(rows).loader()
    yield DataLoader(Rows(rows, keep=collate), num_workers=4, sampler=Lengths(lambda index: index))
    whole = transforms.Lambda(functools.partial(collate, pad=2))
    yield DataLoader(Rows(rows, transform=whole), num_workers=4)
    yield DataLoader(Unused(rows), batch_size=2)


class Named(Rows):
    """Hands its transform on to the constructor of its base."""

    def __init__(self, name, rows, transform):
        super().__init__(rows, transform)
        self.name = name


def each_with_its_own_transform(rows):
    yield DataLoader(Named("alone", rows, transform=lambda row: row))
    yield DataLoader(Named("beside", rows, transform=lambda row: row), num_workers=2)  # expect


def without_workers(dataset, rows):
    def nested(samples):
        return samples

    yield DataLoader(dataset, collate_fn=lambda samples: samples)
    yield DataLoader(dataset, num_workers=0, collate_fn=nested)
    yield DataLoader(Rows(rows, transform=lambda row: row))


def other_contexts(dataset):
    """loky pickles by value; fork does not pickle."""
    yield DataLoader(dataset, num_workers=2, collate_fn=lambda s: s, multiprocessing_context="fork")
    yield DataLoader(dataset, num_workers=2, collate_fn=lambda s: s, multiprocessing_context="loky")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--pad", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    rows = [[1, 2], [3]]
    for loader in [*in_arguments(Rows(rows), args), *fine(Rows(rows), rows, args)]:
        print(len(loader))


if __name__ == "__main__":
    main()


def with_workers_by_request():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    yield DataLoader(range(8), num_workers=args.workers, collate_fn=lambda samples: samples)  # expect advice
    yield DataLoader(range(8), num_workers=args.threads, collate_fn=lambda samples: samples)  # expect


class Deep(Dataset):
    def __init__(self, inner):
        self.inner = inner

    def __getitem__(self, index):
        return self.inner[index]


def nested_eight_deep(rows):
    innermost = Rows(rows, transform=lambda row: row)  # expect
    dataset = Deep(Deep(Deep(Deep(Deep(Deep(Deep(innermost)))))))
    return DataLoader(dataset, num_workers=2)


def of_nobody_knows_how_many(rows, options):
    return DataLoader(rows, num_workers=options.workers, collate_fn=lambda rows: rows)  # expect


if __name__ == "__main__":

    def collate_of_the_script(samples):
        return samples

    class OfTheScript(Dataset):
        def __getitem__(self, index):
            return index

    DataLoader([0, 1], num_workers=2, collate_fn=collate_of_the_script)  # expect
    DataLoader(OfTheScript(), num_workers=2)  # expect
    DataLoader([0, 1], num_workers=0, collate_fn=collate_of_the_script)
    DataLoader([0, 1], num_workers=2, collate_fn=collate)
