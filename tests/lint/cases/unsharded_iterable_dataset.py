"""Iterable datasets with workers that share, or do not."""

import argparse
import csv
import glob
import os
import random
from itertools import cycle, islice

import datasets
import numpy as np
import torch
import unknown_library
from datasets import load_dataset
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info


class Lines(IterableDataset):  # expect
    def __init__(self, path):
        self.path = path

    def __iter__(self):
        with open(self.path) as file:
            for line in file:
                yield line.split()


class Tables(torch.utils.data.IterableDataset):  # expect
    def __init__(self, pattern, seed):
        self.files = glob.glob(pattern)

    def __iter__(self):
        order = list(self.files)
        random.shuffle(order)
        for name in order:
            yield from self.read(name)

    def read(self, name):
        with open(name) as file:
            yield from csv.reader(file)


class Numbers(IterableDataset):  # expect
    def __init__(self, first, last):
        self.first, self.last = first, last

    def __iter__(self):
        return iter(range(self.first, self.last))


class Stored(Dataset):
    def __init__(self, values):
        self.values = values

    def __getitem__(self, index):
        return self.values[index]

    def __len__(self):
        return len(self.values)


class Streamed(IterableDataset):  # expect
    def __init__(self, values):
        self.stored = Stored(values)

    def __iter__(self):
        for index in range(len(self.stored)):
            yield self.stored[index]


class Outer(IterableDataset):  # expect
    def __init__(self, path):
        self.inner = Lines(path)

    def __iter__(self):
        for words in self.inner:
            if words:
                yield words[0]


class Headed(IterableDataset):  # expect
    def __init__(self, path):
        self.path = path

    def __iter__(self):
        reader = csv.reader(open(self.path))
        names = next(reader)
        while True:
            try:
                yield dict(zip(names, next(reader)))
            except StopIteration:
                return


class Loaded(IterableDataset):  # expect
    def __init__(self, path):
        self.rows = open(path).readlines()
        self.files = path

    def __iter__(self):
        for row in self.rows:
            yield row.split()




def seed_only(number):
    np.random.seed(torch.initial_seed() % 2**32)


class Counted(IterableDataset):  # expect
    def __init__(self, last):
        self.last = last

    def __iter__(self):
        return iter(range(self.last))


def loaders(path, config):
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=0)
    args = parser.parse_args()
    yield DataLoader(Lines(path), num_workers=2, worker_init_fn=seed_only)
    yield DataLoader(Tables(path, 0), batch_size=4, num_workers=args.workers)
    yield DataLoader(Numbers(0, 10), num_workers=config.workers)
    yield DataLoader(Counted(10), num_workers=int(os.environ.get("WORKERS", 0)))
    yield DataLoader(Streamed(path), num_workers=2)
    yield DataLoader(Outer(path), num_workers=2)
    yield DataLoader(Headed(path), num_workers=2)
    yield DataLoader(Loaded(path), num_workers=2)
    yield DataLoader(Named(config.files), num_workers=2)


# --- silent -------------------------------------------------------------------------------


class Alone(Lines):
    def __iter__(self):
        for line in open(self.path):
            yield line.rstrip()


class Asking(IterableDataset):
    def __init__(self, files):
        self.files = files

    def __iter__(self):
        info = get_worker_info()
        for name in self.files if info is None else self.files[info.id :: info.num_workers]:
            yield from open(name)


def own_share(items):
    info = torch.utils.data.get_worker_info()
    return items if info is None else islice(items, info.id, None, info.num_workers)


class Helped(Lines):
    def __iter__(self):
        for line in own_share(open(self.path)):
            yield line


class Source:
    def __init__(self, files):
        self.files = files

    def __iter__(self):
        yield from own_share(self.files)


class Holding(IterableDataset):
    def __init__(self, files):
        self.source = Source(files)

    def __iter__(self):
        for name in self.source:
            yield from open(name)


class Around(IterableDataset):
    def __init__(self, files):
        self.dataset = Asking(files)

    def __iter__(self):
        for line in self.dataset:
            yield line.split()


class Sliced(Numbers):
    def __iter__(self):
        return iter(range(self.first, self.last))


def slice_numbers(number):
    info = get_worker_info()
    size = (info.dataset.last - info.dataset.first) // info.num_workers
    info.dataset.first += size * info.id


class Noise(IterableDataset):
    def __iter__(self):
        for _ in range(100):
            yield torch.randn(3)


class Drawn(IterableDataset):
    def __init__(self, rows):
        self.rows = rows

    def __iter__(self):
        while True:
            yield self.rows[random.randrange(len(self.rows))]




class Wrapping(IterableDataset):
    def __init__(self, stream):
        self.stream = stream

    def __iter__(self):
        yield from self.stream


class Library(IterableDataset):
    def __init__(self, name):
        self.rows = unknown_library.load(name, streaming=True)

    def __iter__(self):
        for row in self.rows:
            yield row["text"]


class Hub(IterableDataset):
    """A stream of the library asks which worker it runs in."""

    def __init__(self, name):
        self.samples = load_dataset(name, split="train", streaming=True).shuffle(buffer_size=1000, seed=1)

    def __iter__(self):
        for row in self.samples:
            yield row["text"]


class Chained(IterableDataset):
    def __init__(self, name, skipped):
        stream = datasets.load_dataset(name, streaming=True)["train"]
        stream = stream.shuffle(seed=1).skip(skipped).take(1000)
        self.rows = stream.map(lambda row: row["text"]).filter(bool).batch(4)

    def __iter__(self):
        yield from enumerate(self.rows)




class Given(IterableDataset):
    def __init__(self, samples):
        self.samples = samples

    def __iter__(self):
        for sample in self.samples:
            yield sample["text"]


class GivenBelow(Given):
    def __iter__(self):
        for number, sample in enumerate(self.samples):
            yield number, sample


class Derived(unknown_library.Streaming):
    def __iter__(self):
        yield from range(10)


class Mixed(IterableDataset, unknown_library.Mixin):
    def __iter__(self):
        yield from range(10)


class Never(IterableDataset):
    def __iter__(self):
        yield from range(10)


class Abstract(IterableDataset):
    def __iter__(self):
        raise NotImplementedError


class Dropping(Dataset):
    """Indexed or gone through, which is then up to what it drops from."""

    def __init__(self, core):
        self.core = core

    def __getitem__(self, index):
        return self.core[index]

    def __iter__(self):
        yield from (sample for sample in self.core if random.random() > 0.5)


class Wrapper(IterableDataset):
    def __init__(self, data):
        self.data = data

    def __iter__(self):
        return iter(self.data)


def silent_loaders(path, files, stream):
    yield DataLoader(Alone(path), batch_size=2)
    yield DataLoader(Alone(path), num_workers=0)
    yield DataLoader(Sliced(0, 10), num_workers=2, worker_init_fn=slice_numbers)
    for dataset in (Asking(files), Helped(path), Holding(files), Around(files), Noise(), Drawn(files)):
        yield DataLoader(dataset, num_workers=2)
    for dataset in (Endless(path, 1), Wrapping(stream), Library(path), Derived(), Mixed(), cycle(path)):
        yield DataLoader(dataset, num_workers=2)
    yield DataLoader(Abstract(), num_workers=2)
    yield DataLoader(Wrapper(Dropping(stream)), num_workers=2)
    for dataset in (Hub(path), Chained(path, 5), Packed(stream, 8), Given(stream), GivenBelow(stream)):
        yield DataLoader(dataset, num_workers=2)
    yield DataLoader(Stored(files), num_workers=2)
