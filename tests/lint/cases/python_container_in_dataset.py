import collections
import csv
import glob
import itertools
import json
import os
import pickle
import random
from pathlib import Path

import blobfile
import cv2
import h5py
import json_tricks
import kaldiio
import lmdb
import numpy as np
import pandas as pd
import pyarrow as pa
import torch
from PIL import Image
from pycocotools.coco import COCO
from torch.utils.data import DataLoader, Dataset, IterableDataset
from torchvision import transforms
from torchvision.datasets import CocoDetection, ImageFolder
from torchvision.io import read_image
from torchvision.transforms import RandomHorizontalFlip


# --- filled in the constructor --------------------------------------------------------------------


class Listing(Dataset):
    def __init__(self, root):
        self.root = root
        self.names = sorted(os.listdir(root))  # expect

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        return Image.open(os.path.join(self.root, self.names[index]))


class Heads(Dataset):
    """A few of many, and one object many times."""

    def __init__(self, root):
        names = [name for name in os.listdir(root)]
        self.first = names[:20]
        self.rest = names[20:]  # expect
        self.targets = []
        self.images = []  # with it
        for number, folder in enumerate(names):
            found = glob.glob(folder + "/*")
            self.images.extend(found)
            self.targets.extend([number] * len(found))

    def __getitem__(self, index):
        return self.first[index], self.rest[index], self.targets[index], self.images[index]


class Volumes(Dataset):
    """Tables of samples, of which only the second has a Python object for each."""

    def __init__(self, root):
        self.arrays = {}
        self.entries = {}  # expect
        for path in glob.glob(root + "/*.npz"):
            stored = np.load(path)
            self.arrays[path] = {"images": stored["images"], "labels": stored["labels"]}
            self.entries[path] = {"images": stored["images"], "name": path}

    def __len__(self):
        return len(self.entries) * 2

    def __getitem__(self, index):
        return self.arrays[index], self.entries[index]


class HeadOfOneSplit(Dataset):
    def __init__(self, path, split):
        with open(path) as file:
            ids = [entry["id"] for entry in json.load(file)]
        if split == "val":
            self.ids = ids[:20]
        else:
            self.ids = ids[20:]  # expect

    def __getitem__(self, index):
        return self.ids[index]


class OtherJson(Dataset):
    def __init__(self, path):
        with open(path) as file:
            self.poses = [pose["joints"] for pose in json_tricks.load(file)]  # expect

    def __getitem__(self, index):
        return self.poses[index]


class Sharded(Dataset):
    def __init__(self, paths, rank, ranks):
        self.paths = paths[rank:][::ranks]  # expect

    def __getitem__(self, index):
        return Image.open(self.paths[index])


def images_below(folder):
    found = []
    for name in sorted(blobfile.listdir(folder)):
        if name.endswith(".png"):
            found.append(blobfile.join(folder, name))
        elif blobfile.isdir(name):
            found.extend(images_below(name))
    return found


def make_sharded(folder, rank, ranks):
    return Sharded(images_below(folder), rank, ranks)


class Unpickled(Dataset):
    def __init__(self, paths):
        self.scenes = []  # expect
        self.calibration = {}
        for path in paths:
            with open(path, "rb") as file:
                self.include(pickle.load(file))

    def include(self, scenes):
        self.scenes.extend(scenes)

    def __getitem__(self, index):
        return self.scenes[index]


class UnpickledArray(Dataset):
    def __init__(self, path):
        with open(path, "rb") as file:
            self.rows = pickle.load(file)

    def __getitem__(self, index):
        return self.rows[index]


class HeadOfArray(Dataset):
    def __init__(self, path):
        self.rows = np.load(path)[:1000]

    def __getitem__(self, index):
        return self.rows[index]


class OfSeveralKinds(Dataset):
    def __init__(self, root):
        kinds = ["png", "jpg"]
        self.paths = list(itertools.chain(*[list(Path(root).rglob("*." + kind)) for kind in kinds]))  # expect

    def __getitem__(self, index):
        return Image.open(self.paths[index])


class Globbed(Dataset):
    def __init__(self, root):
        self.paths = list(Path(root).rglob("*.png"))  # expect
        self.masks = [path.with_suffix(".npy") for path in self.paths]  # expect

    def __getitem__(self, i):
        path, mask = self.paths[i], np.load(self.masks[i])
        return path, mask


class Lines(Dataset):
    def __init__(self, path):
        with open(path) as file:
            self.lines = file.readlines()  # expect
        with open(path) as file:
            self.pairs = [line.strip().split("|") for line in file]  # expect

    def __getitem__(self, index):
        audio, text = self.pairs[index]
        return self.lines[index], audio, text


class Parsed(Dataset):
    def __init__(self, path):
        with open(path) as file:
            self.entries = json.load(file)  # expect
        self.ids = np.arange(10).tolist()  # with it

    def __getitem__(self, index):
        entry = self.entries[index]
        return entry["image"], self.ids[index]


class Appended(Dataset):
    def __init__(self, root):
        self.samples = []  # expect
        for name in sorted(os.listdir(root)):
            if name.endswith(".png"):
                self.samples.append((os.path.join(root, name), len(name)))

    def __getitem__(self, index):
        path, target = self.samples[index % len(self.samples)]
        return path, target


class Local(Dataset):
    def __init__(self, root):
        samples, targets = [], []
        for folder, _, names in os.walk(root):
            for name in names:
                samples.append(os.path.join(folder, name))
                targets.append(folder)
        self.samples = samples  # expect
        self.targets = targets  # expect

    def __getitem__(self, index):
        samples = self.samples
        return samples[index], self.targets[int(index)]


class Extended(Dataset):
    def __init__(self, folders):
        self.files = []  # expect
        for folder in folders:
            self.files.extend(sorted(glob.glob(os.path.join(folder, "**", "*.jpg"), recursive=True)))
            self.files += glob.glob(os.path.join(folder, "*.png"))

    def __getitem__(self, index):
        return self.files[index]


class Keyed(Dataset):
    def __init__(self, path):
        with open(path) as file:
            paths = file.read().splitlines()
        self.labels = {"path": [line for line in paths], "full": ["data/" + line for line in paths]}  # expect

    def __getitem__(self, i):
        return {key: self.labels[key][i] for key in self.labels}


class Dictionary(Dataset):
    def __init__(self, path):
        self.rows = {}  # expect
        with open(path) as file:
            for number, row in enumerate(csv.reader(file)):
                self.rows[number] = row

    def __getitem__(self, index):
        return self.rows[index]


class Objects(Dataset):
    def __init__(self, path):
        with open(path) as file:
            self.captions = np.array(json.load(file), dtype=object)  # expect

    def __getitem__(self, index):
        return self.captions[index]


class Table(Dataset):
    def __init__(self, path, root):
        self.frame = pd.read_csv(path)  # expect
        self.root = root

    def __getitem__(self, index):
        name = os.path.join(self.root, self.frame.iloc[index, 0])
        return Image.open(name)


class TableWithNames(Dataset):
    def __init__(self, path):
        self.frame = pd.read_csv(path)  # expect

    def __getitem__(self, index):
        name = self.frame.iloc[index, 0]
        return {"name": name, "image": Image.open(self.frame.iloc[index, 1])}


class Columns(Dataset):
    """Texts of a table stay objects in a list and in an array of objects; numbers in an array do not."""

    def __init__(self, path):
        table = pd.read_csv(path)
        self.paths = list(table["path"])  # expect
        self.others = list(table.values[:, 0])  # with it
        self.masks = table["mask"].to_numpy()  # with it
        self.areas = table["area"].to_numpy()

    def __getitem__(self, index):
        image, other = Image.open(self.paths[index]), Image.open(self.others[index])
        return image, other, Image.open(self.masks[index]), self.areas[index]


class Windows(Dataset):
    """``__len__`` tells that there is one for each sample, whatever they were made of."""

    def __init__(self, volume, patch):
        self.volume = volume
        self.windows = []  # expect
        for z in range(0, volume.shape[0], patch):
            for y in range(0, volume.shape[1], patch):
                self.windows.append((slice(z, z + patch), slice(y, y + patch)))
        self.crops = [volume[window] for window in self.windows]

    def __len__(self):
        return len(self.windows)

    def __getitem__(self, index):
        return self.volume[self.windows[index]], self.crops[index]


class Folds(Dataset):
    def __init__(self, volume, volumes):
        self.folds = [(first, first + 1) for first in range(10)]
        self.volume = volume
        self.volumes = volumes

    def __len__(self):
        return len(self.folds)

    def __getitem__(self, index):
        return self.volume[slice(*self.folds[index])], self.volumes[index]


class Crops(Dataset):
    def __init__(self, volume, windows):
        self.crops = [(volume[window], 1) for window in windows]

    def __len__(self):
        return len(self.crops)

    def __getitem__(self, index):
        return self.crops[index]


class BySplit(Dataset):
    def __init__(self, root, split):
        self.split = split
        self.files = collections.defaultdict(list)  # expect
        for one in ("train", "val"):
            self.files[one] = os.listdir(f"{root}/{one}")
        self.colors = {}
        for one in ("train", "val"):
            self.colors[one] = np.load(f"{root}/{one}.npy")
        self.means = {}
        for one in ("train", "val"):
            self.means[one] = [0.1, 0.2, 0.3]

    def __len__(self):
        return len(self.files[self.split])

    def __getitem__(self, index):
        mean = self.means[self.split][index % 3]
        return Image.open(self.files[self.split][index]), self.colors[self.split][index], mean


class Grouped(Dataset):
    def __init__(self, path):
        self.rows_of = self.read(csv.reader(open(path)))  # expect
        self.keys = list(self.rows_of.keys())  # with it
        self.numbered = dict(enumerate(json.load(open(path))))  # with it
        self.options = dict([("train", 1), ("val", 2)])

    def read(self, rows):
        found = {}
        for row in rows:
            if row[0] not in found:
                found[row[0]] = []
            found[row[0]].append(row[1])
        return found

    def __len__(self):
        return len(self.keys)

    def __getitem__(self, index):
        return self.rows_of[self.keys[index]], self.numbered[index], self.options[index]


class SomeOfAListing(Dataset):
    """Parts of lists, lists joined, and room for what comes."""

    def __init__(self, root, rate):
        found = sorted(glob.glob(root + "/*.png"))
        self.images = found[::rate]  # expect
        self.others = os.listdir(root)[2:]  # with it
        self.both = sorted(glob.glob(root + "/*.jpg")) + glob.glob(root + "/*.gif")  # with it
        self.stems = [None] * len(found)  # with it
        for number, path in enumerate(found):
            self.stems[number] = f"{number}: {path}"
        self.zeros = [0] * len(found)
        self.one = glob.glob(root + "/*.txt")[0]
        self.few = found[:10] + ["mean.png"]

    def __getitem__(self, index):
        image = Image.open(self.images[index]), Image.open(self.others[index]), Image.open(self.both[index])
        return image, self.stems[index], self.zeros[index], self.one[index], self.few[index]


class OfTheClassOfASample(Dataset):
    """Looked up by a sample's class; ``by_image`` holds all."""

    def __init__(self, root, index):
        self.rows = json.load(open(index))  # expect
        self.information = {folder: {"folder": folder} for folder in os.listdir(root)}
        self.numbers = {row["speaker"]: number for number, row in enumerate(json.load(open(index)))}
        self.titles = [line.strip() for line in open(root + "/titles.txt")]
        self.by_image = {row["image"]: row["boxes"] for row in json.load(open(index + "l"))}  # with it

    def __getitem__(self, index):
        row = self.rows[index]
        category, label = row["category"], row["label"]
        known = self.information[category]["folder"], self.numbers[int(row["speaker_id"])], self.titles[int(label)]
        return known, self.by_image[row["image"]]


class InAnOrder(Dataset):
    """As many numbers as the dataset has samples, unless it says that these are few."""

    def __init__(self, volumes):
        self.volumes = volumes
        self.order = torch.randperm(len(self)).tolist()  # expect
        self.back = np.random.permutation(len(self)).tolist()  # expect
        self.kept = torch.randperm(len(self))

    def __len__(self):
        return self.volumes.count

    def __getitem__(self, index):
        return self.volumes.read(self.order[index], self.back[index], self.kept[index])


class InAnOrderOfFew(Dataset):
    def __init__(self, volumes):
        self.volumes = volumes
        self.order = torch.randperm(len(self)).tolist()

    def __len__(self):
        return 64

    def __getitem__(self, index):
        return self.volumes.read(self.order[index])


# --- filled and read elsewhere --------------------------------------------------------------------


class Helper(Dataset):
    def __init__(self, manifests):
        self.samples = []  # expect
        for manifest in manifests:
            self._load(manifest)

    def _load(self, manifest):
        for sample in json.load(open(manifest)):
            self.samples.append(sample)

    def get(self, index):
        return self.samples[index]["audio"]

    def __getitem__(self, index):
        return self.get(index)


class Flow(Dataset):
    def __init__(self):
        self.images = []  # expect
        self.flows = []  # expect

    def __getitem__(self, index):
        index = index % len(self.images)
        return self.images[index][0], self.flows[index]


class Sintel(Flow):
    def __init__(self, root):
        super().__init__()
        for scene in os.listdir(root):
            names = sorted(glob.glob(os.path.join(root, scene, "*.png")))
            for i in range(len(names) - 1):
                self.images += [[names[i], names[i + 1]]]
            self.flows += sorted(glob.glob(os.path.join(root, scene, "*.flo")))


def read_pairs(path):
    with open(path, encoding="utf-8") as file:
        return [line.strip().split("|") for line in file]


def find(root):
    found = collections.defaultdict(list)
    for path in Path(root).iterdir():
        found[path.parent].append(path)
    names = list(found)
    return [found[name] for name in names], names


class Unpacked(Dataset):
    """100,000 clips."""

    def __init__(self, path, root):
        self.pairs = read_pairs(path)  # expect
        random.shuffle(self.pairs)
        self.videos, self.class_names = find(root)  # with it

    def pair(self, pair):
        return pair[0], pair[1]

    def __getitem__(self, index):
        video = self.videos[index]
        return self.pair(self.pairs[index]), video, self.class_names.index(str(video))


class Corpus(Dataset):
    def __init__(self, path):
        self.lines = [line.split("\t") for line in open(path)]  # expect

    def __getitem__(self, item):
        return self.line(item), self.other()

    def line(self, item):
        return self.lines[item][0]

    def other(self):
        return self.lines[random.randrange(len(self.lines))][1]


class Reader:
    """No dataset, but one keeps it."""

    def __init__(self, root):
        self.samples = [os.path.join(root, name) for name in os.listdir(root)]  # expect

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        return open(self.samples[index], "rb")


class Reading(Dataset):
    def __init__(self, root):
        self.reader = Reader(root)

    def __getitem__(self, index):
        return self.reader[index].read()


class NoSubclass:
    def __init__(self, path):
        with open(path) as file:
            self.urls = file.read().split("\n")  # expect

    def __len__(self):
        return len(self.urls)

    def __getitem__(self, index):
        return self.urls[index]


loader = DataLoader(NoSubclass("urls.txt"), num_workers=4)


class Reworked(Dataset):
    def __init__(self, path):
        self.lines = open(path).readlines()  # expect
        self.sort()

    def sort(self):
        self.lines = sorted(self.lines)

    def __getitem__(self, index):
        return self.lines[index]


class Cached(Dataset):
    def __init__(self, folders, cache, keep):
        found = []
        for folder in folders:
            if Path(folder).is_dir():
                found += glob.glob(str(Path(folder) / "**" / "*.*"), recursive=True)
            else:
                with open(folder) as file:
                    found += [line for line in file.read().strip().splitlines()]
        self.files = sorted(name.replace("/", os.sep) for name in found)
        known = np.load(cache, allow_pickle=True).item()
        self.files = list(known.keys())  # expect
        if keep:
            self.files = [self.files[i] for i in keep]

    def __getitem__(self, index):
        index = self.order()[index]
        return self.files[index]

    def order(self):
        return range(len(self.files))


class PerGroup(Dataset):
    """100,000 records."""

    def __init__(self, path):
        self.groups, self.names = self.read(path)  # expect

    def read(self, path):
        groups, names = collections.defaultdict(list), {}
        with open(path) as file:
            for line in file:
                group, name = line.split()
                groups[group].append(name)
                names.setdefault(group, len(names))
        keys = groups.keys()
        return [groups[key] for key in keys], names

    def __getitem__(self, index):
        return self.groups[index]


# --- what has no reference counts -----------------------------------------------------------------


class Converted(Dataset):
    def __init__(self, root):
        self.names = []
        self.sizes = []
        for name in os.listdir(root):
            self.names.append(name)
            self.sizes.append(os.path.getsize(name))
        self.names = pa.array(self.names)
        self.sizes = np.array(self.sizes)

    def __getitem__(self, index):
        return self.names[index].as_py(), self.sizes[index]


class Strings(Dataset):
    def __init__(self, root):
        names = os.listdir(root)
        self.names = np.array(names)
        self.targets = torch.tensor([len(name) for name in names])

    def __getitem__(self, index):
        return str(self.names[index]), self.targets[index]


class CopiedLater(Dataset):
    def __init__(self, path):
        with open(path) as file:
            self.human = [line for line in file]
        self.data = np.array(self.human)

    def __getitem__(self, index):
        return self.data[index]


class Numbers(Dataset):
    def __init__(self, path):
        self.frame = pd.read_csv(path)

    def __getitem__(self, index):
        return torch.tensor(self.frame.iloc[index].values)


class Characters(Dataset):
    def __init__(self, path):
        with open(path) as file:
            text = file.read()
        self.stoi = {char: i for i, char in enumerate(sorted(set(text)))}
        self.text = text

    def __getitem__(self, index):
        return [self.stoi[char] for char in self.text[index : index + 8]]


class Archived(Dataset):
    def __init__(self, root):
        self.names = []
        for name in os.listdir(root):
            self.names.append(name)
        try:
            self.names = pa.array(self.names)
        except ImportError:
            pass

    def __getitem__(self, index):
        return self.names[index]


class Memory(Dataset):
    def __init__(self, path):
        self.file = h5py.File(path)
        self.captions = self.file["captions"][:]

    def __getitem__(self, index):
        return self.captions[index]


# --- few ------------------------------------------------------------------------------------------


class Shards(Dataset):
    def __init__(self, path):
        with h5py.File(path) as file:
            self.inputs = [np.asarray(file[key][:]) for key in ("ids", "mask", "labels")]

    def __getitem__(self, index):
        return [array[index] for array in self.inputs]


class Arrays(Dataset):
    def __init__(self, root):
        self.arrays = [np.load(path) for path in Path(root).glob("*.npy")]

    def __getitem__(self, index):
        return self.arrays[index]


class InMemory(Dataset):
    """The images are in memory, so there are not many."""

    def __init__(self, root):
        self.paths = list(Path(root).iterdir())
        self.images = [Image.open(path) for path in self.paths]

    def __getitem__(self, index):
        return self.images[index], self.paths[index]


class Transformed(Dataset):
    def __init__(self, root):
        resize = transforms.Compose([transforms.Resize(64), transforms.ToTensor()])
        self.names = os.listdir(root)
        self.pixels = []
        for name in self.names:
            self.pixels.append(resize(Image.open(name)))

    def __getitem__(self, index):
        return self.pixels[index], self.names[index]


class Classes(Dataset):
    def __init__(self, root, size):
        self.classes = sorted(os.listdir(root))
        self.class_to_idx = {name: i for i, name in enumerate(self.classes)}
        self.labels = np.zeros(size, dtype=int)
        self.transforms = [transforms.ToTensor(), transforms.Resize(32)]

    def __getitem__(self, index):
        label = self.labels[index]
        return self.classes[label], self.class_to_idx[self.classes[label]], self.transforms[index % 2]


class Prompts(Dataset):
    def __init__(self, repeats):
        self.prompts = ["a photo of a cat", "a drawing of a cat"]
        self.repeated = []
        for prompt in self.prompts:
            self.repeated.extend([prompt] * repeats)

    def __getitem__(self, index):
        return self.prompts[index % 2], self.repeated[index]


class ByClass(Dataset):
    def __init__(self, targets):
        self.groups = {}
        for label in range(10):
            self.groups[label] = np.where(targets == label)[0]

    def __getitem__(self, index):
        return self.groups[random.randint(0, 9)][index]


class Handed(Dataset):
    """What is handed in may be anything."""

    def __init__(self, samples, targets=None):
        self.samples = samples
        self.targets = targets

    def __getitem__(self, index):
        return self.samples[index], self.targets[index]


class Configured(Dataset):
    def __init__(self, path):
        with open(path) as file:
            self.config = json.load(file)
        self.size = self.config["size"]

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        return cv2.imread(f"{self.config['root']}/{index}.png")


# --- no map-style dataset in a worker -------------------------------------------------------------


class Streamed(IterableDataset):
    def __init__(self, root):
        self.names = os.listdir(root)

    def __iter__(self):
        for index in range(len(self.names)):
            yield self.names[index]


class OnlyLength(Dataset):
    def __init__(self, path):
        self.lines = open(path).readlines()
        self.array = np.load("data.npy")

    def __len__(self):
        return len(self.lines)

    def __getitem__(self, index):
        return self.array[index]


class NoWorkers(Dataset):
    def __init__(self, path):
        self.lines = open(path).readlines()

    def __getitem__(self, index):
        return self.lines[index]


evaluation = DataLoader(NoWorkers("lines.txt"), num_workers=0)


class Vocabulary:
    def __init__(self, path):
        self.words = open(path).read().split()

    def __getitem__(self, index):
        return self.words[index]


class Ready(ImageFolder):
    def __getitem__(self, index):
        path, target = self.samples[index]
        return path, target


class InstanceImages(Dataset):
    """A few decoded images, repeated; what is noted beside them is not many either."""

    def __init__(self, root, class_root, repeats):
        self.instance_images = []
        for image in [Image.open(path) for path in Path(root).iterdir()]:
            self.instance_images.extend(itertools.repeat(image, repeats))
        self.buckets = []
        for image in self.instance_images:
            self.buckets.append(image.size)
        self.class_paths = list(Path(class_root).iterdir())

    def __getitem__(self, index):
        image = self.instance_images[index]
        return image, self.buckets[index], Image.open(self.class_paths[index % len(self.class_paths)])


class PairedImages(Dataset):
    def __init__(self, root):
        self.paths = sorted(Path(root).glob("*.png"))
        self.pairs = []
        for number, path in enumerate(self.paths):
            self.pairs.append((read_image(path), number))

    def __getitem__(self, index):
        return self.pairs[index], self.paths[index]


class ListOfTransforms(Dataset):
    """The list holds transforms, not images."""

    def __init__(self, root, flip):
        self.paths = sorted(Path(root).glob("*.png"))  # expect
        self.steps = []
        if flip:
            self.steps.append(RandomHorizontalFlip(0.5))

    def __getitem__(self, index):
        image = Image.open(self.paths[index])
        for step in self.steps:
            image = step(image)
        return image


class OneImage(Dataset):
    def __init__(self, root, background):
        self.paths = sorted(Path(root).glob("*.png"))  # expect
        self.background = Image.open(background)

    def __getitem__(self, index):
        return Image.open(self.paths[index]), self.background


class Folders(Dataset):
    def __init__(self, root):
        self.files = []  # expect
        self.targets = []
        self.sources = []  # expect
        for target, folder in enumerate(sorted(os.listdir(root))):
            for file in os.listdir(os.path.join(root, folder)):
                self.files.append(file)
                self.targets.append(target)
                source = folder + file
                self.sources.append(source)

    def __getitem__(self, index):
        return self.files[index], self.targets[index], self.sources[index]


class Flat(Dataset):
    def __init__(self, root):
        self.numbers = []  # expect
        for number, _ in enumerate(os.listdir(root)):
            self.numbers.append(number)

    def __getitem__(self, index):
        return self.numbers[index]


class FilledInEitherBranch(Dataset):
    """Told once, with the other place."""

    def __init__(self, path, quick):
        if quick:
            self.rows = open(path).readlines()[:100]  # expect
        else:
            self.rows = open(path).readlines()

    def __getitem__(self, index):
        return self.rows[index]


class FilledInEitherMethod(Dataset):
    def __init__(self, path, ready):
        if ready:
            self.load(path)
        else:
            self.make(path)

    def load(self, path):
        self.rows = open(path).readlines()  # expect

    def make(self, path):
        self.rows = [line.strip() for line in open(path)]

    def __getitem__(self, index):
        return self.rows[index]


class FilledTwice(Dataset):
    """One fault, told at the first place."""

    def __init__(self, path, more):
        self.rows = open(path).readlines()  # expect
        if more:
            self.rows = open(more).readlines()

    def __getitem__(self, index):
        return self.rows[index]


class TwoOfThem(Dataset):
    def __init__(self, path, targets):
        self.rows = open(path).readlines()  # expect
        self.targets = open(targets).readlines()  # with it

    def __getitem__(self, index):
        return self.rows[index], self.targets[index]


# --- read on the spot -----------------------------------------------------------------------------


class HandedOn(Dataset):
    def __init__(self, path):
        self.rows = open(path).readlines()  # expect

    def __getitem__(self, index):
        return self.rows[index]


def hand_on(path, fit):
    for row in HandedOn(path):
        print(row)
    dataset = HandedOn(path)
    fit(dataset)


class ReadInALambda(Dataset):
    def __init__(self, path):
        self.rows = open(path).readlines()  # expect

    def __getitem__(self, index):
        return self.rows[index]


def read_in_a_lambda(path, pool):
    rows = ReadInALambda(path)
    return pool.map(lambda index: rows[index], range(10))


class Returned(Dataset):
    def __init__(self, path):
        self.rows = open(path).readlines()  # expect

    def __getitem__(self, index):
        return self.rows[index]


def make(path):
    returned = Returned(path)
    print(returned[0])
    return returned


class MadeByName(Dataset):
    def __init__(self, path):
        self.rows = open(path).readlines()  # expect

    def __getitem__(self, index):
        return self.rows[index]


def walk_made_rows_of(path):
    for row in MadeByName(path):
        print(row)


KINDS = {"plain": MadeByName}


class ReadByAPool(Dataset):
    def __init__(self, path):
        self.rows = open(path).readlines()  # expect

    def __getitem__(self, index):
        return self.rows[index]


def read_by_a_pool(path, pool):
    rows = ReadByAPool(path)
    return pool.map(rows.__getitem__, range(10))


class LoadsItself(Dataset):
    def __init__(self, path):
        self.rows = open(path).readlines()  # expect

    def __getitem__(self, index):
        return self.rows[index]

    def loader(self, make_loader):
        return make_loader(self)


def load_itself(path, make_loader):
    rows = LoadsItself(path)
    return rows.loader(make_loader)


class TriedOut(Dataset):
    """Made for others: its own file only tries it."""

    def __init__(self, path):
        self.rows = open(path).readlines()  # expect

    def __getitem__(self, index):
        return self.rows[index]


if __name__ == "__main__":
    for row in TriedOut("rows.txt"):
        print(row)


# --- assigned again ---------------------------------------------------------------------------


class Overwritten(Dataset):
    def __init__(self, path, paragraphs):
        self.raw = json.load(open(path))
        self.build()

    def build(self):
        self.entries = [dict(image=one["image"]) for one in self.raw]  # expect

    def __getitem__(self, index):
        return self.entries[index]


class OverwrittenOfItself(Dataset):
    """100,000 samples."""

    def __init__(self, path):
        self.entries = json.load(open(path))  # expect
        self.build()

    def build(self):
        self.entries = [one for one in self.entries if one["boxes"]]

    def __getitem__(self, index):
        return self.entries[index]["boxes"]


class OverwrittenNowAndThen(Dataset):
    """100,000 samples."""

    def __init__(self, path, small):
        self.entries = json.load(open(path))  # expect
        if small:
            self.build()

    def build(self):
        self.entries = []

    def __getitem__(self, index):
        return self.entries[index]["boxes"]


class OverwrittenBefore(Dataset):
    """100,000 samples."""

    def __init__(self, path):
        self.build()
        self.entries = json.load(open(path))  # expect

    def build(self):
        self.entries = []

    def __getitem__(self, index):
        return self.entries[index]["boxes"]


def joined(entries):
    found = []
    for entry in entries:
        entry["caption"] = " ".join(entry.pop("caption"))
        found.append(entry)
    return found


class Captions(Dataset):
    """50,000 samples."""

    def __init__(self, path):
        self.captions = json.load(open(path))  # expect

    def __getitem__(self, index):
        return self.captions[index]["caption"]


class Paragraphs(Captions):
    def __init__(self, path, paragraphs):
        super().__init__(path)
        if paragraphs:
            self.captions = joined(self.captions)


class OtherCaptions(Captions):
    """50,000 samples."""

    def __init__(self, path, more):
        super().__init__(path)
        self.captions = json.load(open(more))  # expect advice


# --- lines of columns -------------------------------------------------------------------------


class Videos(Dataset):
    def __init__(self, path):
        self.rows = read_rows(path)

    def where(self, row):
        return row["path"]

    def label(self, row):
        return int(row[2])

    def __getitem__(self, index):
        row = self.rows[index]
        return Image.open(self.where(row)), self.label(row)


class SplitLines(Videos):
    """100,000 samples."""

    def __init__(self, path):
        self.rows = [line.strip().split(" ") for line in open(path)]  # expect

    def where(self, row):
        return row[0].split("/")[-1]


class SplitWords(Videos):
    """100,000 samples."""

    def __init__(self, path):
        self.rows = [line.strip().split(" ") for line in open(path)]  # expect

    def where(self, row):
        return "".join(word for word in row)


# --- the same objects once more ---------------------------------------------------------------


class ByLabel(Dataset):
    """50,000 samples."""

    def __init__(self, path, balanced):
        self.records = json.load(open(path))  # expect
        if balanced:
            self.by_label = self.grouped()
        self.longest = sorted(self.records, key=len)
        self.chosen = [record for record in self.records if record["chosen"]]

    def grouped(self):
        groups = defaultdict(list)
        for record in self.records:
            groups[record["label"]].append(record)
        return groups

    def __getitem__(self, index):
        record = self.by_label[index % 10][index // 10]
        return record["name"], self.records[index]["name"], self.longest[index]["name"], self.chosen[index]["name"]


class PartsOfThem(Dataset):
    """100,000 samples."""

    def __init__(self, path, more):
        self.records = json.load(open(path))  # expect
        self.boxes = [record["boxes"] for record in self.records]
        self.words = [record["text"].split() for record in self.records]  # with it
        self.others = json.load(open(more))  # with it

    def __getitem__(self, index):
        words = [word for word in self.words[index]]
        return self.records[index]["name"], [box for box in self.boxes[index]], words, self.others[index]["name"]


class WholesOfThem(Dataset):
    """50,000 samples."""

    def __init__(self, path):
        records = json.load(open(path))
        self.boxes = [record["boxes"] for record in records]
        self.records = records  # expect

    def __getitem__(self, index):
        return self.records[index]["name"], [box for box in self.boxes[index]]


class Annotated(Dataset):
    """50,000 samples."""

    def __init__(self, path):
        self.annotation = json.load(open(path))  # expect

    def __getitem__(self, index):
        return self.annotation[index]["name"]


class Instructions(Annotated):
    def __init__(self, path):
        super().__init__(path)
        self.inner = self.annotation
        self.rows = self.inner

    def __getitem__(self, index):
        return self.rows[index]["text"]


class SomeInstructions(Annotated):
    """50,000 samples."""

    def __init__(self, path, more):
        super().__init__(path)
        self.rows = self.annotation
        if more:
            self.rows = json.load(open(more))  # expect

    def __getitem__(self, index):
        return self.rows[index]["text"]


# --- filled by a base, or not -----------------------------------------------------------------


class OfFiles(Dataset):
    """Itself it gives nothing of what it lists. 100,000 samples."""

    def __init__(self, path):
        self.boxes = json.load(open(path))
        self.masks = json.load(open(path + ".masks"))  # expect
        self.load(path)
        self.__prepare(path)

    def load(self, path):
        self.texts = json.load(open(path + ".texts"))

    def __prepare(self, path):
        self.spans = json.load(open(path + ".spans"))  # expect

    def __len__(self):
        return len(self.masks)


class OfNothing(OfFiles):
    """Its own constructor is the only one that runs."""

    def __init__(self, length):
        self.boxes = np.zeros((length, 4))

    def __getitem__(self, index):
        return [box for box in self.boxes[index]]


class OfOneFile(OfFiles):
    def __init__(self, path):
        super().__init__(path)
        self.number = 1

    def load(self, path):
        self.texts = None

    def __getitem__(self, index):
        return [mask for mask in self.masks[index]], self.texts[index]["words"]


class OfTheSameFile(OfFiles):
    def __init__(self, path):
        OfFiles.__init__(self, path)

    def __prepare(self, path):
        self.lines = path

    def __getitem__(self, index):
        return [span for span in self.spans[index]]


class LoadedAbove(Dataset):
    """100,000 samples."""

    def load(self, path):
        self.scenes = json.load(open(path))
        self.views = json.load(open(path + ".views"))  # expect


class LoadedBelow(LoadedAbove):
    def __init__(self, path):
        self.load(path)

    def load(self, path):
        super(LoadedBelow, self).load(path + ".json")
        self.scenes = torch.load(path)

    def __getitem__(self, index):
        return self.scenes[index], [view for view in self.views[index]]


class LoadedTwiceBelow(LoadedBelow):
    def load(self, path):
        self.views = np.load(path)
        self.scenes = np.load(path)

    def __getitem__(self, index):
        return self.scenes[index]["a"], [view for view in self.views[index]]


class OfPathsOrImages(Dataset):
    """100,000 samples. What a subclass sets is set anew by the constructor before it loads."""

    def __init__(self, path):
        self.images = True
        self.lines = False
        self.load(path)

    def load(self, path):
        if self.images:
            self.paths = np.load(path)
        else:
            self.paths = json.load(open(path))
        if not self.lines:
            self.rows = json.load(open(path))  # expect

    def __getitem__(self, index):
        return [part for part in self.paths[index]], [part for part in self.rows[index]]


class OfPaths(OfPathsOrImages):
    def __init__(self, path, images=False):
        self.images = images
        super().__init__(path)


class OfPathsAtLast(Dataset):
    """100,000 samples."""

    def __init__(self, path, images=False):
        self.images = True
        self.images = images
        self.load(path)

    def load(self, path):
        if not self.images:
            self.paths = json.load(open(path))  # expect

    def __getitem__(self, index):
        return [part for part in self.paths[index]]


# --- parts of large sets --------------------------------------------------------------------------


class ImagenetFolder(Dataset):
    def __init__(self, root):
        self.paths = sorted(glob.glob(f"{root}/*.JPEG"))  # expect

    def __getitem__(self, index):
        return Image.open(self.paths[index])


class ImagenetValFolder(ImagenetFolder):
    def __init__(self, root):
        super().__init__(root)
        self.truth = [line for line in open(root + ".txt")]  # expect

    def __getitem__(self, index):
        return super().__getitem__(index), self.truth[index]


class ImagenetShots(Dataset):
    def __init__(self, root, shots):
        self.paths = [path for kind in glob.glob(root) for path in glob.glob(kind + "/*.JPEG")[:shots]]  # expect

    def __getitem__(self, index):
        return Image.open(self.paths[index])


class ImagenetClasses(Dataset):
    def __init__(self, lines):
        self.kinds = [int(line) for line in open(lines)]  # expect

    def __getitem__(self, index):
        return self.kinds[index]


class ImagenetSketches(Dataset):
    def __init__(self, root, split):
        assert split in ("val", "test")
        self.paths = sorted(glob.glob(f"{root}/{split}/*.JPEG"))  # expect

    def __getitem__(self, index):
        return Image.open(self.paths[index])


class Prepared(Dataset):
    """What pictures come through is called after a large set, and so is one entry of each."""

    def __init__(self, path, imagenet_transform):
        self.rows = [(row["file"], row["coco_url"]) for row in json.load(open(path))]  # expect
        self.transform = imagenet_transform

    def __getitem__(self, index):
        return self.transform(Image.open(self.rows[index][0]))


def prepare(path):
    return Prepared(path, imagenet_transform=imagenet_transform(224))


def imagenet_transform(size):
    return lambda image: image.resize((size, size))


class ImageNetLTPairs(Dataset):
    def __init__(self, lines):
        self.paths = [line.split()[0] for line in open(lines)]  # expect

    def __getitem__(self, index):
        return Image.open(self.paths[index])


class ImagenetFeatures(Dataset):
    """Features of all pictures, and a list of their labels, each of which is one of a thousand objects."""

    def __init__(self, features, labels):
        self.features = features
        if len(features) != len(labels):
            kept = some_of(len(features), len(labels))
            labels = [labels[index] for index in kept]
        self.labels = labels  # expect

    def __getitem__(self, index):
        return self.features[index], self.labels[index]


def some_of(count, all_of_them):
    return np.random.permutation(all_of_them)[:count].tolist()


def features_of(root, features):
    return ImagenetFeatures(features, ImageFolder(root).targets)


class Answers(Dataset):
    """The answers of a vocabulary are few."""

    def __init__(self, path, answers, word2idx):
        with open(path) as file:
            self.rows = np.array([line.split() for line in file])
        self.word2idx = word2idx
        self.pieces = []
        for answer in open(answers):
            self.pieces.append(answer.split())

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        answer = self.rows[index][1]
        return self.pieces[self.word2idx[answer]]


class NumbersByPower(Dataset):
    def __init__(self):
        self.names = [f"{number}.jpg" for number in range(10**6)]  # expect
        self.folds = [f"fold {number}" for number in range(2**3)]

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        return self.names[index], self.folds[index % 8]


class NumbersByShift(Dataset):
    def __init__(self):
        self.names = [str(number) for number in range(1 << 20)]  # expect
        self.bits = [str(number) for number in range(1 << 3)]

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        return self.names[index], self.bits[index % 8]


class FewThousands(Dataset):
    def __init__(self):
        self.names = [str(number) for number in range(20_000)]  # expect
        self.views = [str(number) for number in range(1_000)]

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        return self.names[index], self.views[index % 1_000]


class ImpossiblePowers(Dataset):
    def __init__(self):
        self.names = [str(number) for number in range(9**9**9 % 7)]
        self.roots = [number for number in range(int((-8) ** 0.5))]
        self.halves = [number for number in range(0**-1 + 1 << 1.5)]

    def __len__(self):
        return 6

    def __getitem__(self, index):
        return self.names[index], self.roots[index], self.halves[index]


def numbers_of_labels(path):
    found = {}
    with open(path) as file:
        for row in csv.DictReader(file):
            found[row["label"]] = row["number"]
    return found


def rows_of_images(path):
    found = {}
    with open(path) as file:
        for row in csv.DictReader(file):
            found[row["image"]] = row["text"]
    return found


class ByHelpers(Dataset):
    def __init__(self, path, labels):
        self.numbers = numbers_of_labels(labels)
        self.rows = rows_of_images(path)  # expect
        self.images = np.array(list(self.rows))

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        row = self.rows[self.images[index]]
        target = np.zeros(len(self.numbers))
        for label in row.split(","):
            target[int(self.numbers[label])] = 1
        return row, target


class NumberedInADatabase(Dataset):
    def __init__(self, path):
        with lmdb.open(path).begin() as transaction:
            count = int(transaction.get(b"num-samples"))
        self.keys = [f"image-{index:09d}" for index in range(count)]  # expect

    def __getitem__(self, index):
        return self.keys[index]


class NumberedInAFile(Dataset):
    def __init__(self, path):
        self.names = []  # expect
        with h5py.File(path) as file:
            for index in range(file["images"].shape[0]):
                self.names.append(f"{index}.jpg")

    def __getitem__(self, index):
        return self.names[index]


class ArraysWithTheirNames(Dataset):
    def __init__(self, folder):
        self.pairs = [(np.load(path), path) for path in os.listdir(folder)]  # expect

    def __getitem__(self, index):
        return self.pairs[index]


class ArraysWithTheirNumbers(Dataset):
    def __init__(self, folder):
        self.pairs = [(np.load(path), at) for at, path in enumerate(os.listdir(folder))]

    def __getitem__(self, index):
        return self.pairs[index]


class ArraysWithSomethingUnknown(Dataset):
    def __init__(self, folder, extra):
        self.records = [(np.load(path), extra(path), None) for path in os.listdir(folder)]

    def __getitem__(self, index):
        return self.records[index]


class PicturesKeptWhereSwitchedOn(Dataset):
    def __init__(self, folder):
        self.in_memory = False
        self.paths = [path for path in os.listdir(folder)]  # expect
        self.labels = []
        if self.in_memory:
            self.pictures = [Image.open(path) for path in self.paths]
            self.labels = [path.split("_")[0] for path in self.paths]

    def __getitem__(self, index):
        picture = self.pictures[index] if self.in_memory else Image.open(self.paths[index])
        return picture, self.labels[index]


# --- what other libraries list --------------------------------------------------------------------


class ImagesOfAnIndex(Dataset):
    def __init__(self, path):
        self.coco = COCO(path)  # expect
        self.ids = self.coco.getImgIds()  # expect
        self.classes = {one: at for at, one in enumerate(self.coco.getCatIds())}

    def __getitem__(self, index):
        image = self.coco.loadImgs(self.ids[index])[0]
        return image["file_name"], self.classes[image["category_id"]]


class RecordsOfAnIndex(Dataset):
    def __init__(self, path):
        self.coco = COCO(path)  # expect
        self.ids = torch.load("ids.pt")

    def __getitem__(self, index):
        coco, number = self.coco, self.ids[index]
        return coco.loadAnns(coco.getAnnIds(imgIds=number)), self.coco.imgs[number]["file_name"]


class NamesOfAnIndex(Dataset):
    def __init__(self, path):
        self.coco = COCO(path)
        self.ids = torch.load("ids.pt")
        self.names = [one["name"] for one in self.coco.loadCats(self.coco.getCatIds())]

    def __getitem__(self, index):
        return self.ids[index], self.coco.loadCats(self.ids[index])


class ListOfAnIndex(Dataset):
    def __init__(self, path):
        coco = COCO(path)
        self.ids = np.array(coco.getImgIds())

    def __getitem__(self, index):
        return self.ids[index]


class AskedForAll(Dataset):
    def __init__(self, path):
        self.coco = COCO(path)
        self.ids = np.array(self.coco.getImgIds())

    def classes(self):
        return self.coco.loadAnns(self.coco.getAnnIds())

    def __getitem__(self, index):
        return self.ids[index]


class RowsOfATextFile(Dataset):
    def __init__(self, root, path):
        rows = np.loadtxt(path, dtype=str)
        self.paths = [os.path.join(root, name) for name in rows[:, 0]]  # expect
        self.times = rows[:, 1].astype(float)
        self.poses = np.genfromtxt(path)[:, 2:]

    def __getitem__(self, index):
        return self.paths[index], self.times[index], self.poses[index]


class FirstOfAFolder(ImageFolder):
    def __init__(self, root, count):
        super().__init__(root)
        self.samples = self.samples[:count]  # expect

    def __getitem__(self, index):
        path, target = self.samples[index]
        return self.loader(path), target


class RecordsOfAFolder(ImageFolder):
    def __init__(self, root):
        super().__init__(root)
        self.samples = [[*one, Path(one[0]).with_suffix(".npy"), None] for one in self.samples]  # expect

    def __getitem__(self, index):
        return self.samples[index]


class FolderAsArrays(ImageFolder):
    def __init__(self, root):
        super().__init__(root)
        self.samples = np.array(self.samples)
        self.paths = self.samples[:, 0]
        self.classes = sorted(self.classes)

    def __getitem__(self, index):
        return self.paths[index], self.samples[index], self.classes[index]


class AnnotatedImages(CocoDetection):
    def __init__(self, root, index):
        super().__init__(root, index)
        self.ids = sorted(self.ids)
        annotated = []  # the list that is kept is told where it is stored
        for number in self.ids:
            if self.coco.getAnnIds(imgIds=number):
                annotated.append(number)
        self.ids = annotated  # expect

    def __getitem__(self, index):
        return self._load_image(self.ids[index])


class OfAnotherFolder(Dataset):
    def __init__(self, root):
        self.files = [path for path, _ in ImageFolder(root).samples]  # expect
        self.targets = torch.tensor([target for _, target in ImageFolder(root).samples])

    def __getitem__(self, index):
        return self.files[index], self.targets[index]


# --- keys, each of which is a sample ----------------------------------------------------------------


class CountedKeys(Dataset):
    def __init__(self, features):
        self.features = features
        self.keys = sorted(features.keys())  # expect

    def __len__(self):
        return len(self.keys)

    def __getitem__(self, index):
        return self.features[self.keys[index]]


class FilteredKeys(Dataset):
    def __init__(self, path, longest):
        reader = kaldiio.load_scp(path)
        keys = list(reader.keys())
        if longest:
            keys = [keys[index] for index in range(len(keys)) if len(reader[keys[index]]) <= longest]
        self.keys = keys  # expect

    def __len__(self):
        return len(self.keys)

    def __getitem__(self, index):
        return self.keys[index]


class KeysThatAreNotTheSamples(Dataset):
    def __init__(self, features, labels):
        self.features = features
        self.parts = list(features.keys())
        self.labels = labels

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.parts[index % len(self.parts)], self.labels[index]


class CountedUnknown(Dataset):
    def __init__(self, features):
        self.rows = list(features.values())
        self.few = list({"left": 0, "right": 1}.keys())

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]


class AFewKeys(Dataset):
    def __init__(self):
        self.sides = sorted({"left": 0, "right": 1}.keys())

    def __len__(self):
        return len(self.sides)

    def __getitem__(self, index):
        return self.sides[index]


class ColumnsReadWhole(Dataset):
    """Each of a few columns is indexed by the sample, not the list of them."""

    def __init__(self, path):
        with open(path) as file:
            self.columns = [json.loads(line) for line in file]

    def __len__(self):
        return len(self.columns[0])

    def __getitem__(self, index):
        return [column[index] for column in self.columns]


class RecordsOfATable(Dataset):
    def __init__(self, path):
        self.rows = pd.read_csv(path).to_dict("records")  # expect

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]["text"]


class ColumnsOfATable(Dataset):
    def __init__(self, path):
        self.rows = pd.read_csv(path).to_numpy(dtype="float32")

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]
