"""Datasets that keep files open."""

import argparse
import gzip
import multiprocessing
import os
import sqlite3
import tarfile
import threading
import zipfile
from io import BytesIO

import h5py
import lmdb
import netCDF4
import numpy as np
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info


class Features(Dataset):
    def __init__(self, path, split):
        self.h = h5py.File(path + split + ".hdf5", "r")  # expect
        self.images = self.h["images"]
        self.per_image = self.h.attrs["captions_per_image"]

    def __getitem__(self, index):
        return self.images[index // self.per_image]


class Lines(Dataset):
    def __init__(self, path, in_memory=True):
        self.in_memory = in_memory
        with open(path) as stream:
            self.lines = [line for line in stream] if in_memory else None
        if not in_memory:
            self.path = path
            self.file = open(path)  # expect
            self.other = open(path)  # with it

    def __getitem__(self, index):
        return self.line(index), self.random_line()

    def line(self, index):
        if self.in_memory:
            return self.lines[index]
        line = self.file.__next__()
        if line is None:
            self.file.close()
            self.file = open(self.path)
            line = self.file.__next__()
        return line

    def random_line(self):
        return self.other.readline()


class Indexed(Dataset):
    def __init__(self, path):
        with open(path + ".idx", "rb") as stream:
            self.offsets = np.fromfile(stream, dtype=np.int64)
        self.read_data(path)

    def read_data(self, path):
        self.data_file = open(path + ".bin", "rb", buffering=0)  # expect

    def __del__(self):
        self.data_file.close()

    def __getitem__(self, index):
        self.data_file.seek(self.offsets[index])
        return np.frombuffer(self.data_file.read(16), dtype=np.int64)


class IndexedInMemory(Indexed):
    """Overrides the opening: reads everything and closes."""

    def read_data(self, path):
        self.data_file = open(path + ".bin", "rb")
        self.buffer = np.fromfile(self.data_file, dtype=np.int64)
        self.data_file.close()

    def __getitem__(self, index):
        return self.buffer[self.offsets[index]]


class Keyed(Dataset):
    def __init__(self, path):
        self.env = lmdb.open(path, readonly=True, lock=False)  # expect advice
        with self.env.begin(write=False) as txn:
            self.length = int(txn.get(b"length"))

    def __getitem__(self, index):
        with self.env.begin(write=False) as txn:
            return txn.get(str(index).encode())


class Rows(Dataset):
    def __init__(self, path):
        connection = sqlite3.connect(path)  # expect
        self.cursor = connection.cursor()

    def __getitem__(self, index):
        self.cursor.execute("SELECT x FROM rows WHERE id = ?", (index,))
        return self.cursor.fetchone()


class Zipped(Dataset):
    def __init__(self, path):
        self.archive = zipfile.ZipFile(path)  # expect
        self.names = self.archive.namelist()

    def __getitem__(self, index):
        with self.archive.open(self.names[index]) as stream:
            return np.load(BytesIO(stream.read()))


class ZippedByProbe(Dataset):
    """Opened on demand, but the constructor demands it first, in the main process."""

    def __init__(self, path):
        self.path = path
        self._archive = None
        self.shape = self._read(0).shape

    def _open(self):
        if self._archive is None:
            self._archive = zipfile.ZipFile(self.path)  # expect
        return self._archive

    def _read(self, index):
        with self._open().open(str(index)) as stream:
            return np.load(BytesIO(stream.read()))

    def __getitem__(self, index):
        return self._read(index)


class Shards(Dataset):
    def __init__(self, paths):
        self.shards = [tarfile.open(path) for path in paths]  # expect
        self.grids = {path: netCDF4.Dataset(path) for path in paths}  # expect

    def __getitem__(self, index):
        return self.shards[index].next(), self.grids[str(index)]


class Reader:
    def __init__(self, path):
        self.stream = gzip.open(path)  # expect

    def read(self, index):
        self.stream.seek(index)
        return self.stream.read(8)


class ThroughReader(Dataset):
    def __init__(self, path):
        self.reader = Reader(path)

    def __getitem__(self, index):
        return self.reader.read(index)


class OpenedToMeasure(Dataset):
    """Samplers ask for the length in the main process."""

    def __init__(self, path):
        self.path = path
        self._file = None

    @property
    def file(self):
        if self._file is None:
            self._file = h5py.File(self.path, "r")  # expect
        return self._file

    def __len__(self):
        return len(self.file["x"])

    def __getitem__(self, index):
        return self.file["x"][index]


class OpenedInWorker(Dataset):
    def __init__(self, path):
        self.path = path
        self.h5 = None
        with h5py.File(path, "r") as f:
            self.length = len(f["x"])

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        if self.h5 is None:
            self.h5 = h5py.File(self.path, "r")
        return self.h5["x"][index]


class OpenedEachTime(Dataset):
    def __init__(self, path):
        self.path = path

    def __len__(self):
        with h5py.File(self.path, "r") as f:
            return len(f["lr"])

    def __getitem__(self, index):
        with h5py.File(self.path, "r") as f:
            return f["lr"][index]


class ClosedAgain(Dataset):
    def __init__(self, path):
        self.path = path
        self.env = lmdb.open(path)
        self.length = self.env.stat()["entries"]
        self.env.close()
        self.archive = zipfile.ZipFile(path + ".zip")
        self.names = self.archive.namelist()
        self.archive = None

    def __getitem__(self, index):
        if self.archive is None:
            self.archive = zipfile.ZipFile(self.path + ".zip")
        return self.archive.read(self.names[index])


class ReadWhole(Dataset):
    def __init__(self, path):
        f = h5py.File(path, "r")
        self.inputs = [np.asarray(f[key][:]) for key in ("ids", "mask")]
        self.labels = f["labels"][:]
        self.ids = f["ids"][()]
        f.close()
        self.words = open(path + ".txt").read().splitlines()
        self.lines = [line.strip() for line in open(path + ".lines")]

    def __getitem__(self, index):
        return self.inputs[0][index], self.labels[index], self.words[index], self.lines[index], self.ids[index]


class PositionedReads(Dataset):
    """pread has its own offset; a map of the file has none."""

    def __init__(self, path):
        self.file = open(path, "rb")
        self.table = np.load(path + ".npy", mmap_mode="r")

    def __getitem__(self, index):
        return os.pread(self.file.fileno(), 8, index * 8), self.table[index]


class ThreadLocal(Dataset):
    def __init__(self, path):
        self.path = path
        self.local = threading.local()

    def _file(self):
        if not hasattr(self.local, "f"):
            self.local.f = open(self.path)
        return self.local.f

    def __getitem__(self, index):
        f = self._file()
        f.seek(index)
        return f.readline()




class ReopenedByInit(Dataset):
    """worker_init_fn gives each worker its own."""

    def __init__(self, path):
        self.path = path
        self.env = lmdb.open(path)

    def __getitem__(self, index):
        return self.env.begin().get(str(index).encode())


def reopen(worker_id):
    dataset = get_worker_info().dataset
    dataset.env = lmdb.open(dataset.path)


def keyed_loader(path):
    return DataLoader(ReopenedByInit(path), num_workers=4, worker_init_fn=reopen)


class NotRead(Dataset):
    """A log that items never touch."""

    def __init__(self, path):
        self.log = open(path, "a")
        self.rows = list(range(10))

    def __getitem__(self, index):
        return self.rows[index]

    def report(self):
        self.log.write("done\n")


class MainOnly(Dataset):
    def __init__(self, path):
        self.stream = open(path)

    def __getitem__(self, index):
        self.stream.seek(index)
        return self.stream.readline()


def main_only(path):
    return DataLoader(MainOnly(path), batch_size=2), DataLoader(MainOnly(path), num_workers=0)


class Downloader:
    """Keeps a file, but is no dataset."""

    def __init__(self, path):
        self.stream = open(path, "wb")

    def __getitem__(self, index):
        return self.stream.tell() + index


class PerWorkerStream(IterableDataset):
    def __init__(self, path):
        self.path = path

    def __iter__(self):
        self.stream = open(self.path)
        yield from self.stream


class LeftBehind(Dataset):
    """What is pickled for a spawned worker has no handle; the worker opens its own."""

    def __init__(self, path):
        self.path = path
        self.file = h5py.File(path)

    def __getstate__(self):
        return {**self.__dict__, "file": None}

    def __getitem__(self, index):
        if self.file is None:
            self.file = h5py.File(self.path)
        return self.file["images"][index]


def spawned(path):
    return (
        DataLoader(LeftBehind(path), num_workers=4, multiprocessing_context="spawn"),
        DataLoader(LeftBehind(path), num_workers=4, multiprocessing_context=multiprocessing.get_context("forkserver")),
    )


class LeftBehindByReader(Dataset):
    def __init__(self, path):
        self.reader = PickledReader(path)

    def __getitem__(self, index):
        return self.reader.read(index)


class PickledReader:
    def __init__(self, path):
        self.path = path
        self.stream = open(path, "rb")

    def __reduce__(self):
        return PickledReader, (self.path,)

    def read(self, index):
        self.stream.seek(index)
        return self.stream.read(8)


def spawned_with_reader(path):
    return DataLoader(LeftBehindByReader(path), num_workers=4, multiprocessing_context="spawn")


class ForkedAllTheSame(Dataset):
    """Fork pickles nothing, so ``__getstate__`` is never asked."""

    def __init__(self, path):
        self.path = path
        self.file = h5py.File(path)  # expect

    def __getstate__(self):
        return {**self.__dict__, "file": None}

    def __getitem__(self, index):
        return self.file["images"][index]


def forked(path, context):
    return (
        DataLoader(ForkedAllTheSame(path), num_workers=4, multiprocessing_context="spawn"),
        DataLoader(ForkedAllTheSame(path), num_workers=4, multiprocessing_context="fork"),
    )


class NotPickled(Dataset):
    def __init__(self, path):
        self.file = h5py.File(path)  # expect

    def __getitem__(self, index):
        return self.file["images"][index]


def spawned_in_vain(path):
    return DataLoader(NotPickled(path), num_workers=4, multiprocessing_context="spawn")


class OpenedEarlyKeptLate(Dataset):
    def __init__(self, root):
        self.root = root
        self._environment = None
        with self.open() as environment:
            self.length = environment.stat()["entries"]

    def open(self):
        return lmdb.open(self.root, readonly=True, lock=False)

    @property
    def environment(self):
        if self._environment is None:
            self._environment = self.open()
        return self._environment

    def __getitem__(self, index):
        with self.environment.begin() as transaction:
            return transaction.get(b"%d" % index)


class OpenedAndKeptEarly(Dataset):
    def __init__(self, path):
        self.path, self._archive = path, None
        self.names = self.archive.namelist()

    def unpack(self):
        return zipfile.ZipFile(self.path)  # expect

    @property
    def archive(self):
        if self._archive is None:
            self._archive = self.unpack()
        return self._archive

    def __getitem__(self, index):
        return self.archive.read(self.names[index])


class GotByName(Dataset):
    def __init__(self, path):
        hf = h5py.File(path, "r")  # expect
        self.input = hf.get("input")

    def __getitem__(self, index):
        return self.input[index]


class GotFromGroup(Dataset):
    def __init__(self, path):
        self.file = h5py.File(path, "r")  # expect
        self.input = self.file["train"].get("input")

    def __getitem__(self, index):
        return self.input[index]


class GotAndRead(Dataset):
    def __init__(self, path):
        hf = h5py.File(path, "r")
        self.input = hf.get("input")[:]
        self.target = np.array(hf.get("target"))

    def __getitem__(self, index):
        return self.input[index], self.target[index]


class GotFromClosed(Dataset):
    """What is wrong here is that the file is closed, which the first sample says."""

    def __init__(self, path):
        with h5py.File(path, "r") as hf:
            self.input = hf.get("input")
            self.length = len(self.input)

    def __getitem__(self, index):
        return self.input[index]


class RowsInMemory(Dataset):
    def __init__(self, path):
        self.rows = sqlite3.connect(path).get("rows")

    def __getitem__(self, index):
        return self.rows[index]


class HeldByItsDriver(Dataset):
    """A file that its driver holds in memory is copied on write like the rest of it."""

    def __init__(self, path, driver, content):
        self.plain = h5py.File(path, "r", driver="sec2")  # expect
        self.usual = h5py.File(path, "r", driver=None)  # with it

    def __getitem__(self, index):
        rows = self.whole["a"][index], self.chosen["a"][index], self.plain["a"][index], self.usual["a"][index]
        return rows, self.archive.read(str(index))


class Environment:
    def __init__(self, path, readonly=True):
        if readonly:
            self.env = lmdb.open(path, readonly=True, create=False)  # expect
        else:
            self.env = lmdb.open(path, readonly=False, create=True, map_size=2**40)

    def get(self, key):
        return self.env.begin().get(key)


class ReadFromAnEnvironment(Dataset):
    def __init__(self, path):
        self.db = Environment(path)

    def __getitem__(self, index):
        return self.db.get(str(index).encode())


class ByRequest(Dataset):
    def __init__(self, path):
        self.file = h5py.File(path, "r")  # expect

    def __getitem__(self, index):
        return self.file["images"][index]


def by_request(path):
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=0)
    return DataLoader(ByRequest(path), num_workers=parser.parse_args().workers)


class ByShard(Dataset):
    def __init__(self, paths, rows):
        self.rows = rows
        self.files = {}
        for path in paths:
            self.files[path] = h5py.File(path, "r")  # expect

    def __getitem__(self, index):
        path, at = self.rows[index]
        return self.files[path]["images"][at]


class ByKind(Dataset):
    def __init__(self, images, labels):
        self.files = {"images": h5py.File(images), "labels": h5py.File(labels)}  # expect

    def __getitem__(self, index):
        return self.files["images"]["rows"][index], self.files["labels"]["rows"][index]


class ByShardWhereItIsRead(Dataset):
    def __init__(self, rows):
        self.rows = rows
        self.files = {}

    def __getitem__(self, index):
        path, at = self.rows[index]
        if path not in self.files:
            self.files[path] = h5py.File(path, "r")
        return self.files[path]["images"][at]


def in_dicts(paths, rows):
    yield DataLoader(ByShard(paths, rows), num_workers=2)
    yield DataLoader(ByKind(*paths), num_workers=2)
    yield DataLoader(ByShardWhereItIsRead(rows), num_workers=2)


# --- a dataset whose class a table holds ------------------------------------------------------------


class FeatureReader:
    def __init__(self, path):
        self.file = h5py.File(path, "r")  # expect

    def __getitem__(self, key):
        return self.file[key][:]


class Answers(Dataset):
    def __init__(self, reader):
        self._reader = reader

    def __getitem__(self, index):
        return self._reader[str(index)]

    def __len__(self):
        return 8


class Questions(Answers):
    pass


KINDS = {"answers": Answers, "questions": Questions}


def of_each_kind(tasks, paths):
    readers = {path: None for path in paths}
    for path in readers:
        readers[path] = FeatureReader(path)
    loaders = {}
    for task in tasks:
        dataset = KINDS[task["kind"]](reader=readers[task["path"]])
        loaders[task["name"]] = DataLoader(dataset, num_workers=4)
    return loaders
