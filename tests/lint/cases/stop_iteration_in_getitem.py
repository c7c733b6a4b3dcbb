"""Iterators advanced while samples are made."""

import csv
import itertools

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset
from torch.utils.data.dataloader import default_collate


class Advancing(Dataset):
    def __init__(self, path, extra):
        self.stream = open(path)
        self.extra = iter(extra)
        self.numbers = itertools.count()
        self.colours = itertools.cycle(["red", "green"])

    def __getitem__(self, index):
        line = next(self.stream)  # expect
        other = self.another()
        return line, other, next(self.numbers), next(self.colours)

    def another(self):
        return next(self.extra)  # expect

    def first(self):
        """Called by the main process alone."""
        return next(self.extra)


class Dunder(Dataset):
    def __init__(self, path):
        self.stream = open(path)

    def __getitem__(self, index):
        return self.stream.__next__()  # expect


class Refilling:
    """Never ends: goes through its items again and again."""

    def __init__(self, items):
        self.items = list(items)
        self.left = []

    def __next__(self):
        return self.take(1)[0]

    def take(self, count):
        if not self.left:
            self.left = [item for item in self.items]
        taken, self.left = self.left[:count], self.left[count:]
        return taken


class Reopening(Refilling):
    """Inherits what never ends."""

    def open(self):
        raise StopIteration


class Limited(Refilling):
    def __next__(self):
        self.check()
        return self.take(1)[0]

    def check(self):
        if not self.items:
            raise StopIteration


class Handing:
    def __init__(self, items):
        self.source = iter(items)

    def __next__(self):
        return self.advance()

    def advance(self):
        return next(self.source)


class Reader:
    def __init__(self, reader):
        self.reader = reader

    def __next__(self):
        return self.reader.next()


class Deferring(Handing):
    def __next__(self):
        return super().__next__()




class Matching(Dataset):
    def __init__(self, datasets, ends):
        self.datasets = datasets
        self.ends = ends

    def __getitem__(self, index):
        which = next(i for i, end in enumerate(self.ends) if index < end)  # expect
        return self.datasets[which][index]


class Headers(Dataset):
    """The first line of a file that was just opened is there."""

    def __init__(self, paths):
        self.paths = paths
        self.stream = open(paths[0])

    def __getitem__(self, index):
        with open(self.paths[index]) as stream:
            reader = csv.reader(stream)
            next(reader)
            rows = [row for row in reader]
        if not rows:
            self.stream = open(self.paths[0])
            rows.append(next(self.stream))
        return rows


class Skipping(Dataset):
    def __init__(self, path):
        self.path = path

    def __getitem__(self, index):
        with open(self.path) as stream:
            for _ in range(index):
                next(stream)  # expect
            return stream.readline()


class Sought(Dataset):
    """Asks whether there is one before it takes the first."""

    def __init__(self, samples):
        self.samples = samples

    def __getitem__(self, index):
        rows = self.samples[index]
        size = 0
        if any("label" in row for row in rows):
            size = len(first["label"])
        if any("mask" in row for row in rows):
            size = len(next(row for row in rows if "label" in row))  # expect
        if any("mask" in row for row in self.samples):
            size = len(next(row for row in rows if "mask" in row))  # expect
        if not any("id" in row for row in rows):
            size = len(next(row for row in rows if "id" in row))  # expect
        return size


class Guarded(Dataset):
    def __init__(self, path, datasets, ends):
        self.path = path
        self.stream = open(path)
        self.datasets = datasets
        self.ends = ends

    def __getitem__(self, index):
        try:
            return next(self.stream)
        except StopIteration:
            self.stream = open(self.path)
        line = next(self.stream, None)
        which = next((i for i, end in enumerate(self.ends) if index < end), 0)
        try:
            return self.unguarded(), line, which
        except (StopIteration, OSError):
            raise IndexError(index) from None

    def unguarded(self):
        return next(self.stream)

    def any_error(self):
        try:
            return next(self.stream)
        except Exception:
            return None


class First(Dataset):
    """An iterator made on the spot of something that is not empty."""

    def __init__(self, model, rows):
        self.model = model
        self.rows = rows

    def __getitem__(self, index):
        device = next(self.model.parameters()).device
        key = next(iter(self.rows[index]))
        value = next(iter(self.rows[index].values()))
        words = (word for word in self.rows[index])
        return device, key, value, list(self.pairs(words))

    def pairs(self, words):
        """In a generator, StopIteration becomes RuntimeError: not silent."""
        for word in words:
            yield word, next(words)


class Streamed(IterableDataset):
    def __init__(self, source):
        self.source = source

    def __iter__(self):
        source = iter(self.source)
        while True:
            try:
                yield next(source)
            except StopIteration:
                return

    def __next__(self):
        return next(self.source)


EXTRA = iter(range(100))


def collate(samples):
    number = next(EXTRA)  # expect
    widest = next(iter(samples))
    return default_collate(samples), number, widest


def collate_pairs(samples):
    pairs = iter(samples)
    size = len(next(pairs))
    return [pair for pair in pairs if len(pair) == size]


def collate_elsewhere(samples):
    """Not the collate function of a loader."""
    return next(EXTRA), samples


class Collate:
    def __init__(self, noise):
        self.noise = iter(noise)

    def __call__(self, samples):
        return default_collate(samples), next(self.noise)  # expect


def loaders(dataset, noise):
    yield DataLoader(dataset, collate_fn=collate, num_workers=2)
    yield DataLoader(dataset, collate_fn=Collate(noise))
    yield DataLoader(dataset, collate_fn=collate_pairs)


def train(loader):
    batches = iter(loader)
    for _ in range(10):
        print(torch.sum(next(batches)))


class Counter:
    """No dataset."""

    def __init__(self, source):
        self.source = iter(source)

    def __getitem__(self, index):
        return next(self.source)


class Renewing:
    """Never ends, unless there is nothing at all."""

    def __init__(self, rows):
        self.rows = rows
        self.source = iter(rows)

    def __iter__(self):
        return self

    def __next__(self):
        while True:
            try:
                row = next(self.source)
            except StopIteration:
                self.source = iter(self.rows)
                row = next(self.source)
            return row


class Retrying(Renewing):
    def __next__(self):
        while True:
            try:
                return next(self.source)
            except StopIteration:
                self.source = iter(self.rows)


class RenewingForNextTime(Renewing):
    def __next__(self):
        try:
            return next(self.source)
        except StopIteration:
            self.source = iter(self.rows)
            raise


class RenewingOneOfTwo(Renewing):
    def __init__(self, rows, others):
        super().__init__(rows)
        self.others = iter(others)

    def __next__(self):
        try:
            return next(self.source), next(self.others)
        except StopIteration:
            self.source = iter(self.rows)
            return next(self.source), next(self.others)


class RenewingIfAsked(Renewing):
    def __next__(self):
        try:
            return next(self.source)
        except StopIteration:
            self.source = iter(self.rows)
            if not self.rows:
                raise
            return next(self.source)


class RenewingBesideOthers(Renewing):
    def __init__(self, rows, others):
        super().__init__(rows)
        self.others = [iter(other) for other in others]

    def __next__(self):
        others = [next(other) for other in self.others]
        try:
            return next(self.source), others
        except StopIteration:
            self.source = iter(self.rows)
            return next(self.source), others




class InARow(Dataset):
    def __init__(self, rows, others):
        self.rows = iter(rows)
        self.others = iter(others)

    def __getitem__(self, index):
        row = next(self.rows)  # expect
        other = None
        if index % 2:
            other = next(self.others)  # expect
        last = next(self.others)  # expect


class InTwoBranches(Dataset):
    def __init__(self, rows):
        self.rows = iter(rows)

    def __getitem__(self, index):
        if index % 2:
            row = next(self.rows)  # expect
        else:
            row = -next(self.rows)  # expect
        return row


class FromTheStart(Dataset):
    """A file that is opened anew for each epoch has a line for each sample."""

    def __init__(self, path, size):
        self.path, self.size, self.seen = path, size, 0
        self.lines = open(path)

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        if self.seen % self.size == 0:
            self.lines.close()
            self.lines = open(self.path)
        self.seen += 1
        return next(self.lines)




class QueueThatOnlyLogs(Dataset):
    def __init__(self, rows):
        self.left = iter(rows)

    def __getitem__(self, index):
        try:
            return next(self.left)
        except StopIteration:
            return next(self.left)  # expect


class FromManySources(Dataset):
    """What a sampler that is handed over gives is not known: as a rule it never ends."""

    def __init__(self, sources):
        self.drawn = []
        for source in sources:
            self.drawn.append(source.sampler.sample(source.records))

    def __getitem__(self, index):
        return next(self.drawn[index % len(self.drawn)])


class Clips(Dataset):
    """What is caught far above the reader is caught."""

    def __init__(self, paths):
        self.frames = iter(paths)

    def __getitem__(self, index):
        for _ in range(10):
            try:
                return self.fetch(index)
            except Exception as error:
                print(error)
                index += 1
        raise RuntimeError("no clip can be read")

    def fetch(self, index):
        return self.read(index)

    def read(self, index):
        return self.decode(index)

    def decode(self, index):
        return self.pick(index)

    def pick(self, index):
        return self.again(index) if index % 2 else next(self.frames)

    def again(self, index):
        return self.pick(index - 1)


class ClipsOfTwo(Dataset):
    """One of the ways down has nothing around it."""

    def __init__(self, paths):
        self.frames = iter(paths)

    def __getitem__(self, index):
        try:
            return self.fetch(index)
        except Exception:
            return self.decode(index)

    def fetch(self, index):
        return self.read(index)

    def read(self, index):
        return self.decode(index)

    def decode(self, index):
        return self.pick(index)

    def pick(self, index):
        return next(self.frames)  # expect


class ClipsOfAnother(Dataset):
    """Another error is caught."""

    def __init__(self, paths):
        self.frames = iter(paths)

    def __getitem__(self, index):
        try:
            return self.fetch(index)
        except OSError:
            return None

    def fetch(self, index):
        return self.pick(index)

    def pick(self, index):
        return next(self.frames)  # expect


class ClipsCaughtInAHandler(Dataset):
    """The call stands in the handler, which catches nothing itself."""

    def __init__(self, paths):
        self.frames = iter(paths)

    def __getitem__(self, index):
        try:
            return index
        except Exception:
            return self.fetch(index)

    def fetch(self, index):
        return self.pick(index)

    def pick(self, index):
        return next(self.frames)  # expect


class ClipsInTheMiddle(Dataset):
    def __init__(self, paths):
        self.frames = iter(paths)

    def __getitem__(self, index):
        return self.fetch(index)

    def fetch(self, index):
        try:
            return self.read(index)
        except StopIteration:
            raise IndexError(index) from None

    def read(self, index):
        return self.decode(index)

    def decode(self, index):
        return self.pick(index)

    def pick(self, index):
        return self.last(index)

    def last(self, index):
        return next(self.frames)


class ClipsAgain(Dataset):
    """Calls itself, and is called by the loader."""

    def __init__(self, paths):
        self.frames = iter(paths)

    def __getitem__(self, index):
        return self[index - 1] if index % 2 else next(self.frames)  # expect


class ClipsAgainByName(Dataset):
    def __init__(self, paths):
        self.frames = iter(paths)

    def __getitem__(self, index):
        if index % 2:
            try:
                return self.__getitem__(index - 1)
            except Exception:
                return None
        return next(self.frames)  # expect
