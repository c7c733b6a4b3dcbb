"""Datasets that remember what they read."""

import argparse
import collections
import functools
import json
import multiprocessing
import os
from functools import cache, lru_cache

import h5py
import numpy as np
import torch
import torchaudio
from PIL import Image
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info
from torchvision import transforms


class DictCache(Dataset):
    def __init__(self, paths):
        self.paths = paths
        self.cache = {}
        self.hits = collections.Counter()
        self.last = None

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        self.hits["reads"] += 1
        if index in self.cache:
            return self.cache[index]
        image = np.asarray(Image.open(self.paths[index]))
        self.cache[index] = image  # expect
        self.last = index
        return image


class PreallocatedCache(Dataset):
    def __init__(self, paths):
        self.paths = paths
        self.images = [None] * len(paths)

    def __getitem__(self, index):
        if self.images[index] is None:
            self.images[index] = Image.open(self.paths[index]).convert("RGB")  # expect
        return self.images[index]


class CacheInHelper(Dataset):
    def __init__(self, paths):
        self.paths = paths
        self.meta = collections.defaultdict(dict)

    def __getitem__(self, index):
        return self.load(index)

    def load(self, index):
        path = self.paths[index]
        if path not in self.meta:
            self.meta[path] = {"size": os.path.getsize(path)}  # expect
        return self.meta[path]

    def drop(self, path):
        print("not read any more:", path)


class CappedCache(Dataset):
    """A cap of 20,000 samples is no cap for a worker's memory."""

    def __init__(self, paths, cache_size=20000):
        self.paths = paths
        self.cache_size = cache_size
        self.cache = {}

    def __getitem__(self, index):
        if index in self.cache:
            points, label = self.cache[index]
        else:
            points, label = np.loadtxt(self.paths[index]), index % 40
            if len(self.cache) < self.cache_size:
                self.cache[index] = (points, label)  # expect
        return points, label


class Appended(Dataset):
    def __init__(self, rows):
        self.rows = rows
        self.seen = []
        self.names: set[str] = set()

    def __getitem__(self, index):
        row = self.rows[index]
        self.seen.append(row)  # expect
        self.names.add(row["name"])  # with it
        return row


class InRecords(Dataset):
    """The records stay, and with them what is stored in them."""

    def __init__(self, path):
        with open(path) as stream:
            self.records = json.load(stream)
        self.groups = {name: [] for name in "abc"}
        self.rows = [{"path": record["path"]} for record in self.records]

    def __getitem__(self, index):
        record = self.records[index]
        if "image" not in record:
            record["image"] = np.load(record["path"])  # expect
        record["index"] = index
        record["seen"] = True
        self.rows[index]["size"] = os.path.getsize(record["path"])  # with it
        self.groups[record["group"]].append(record["image"].mean())  # with it
        return record


class CopiedRecords(Dataset):
    """What is stored in a copy, or in what another dataset returns, goes with it."""

    def __init__(self, path, inner):
        with open(path) as stream:
            self.records = json.load(stream)
        self.inner = inner
        self.table = np.zeros((8, 8))

    def __getitem__(self, index):
        record = self.records[index].copy()
        record["image"] = np.load(record["path"])
        other = dict(self.records[index])
        other["image"] = record["image"]
        sample = self.inner[index]
        sample["image"] = other["image"]
        row = self.table[index]
        row[0] = index
        return record, sample, row


class Setdefault(Dataset):
    def __init__(self, rows):
        self.rows = rows
        self.parsed = dict()

    def __getitem__(self, index):
        return self.parsed.setdefault(index, self.rows[index].split())  # expect


class InheritedCache(DictCache):
    def __getitem__(self, index):
        return torch.from_numpy(super().__getitem__(index))


class Memoised(Dataset):
    def __init__(self, paths):
        self.paths = paths

    @lru_cache(maxsize=None)  # expect
    def __getitem__(self, index):
        return Image.open(self.paths[index])


class MemoisedHelper(Dataset):
    def __init__(self, paths):
        self.paths = paths

    @functools.cache  # expect
    def read(self, index):
        return Image.open(self.paths[index])

    def __getitem__(self, index):
        return self.read(index)


class MemoisedInInit(Dataset):
    def __init__(self, paths):
        self.paths = paths
        self.read = lru_cache(None)(self._read)  # expect

    def _read(self, index):
        return Image.open(self.paths[index])

    def __getitem__(self, index):
        return self.read(index)


class Bounded(Dataset):
    """A few entries, for samples that are asked for twice in a row."""

    def __init__(self, paths):
        self.paths = paths
        self.prior = lru_cache(maxsize=64)(os.path.getsize)

    @lru_cache(maxsize=8)
    def __getitem__(self, index):
        return Image.open(self.paths[index]), self.prior(self.paths[index])

    @cache
    def classes(self):
        return sorted(set(self.paths))


class Evicting(Dataset):
    def __init__(self, paths):
        self.paths = paths
        self.cache = collections.OrderedDict()
        self.recent = collections.deque(maxlen=16)

    def __getitem__(self, index):
        self.recent.append(index)
        if index not in self.cache:
            self.cache[index] = Image.open(self.paths[index])
            if len(self.cache) > 4:
                self.cache.popitem(last=False)
        return self.cache[index]


class Shared(Dataset):
    """A manager's dict is one for all processes; so is a shared tensor."""

    def __init__(self, paths):
        self.paths = paths
        self.cache = multiprocessing.Manager().dict()
        self.images = torch.zeros(len(paths), 3, 64, 64).share_memory_()

    def __getitem__(self, index):
        if index not in self.cache:
            self.cache[index] = self.paths[index]
            self.images[index] = torch.from_numpy(np.load(self.paths[index]))
        return self.images[index]


class HandlePerWorker(Dataset):
    """One open file for each shard, opened where it is read."""

    def __init__(self, shards):
        self.shards = shards
        self.handles = {}
        self.rngs = {}

    def __getitem__(self, index):
        path, row = self.shards[index]
        if path not in self.handles:
            self.handles[path] = h5py.File(path, "r")
        info = get_worker_info()
        if info is not None and info.id not in self.rngs:
            self.rngs[info.id] = np.random.default_rng(info.seed)
        return self.handles[path]["x"][row]


class Scratch(Dataset):
    """Buffers that are emptied for each sample, and counters, do not grow."""

    def __init__(self, rows):
        self.rows = rows
        self.parts = []
        self.counts = {}
        self.order = list(range(len(rows)))
        self.buffer = np.zeros((4, 64))
        self.state = {"epoch": 0}

    def __getitem__(self, index):
        self.parts = []
        for part in self.rows[index]:
            self.parts.append(part)
        self.counts["reads"] = self.counts.get("reads", 0) + 1
        self.state["last"] = index
        self.buffer[0] = index
        other = self.order[-1]
        self.order[index], self.order[-1] = other, self.order[index]
        local = {}
        local[index] = self.parts
        return local

    def preload(self):
        for index in range(len(self.rows)):
            self.counts[index] = len(self.rows[index])


class Filled(Dataset):
    """Filled once, before there are workers."""

    def __init__(self, paths):
        self.images = {}
        self.broken = {}
        for index, path in enumerate(paths):
            self.remember(index, path)

    def remember(self, index, path):
        self.images[index] = Image.open(path)

    def __getitem__(self, index):
        try:
            return self.images[index]
        except OSError:
            self.broken[index] = True
            return self.images[0]


class Rebound(Dataset):
    def __init__(self, paths):
        self.paths = paths
        self.dummy = None

    def __getitem__(self, index):
        self.crop = (index % 7, index % 11)
        if self.dummy is None:
            self.dummy = (np.load(self.paths[index]), {})
        return self.dummy


class Stream(IterableDataset):
    def __init__(self, source):
        self.source = source
        self.buffer = []

    def __iter__(self):
        for row in self.source:
            self.buffer.append(row)
            if len(self.buffer) > 100:
                yield self.buffer.pop()


class Vocabulary:
    """No dataset: an index that callers fill."""

    def __init__(self):
        self.ids = {}

    def __getitem__(self, word):
        if word not in self.ids:
            self.ids[word] = len(self.ids)
        return self.ids[word]


class InMemory(Dataset):
    """Read by the main process alone, where a cache works."""

    def __init__(self, paths):
        self.paths = paths
        self.cache = {}

    def __getitem__(self, index):
        if index not in self.cache:
            self.cache[index] = np.load(self.paths[index])
        return self.cache[index]


def small_loader(paths):
    return DataLoader(InMemory(paths), batch_size=4, num_workers=0)


class ByShape(Dataset):
    """Samples have a few sizes: what is kept for each is soon there, and is hit."""

    def __init__(self, paths):
        self.paths = paths
        self.grids = {}
        self.windows = {}
        self.zeros = {}
        self.sizes = {}

    def __getitem__(self, index):
        image = np.load(self.paths[index])
        height, width = image.shape[:2]
        key = (image.shape[0], image.shape[1])
        if key not in self.grids:
            self.grids[key] = np.mgrid[:height, :width]
        if len(image) not in self.windows:
            self.windows[len(image)] = np.hanning(len(image))
        self.zeros[image.dtype] = np.zeros(3, image.dtype)
        self.sizes[index] = image.size  # expect
        return image + self.grids[key].sum()


class Grid:
    def __init__(self):
        self.known = {}

    def __call__(self, image):
        self.known[image.size] = np.zeros(image.size)
        return image + self.known[image.size]


class Remembering:
    def __init__(self):
        self.known = {}

    def __call__(self, sample):
        path = sample["path"]
        if path not in self.known:
            self.known[path] = np.load(path)  # expect
        return self.known[path]


class WithComposed(Dataset):
    def __init__(self, paths):
        self.paths = paths
        self.transform = transforms.Compose([Grid(), Remembering()])

    def __getitem__(self, index):
        return self.transform({"path": self.paths[index]})


class Registers(Dataset):
    """Lists of kinds, which are few."""

    def __init__(self, paths, operations):
        self.paths = paths
        self.operations = operations
        self.kinds = []
        self.names = set()

    def __getitem__(self, index):
        sample = np.load(self.paths[index])
        for operation in self.operations:
            sample, kind = operation(sample)
            if kind not in self.kinds:
                self.kinds.append(kind)
            if kind.name not in self.names:
                self.names.add(kind.name)
        return sample


class Failures(Dataset):
    """The few samples that cannot be used, for which another is read."""

    def __init__(self, paths):
        self.paths = paths
        self.broken = set()
        self.short = []
        self.lengths = {}

    def __getitem__(self, index):
        sample = np.load(self.paths[index])
        if sample is None:
            return self[1]
        if len(sample) < 100:
            return self.__getitem__(index + 1)
        if sample.ndim == 2:
            self.lengths[index] = sample.mean()  # expect
            return sample[0]
        return sample


class SeenBefore(Dataset):
    def __init__(self, paths):
        self.paths = paths
        self.seen = set()

    def __getitem__(self, index):
        if index not in self.seen:
            self.seen.add(index)  # expect
        return np.load(self.paths[index])


class KeptByOption(Dataset):
    def __init__(self, paths, keep=False, store="disk"):
        self.paths = paths
        self.keep = keep
        self.store = store
        self.images = {}
        self.sounds = {}
        self.masks = {}

    def __getitem__(self, index):
        image = np.load(self.paths[index])
        if self.keep:
            self.images[index] = image  # expect
        if self.store == "memory":
            self.sounds[index] = image.mean()  # with it
        if self.store == "disk":
            self.masks[index] = image > 0  # with it
        return image


class KeptInMemory(Dataset):
    """Of which nobody knows whether it does: the one who makes it says so."""

    def __init__(self, paths, options):
        self.paths = paths
        self.in_memory = options.in_memory
        self.images = {}
        self.sounds = {}

    def __getitem__(self, index):
        image = np.load(self.paths[index])
        if self.in_memory and index not in self.images:
            self.images[index] = image  # expect
        if index not in self.sounds:
            self.sounds[index] = image  # with it
        return image


class KeptUnlessTold(Dataset):
    def __init__(self, paths, keep=True):
        self.paths = paths
        self.keep = keep
        self.images = {}

    def __getitem__(self, index):
        image = np.load(self.paths[index])
        if self.keep and index not in self.images:
            self.images[index] = image  # expect
        return image


class RoundAgain(Dataset):
    """An epoch goes over the files several times."""

    def __init__(self, paths, times):
        self.paths = paths
        self.times = times
        self.cache = {}
        self.by_length = {}

    def __len__(self):
        return len(self.paths) * self.times

    def __getitem__(self, index):
        return self.read(index)

    def read(self, index):
        number = index % len(self.paths)
        if number not in self.cache:
            self.cache[number] = np.load(self.paths[number])  # expect
        points = self.cache[number]
        if len(points) not in self.by_length:
            self.by_length[len(points)] = np.arange(len(points))
        return points, self.by_length[len(points)]


class FilledBeforehand(Dataset):
    """The constructor reads every walk once, so the workers find the cache full."""

    def __init__(self, folder, names):
        self.folder = folder
        self.maps = {}
        self.index = [(name, 0) for name in names]
        self.map(names[0])

    def map(self, name):
        if name not in self.maps:
            self.maps[name] = np.load(self.folder + name + ".map")  # expect
        return self.maps[name]

    def __getitem__(self, index):
        name, step = self.index[index]
        return step, self.map(name)


class Resampled(Dataset):
    """One tool for each rate that comes, which holds no sound."""

    def __init__(self, paths):
        self.paths = paths
        self.tools = {}
        self.sounds = {}

    def __getitem__(self, index):
        sound, rate = torchaudio.load(self.paths[index])
        if rate not in self.tools:
            self.tools[rate] = torchaudio.transforms.Resample(rate, 16_000)
        self.sounds[index] = self.tools[rate](sound)  # expect
        return self.sounds[index]


class FilledInPart(Dataset):
    """The first few only, or with an option only."""

    def __init__(self, names, warm=False):
        self.names = names
        self.tracks = {}
        for name in names[:8]:
            self.track(name)
        if warm:
            for name in names:
                self.track(name)

    def track(self, name):
        if name not in self.tracks:
            self.tracks[name] = np.load(name)  # expect
        return self.tracks[name]

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        return self.track(self.names[index])


class Renaming(Dataset):
    """What an entry holds already is no more under another name, nor is a path to where it lies."""

    def __init__(self, path, root):
        self.root = root
        with open(path) as file:
            self.rows = json.load(file)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        row = self.rows[index]
        row["label"] = row["answer"]
        path = row["path"]
        if not path.startswith("/"):
            path = os.path.join(self.root, path)
        row["path"] = path
        pixels = row["mask"]
        if isinstance(pixels, str):
            pixels = np.load(pixels)
        row["mask"] = pixels  # expect
        row["image"] = np.load(row["path"])  # with it
        return row


def load_renaming(path, root):
    return DataLoader(Renaming(path, root), num_workers=4)


class OnRequest(Dataset):
    """Where workers come by an option alone, a cache serves whoever does without."""

    def __init__(self, paths):
        self.paths = paths
        self.cache = {}

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        if index not in self.cache:
            self.cache[index] = np.load(self.paths[index])  # expect advice
        return self.cache[index]


def load_on_request(paths):
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=0)
    return DataLoader(OnRequest(paths), num_workers=parser.parse_args().workers)


class YearsOfFiles(Dataset):
    """What is read through one open file for each year, opened where it is read."""

    def __init__(self, paths):
        self.paths = paths
        self.years = [None for _ in paths]

    def __getitem__(self, index):
        year = index // 365
        if self.years[year] is None:
            self.years[year] = h5py.File(self.paths[year], "r")["fields"]
        return self.years[year][index % 365]


class ScaledCopies(Dataset):
    """A function that writes into a copy of what it is handed."""

    def __init__(self, rows):
        self.rows = [row for row in rows]
        self.scale = 2

    def __getitem__(self, index):
        return self.scaled(self.rows[index]), self.doubled(self.rows[index])

    def scaled(self, row):
        row = row.clone()
        row[..., 0] = self.scale
        return row

    def doubled(self, row):
        row[..., :2, :] *= self.scale
        return row


class CutEntries(Dataset):
    """Of each entry, no more than so many things are kept."""

    def __init__(self, path, most):
        self.rows = json.load(open(path))
        self.most = most

    def __getitem__(self, index):
        row = self.rows[index]
        row["boxes"] = row["boxes"][: self.most]
        return row["boxes"]


class Numbered(Dataset):
    """Gives each name that comes along a number."""

    def __init__(self, rows):
        self.rows = [row for row in rows]
        self.numbers = {}

    def __getitem__(self, index):
        name = self.rows[index].name
        if name not in self.numbers:
            self.numbers[name] = len(self.numbers) + 1  # expect
        return self.numbers[name]


class OfScenes(Dataset):
    """What is kept of a scene serves all its frames."""

    def __init__(self, rows):
        self.rows = [row for row in rows]
        self.scenes, self.poses, self.frames = {}, {}, {}

    def __getitem__(self, index):
        scene_id, frame = self.rows[index]
        if scene_id not in self.scenes:
            self.scenes[scene_id] = np.load(f"{scene_id}.npy")  # expect
        if index not in self.frames:
            self.frames[index] = np.load(frame)  # with it
        return self.scenes[scene_id], self.frames[index], self.pose(scene_id, frame)

    @functools.lru_cache(maxsize=None)  # expect
    def pose(self, scene_id, frame):
        return np.load(f"{scene_id}/{frame}.npy")




class Reliable(Dataset):
    """What could be read stands in for what could not."""

    def __init__(self, paths):
        self.paths = paths
        self.few, self.many, self.all, self.images = [], [], [], []

    def __getitem__(self, index):
        image = np.load(self.paths[index])
        if len(self.few) < 1000:
            self.few.append(image)
        if len(self.many) < 1_000_000:
            self.many.append(image)  # expect
        self.all.append(index)  # with it
        self.images.append(image)  # with it
        return image + self.few[-1] + self.many[-1] + self.images[0], self.all


class Vocabulary:
    def __init__(self):
        self.numbers, self.words = {}, []

    def add_word(self, word):
        if word not in self.numbers:
            self.numbers[word] = len(self.words)  # expect
        return self.numbers[word]


class Texts(Dataset):
    """What is new is added to the vocabulary, of which there is only so much."""

    def __init__(self, texts):
        self.texts, self.vocabulary = texts, Vocabulary()

    def __getitem__(self, index):
        return [self.vocabulary.add_word(word) for word in self.texts[index].split()]


class Prompts(Dataset):
    """A text that is put together anew for each sample, and stays in the record by the way."""

    def __init__(self, path, template, names):
        with open(path) as file:
            self.rows = json.load(file)
        self.template = template
        self.names = names

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        row = self.rows[index]
        text = self.template
        for name in self.names:
            text = text.replace(name, row[name])
        row["text"] = text  # expect
        row["prompt"] = f"{text}:"
        row["pixels"] = load_pixels(text)
        return row


class Steps(Dataset):
    """Each graph has many samples, and keeps what others of the data set's lists hold anyway."""

    def __init__(self, graphs, positions, steps):
        self.graphs = [dict(graph) for graph in graphs]
        self.positions = [np.load(path) for path in positions]
        self.steps = steps

    def __len__(self):
        return len(self.graphs) * self.steps

    def __getitem__(self, index):
        which = index // self.steps
        graph = self.graphs[which]
        graph["position"] = self.positions[which]
        graph["pixels"] = load_pixels(which)  # expect
        return graph


def load_more(path, template, names, graphs, positions):
    yield DataLoader(Prompts(path, template, names), num_workers=4)
    yield DataLoader(Steps(graphs, positions, 10), num_workers=4)


class Lazy(Dataset):
    """What the first sample loads, no other loads again."""

    def __init__(self, paths):
        self.paths = paths
        self.labels = []
        self.boxes = []
        self.masks = []
        self.seen = []
        self.is_ready = False
        self.has_boxes = False
        self.last = None

    def __len__(self):
        return len(self.paths)

    def load_labels(self):
        for path in self.paths:
            self.labels.append(np.load(path))
        self.is_ready = True

    def load_boxes(self):
        if self.has_boxes:
            return
        self.read_boxes()
        self.has_boxes = True

    def read_boxes(self):
        for path in self.paths:
            self.boxes.append(np.load(path))

    def load_masks(self, index):
        self.masks.append(np.load(self.paths[index]))  # expect
        self.last = index

    def note(self, index):
        if self.last == index:
            return
        self.seen.append(np.load(self.paths[index]))  # with it
        self.last = index

    def __getitem__(self, index):
        if not self.is_ready and len(self.labels) == 0:
            self.load_labels()
        self.load_boxes()
        if self.is_ready:
            self.load_masks(index)
        self.note(index)
        return self.labels[index], self.boxes[index]


def load_lazily(paths):
    return DataLoader(Lazy(paths), num_workers=4)


class Masks(Dataset):
    """Few sizes come up, whoever measures them."""

    def __init__(self, paths):
        self.paths = paths
        self.by_size = {}
        self.by_path = {}

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        image = np.load(self.paths[index])
        return self.mask(image.shape[0]), self.read(self.paths[index])

    def mask(self, size):
        if size not in self.by_size:
            self.by_size[size] = np.zeros(size)
        return self.by_size[size]

    def read(self, path):
        if path not in self.by_path:
            self.by_path[path] = np.load(path)  # expect
        return self.by_path[path]


def cut(row):
    if "words" not in row:
        row["words"] = row["text"].split(" ")
    return row["words"]


def decode(row):
    row["image"] = np.load(row["path"])
    return row["image"]


class Sentences(Dataset):
    def __init__(self, path):
        with open(path) as file:
            self.rows = [json.loads(line) for line in file]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return cut(self.rows[index])  # expect


class Pictures(Dataset):
    def __init__(self, path):
        with open(path) as file:
            self.rows = [json.loads(line) for line in file]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return decode(self.rows[index])  # expect


class Answers(Dataset):
    """Words that stand for themselves are few, and none of them is a sample."""

    def __init__(self, rows):
        self.rows = rows
        self.numerals = {"one": "1", "two": "2"}
        self.answers = {}

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        self.answers.setdefault(index, found)  # expect
        return self.answers[index]


def fill(path, meta):
    meta["frames"] = os.path.getsize(path)
    return meta["frames"]


class FilledByEachCall(Dataset):
    """One dict for each sample, that two calls fill: one cache."""

    def __init__(self, paths):
        self.paths = paths
        self.meta = [{} for _ in paths]

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        first = fill(self.paths[index], self.meta[index])  # expect
        return first, fill(self.paths[index], self.meta[index])


class FilledByField(Dataset):
    """Fields are few, and each sample has all of them."""

    def __init__(self, rows):
        self.rows = rows
        self.widest = {}

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        row = self.rows[index]
        for key, value in row.items():
            self.widest[key] = max(value, self.widest.get(key, 0))
        return row


class KeptInALine(Dataset):
    """The row of a sample keeps what is loaded for it, in a place of its own."""

    def __init__(self, folder):
        self.rows = [[path, 0, None] for path in os.listdir(folder)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        if self.rows[index][2] is None:
            self.rows[index][2] = np.load(self.rows[index][0])  # expect
        return self.rows[index][2]


class Transformed(Dataset):
    def __init__(self, paths, size):
        self.paths = paths
        self.cache = {}
        self.transform = transforms.Compose([transforms.Resize(size), transforms.ToTensor()])

    def __getitem__(self, index):
        if index in self.cache:
            return self.cache[index]
        self.cache[index] = self.transform(Image.open(self.paths[index]))  # expect
        return self.cache[index]

    def __len__(self):
        return len(self.paths)
