import functools
import os
import sqlite3
import tarfile
import zipfile
from pathlib import Path

import h5py
import lmdb
import numpy as np
import pandas as pd
from torch.utils.data import Dataset, IterableDataset, get_worker_info

ROOT = "/data"


class Volumes(Dataset):
    def __getitem__(self, index):
        with h5py.File(self.path, "r") as file:  # expect
            return file["images"][index]


class Joined(Dataset):
    def __init__(self, root, split):
        self.root = Path(root)
        self.split = split

    def __getitem__(self, index):
        path = os.path.join(self.root, f"{self.split}.h5")
        file = h5py.File(path)  # expect
        return file["images"][index]


class Archive(Dataset):
    def __getitem__(self, index):
        return self.read(self.names[index])

    def read(self, name):
        archive = zipfile.ZipFile(self.archive)  # expect
        return archive.read(name)


class Passed(Dataset):
    def __getitem__(self, index):
        return read_row(self.database, index)


def read_row(database, index):
    connection = sqlite3.connect(database)  # expect
    return connection.execute("select * from rows where id = ?", (index,)).fetchone()


class Environment(Dataset):
    def __getitem__(self, index):
        env = lmdb.open(self.root, readonly=True, lock=False)  # expect
        with env.begin() as transaction:
            return transaction.get(str(index).encode())


class Table(Dataset):
    def __getitem__(self, index):
        labels = pd.read_csv(os.path.join(ROOT, "labels.csv"))  # expect
        return np.load(self.paths[index]), labels.iloc[index]["label"]


class Tar(Dataset):
    def __getitem__(self, index):
        with tarfile.open(self.path) as tar:  # expect
            return tar.extractfile(self.members[index]).read()


class InMemoryOrNot(Dataset):
    def __init__(self, path, in_memory=False):
        self.path = path
        self.in_memory = in_memory

    def __getitem__(self, index):
        if self.in_memory:
            return self.images[index]
        with h5py.File(self.path, "r") as file:  # expect
            return file["images"][index]


class ByPhase(Dataset):
    def __init__(self, path, phase, options):
        self.path = path
        self.phase = phase
        self.options = options

    def __getitem__(self, index):
        if self.phase in ("val", "test") and not self.options.augmented:
            return None
        else:
            return self.raw(index)

    def raw(self, index):
        with h5py.File(self.path, "r") as file:  # expect
            return file["images"][index]


# --- traps ---------------------------------------------------------------------------------


class ByStaticMethod(Dataset):
    """A static method has no receiver: its first parameter is what it is passed."""

    @staticmethod
    def read(path):
        with h5py.File(path) as file:
            return file["image"][:]

    def __getitem__(self, index):
        return self.__class__.read(self.paths[index])


class OneFileASample(Dataset):
    def __getitem__(self, index):
        with h5py.File(self.paths[index], "r") as file:
            return file["image"][:]


class OneFileAVideo(Dataset):
    def __getitem__(self, index):
        video, frame = self.index[index]
        path = os.path.join(self.root, f"{video}.h5")
        with h5py.File(path, "r") as file:
            return file["frames"][frame]


class OncePerWorker(Dataset):
    def __getitem__(self, index):
        if self.file is None:
            self.file = h5py.File(self.path, "r")
        return self.file["images"][index]


class OncePerWorkerInMethod(Dataset):
    def open(self):
        self.file = h5py.File(self.path, "r")

    def __getitem__(self, index):
        if not hasattr(self, "file"):
            self.open()
        return self.file["images"][index]


class OncePerWorkerAfterReturn(Dataset):
    def opened(self):
        if self.file is not None:
            return self.file
        self.file = h5py.File(self.path, "r")
        return self.file

    def __getitem__(self, index):
        return self.opened()["images"][index]


class OncePerWorkerInHandler(Dataset):
    def __getitem__(self, index):
        try:
            file = self.file
        except AttributeError:
            file = self.file = h5py.File(self.path, "r")
        return file["images"][index]


class OncePerWorkerInProperty(Dataset):
    @functools.cached_property
    def file(self):
        return h5py.File(self.path, "r")

    def __getitem__(self, index):
        return self.file["images"][index]


class Remembered(Dataset):
    def __getitem__(self, index):
        return opened(self.path)["images"][index]


@functools.lru_cache
def opened(path):
    return h5py.File(path, "r")


class Opened(Dataset):
    def __init__(self, path):
        with h5py.File(path, "r") as file:
            self.images = file["images"][:]

    def __getitem__(self, index):
        return self.images[index]


class Shard(Dataset):
    def __getitem__(self, index):
        self.current = self.shards[index // 1000]
        with h5py.File(self.current, "r") as file:
            return file["images"][index % 1000]


class Chosen(Dataset):
    def __getitem__(self, index):
        with h5py.File(self.choose(), "r") as file:
            return file["images"][index]

    def choose(self):
        return self.paths[np.random.randint(len(self.paths))]


class Reader:
    def __init__(self, path):
        self.path = path

    def read(self):
        with h5py.File(self.path, "r") as file:
            return file["image"][:]


class MadeForTheSample(Dataset):
    def __getitem__(self, index):
        return Reader(self.paths[index]).read()


class Written(Dataset):
    def __getitem__(self, index):
        with h5py.File(self.cache, "a") as file:
            file[str(index)] = self.samples[index]
        return self.samples[index]


class Streamed(IterableDataset):
    def __iter__(self):
        with h5py.File(self.path, "r") as file:
            yield from file["images"]


class Text(Dataset):
    def __getitem__(self, index):
        with open(self.path) as file:
            file.seek(self.offsets[index])
            return file.readline()


class InMemory(Dataset):
    def __init__(self, path, in_memory=True):
        self.path = path
        self.in_memory = in_memory

    def __getitem__(self, index):
        if self.in_memory:
            return self.images[index]
        with h5py.File(self.path, "r") as file:
            return file["images"][index]


class LoadedWhenAskedTo(Dataset):
    def __init__(self, path):
        self.path = path
        self.images = None

    def preload(self):
        with h5py.File(self.path, "r") as file:
            self.images = file["images"][:]

    def __getitem__(self, index):
        if self.images is not None:
            return self.images[index]
        with h5py.File(self.path, "r") as file:
            return file["images"][index]


class OpenedByWorkerInit(Dataset):
    def __init__(self, path):
        self.path = path
        self.handle = None

    def __getitem__(self, index):
        if self.handle is None:
            with h5py.File(self.path, "r") as file:
                return file["images"][index]
        return self.handle["images"][index]


def open_in_worker(_):
    dataset = get_worker_info().dataset
    dataset.handle = h5py.File(dataset.path, "r")


class CachedWhereAllowed(Dataset):
    def __init__(self, path, caching):
        self.path = path
        self.caching = caching
        self.cache = {}

    def __getitem__(self, index):
        if self.caching and index in self.cache:
            return self.cache[index]
        with h5py.File(self.path, "r") as file:
            self.cache[index] = file["images"][index]
        return self.cache[index]


class OncePerWorkerWhereAllowed(Dataset):
    def __init__(self, path, lazy):
        self.path = path
        self.lazy = lazy
        self.file = None

    def __getitem__(self, index):
        if self.lazy:
            if self.file is None:
                self.file = h5py.File(self.path, "r")
            return self.file["images"][index]
        return self.images[index]


class ForSomeSamples(Dataset):
    def __init__(self, path, extra):
        self.path = path
        self.extra = extra

    def __getitem__(self, index):
        if index < self.extra:
            with h5py.File(self.path, "r") as file:
                return file["images"][index]
        return self.images[index]
