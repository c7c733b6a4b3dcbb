import copy
import csv
import json
import os
import pickle
from collections import OrderedDict
from pathlib import Path

import numpy as np
import soundfile
import torch
from PIL import Image
from torch.utils.data import Dataset


# --- dear at any number ---------------------------------------------------------------------------


class Words(Dataset):
    """100,000 samples."""

    def __init__(self, path):
        with open(path) as file:
            self.sentences = [line.split() for line in file]  # expect

    def __getitem__(self, index):
        return len(self.sentences[index])


class Tokens(Dataset):
    """100,000 samples."""

    def __init__(self, path, tokenizer):
        self.tokens = []  # expect
        self.bytes = []  # expect advice
        with open(path) as file:
            for line in file:
                self.tokens.append(tokenizer.encode(line))
                self.bytes.append(line.encode("utf-8"))

    def __getitem__(self, index):
        return torch.tensor(self.tokens[index]), self.bytes[index]


class Boxes(Dataset):
    """100,000 samples."""

    def __init__(self, path):
        self.images = []  # expect advice
        self.boxes = []  # expect
        for line in open(path).readlines():
            name, *rest = line.split()
            boxes = []
            for text in rest:
                boxes.append([int(number) for number in text.split(",")])
            self.images.append(name)
            self.boxes.append(boxes)

    def __getitem__(self, index):
        return Image.open(self.images[index]), np.array(self.boxes[index])


class Records(Dataset):
    """100,000 samples."""

    def __init__(self, path):
        self.records = []  # expect
        for line in open(path):
            name, *boxes = line.split()
            self.records.append({"name": name, "boxes": [int(box) for box in boxes]})

    def __getitem__(self, index):
        record = self.records[index]
        return record["name"], record["boxes"]


class Unpickled(Dataset):
    """100,000 samples."""

    def __init__(self, paths):
        self.infos = []  # expect
        for path in paths:
            with open(path, "rb") as file:
                infos = pickle.load(file)
            self.infos.extend(infos)

    def __getitem__(self, index):
        info = copy.deepcopy(self.infos[index])
        return info["points"]


class Parsed(Dataset):
    """100,000 samples."""

    def __init__(self, path):
        self.entries = json.loads(Path(path).read_text())  # expect

    def __getitem__(self, index):
        return self.fetch(self.entries[index])

    def fetch(self, entry):
        return Image.open(entry["path"]), [box for box in entry["boxes"]]


class Captions(Dataset):
    """100,000 samples."""

    def __init__(self, path, lengths):
        with open(path) as file:
            self.captions = json.load(file)  # expect
        with open(lengths) as file:
            self.lengths = json.load(file)  # expect advice

    def __getitem__(self, index):
        return torch.LongTensor(self.captions[index]), torch.LongTensor([self.lengths[index]])


class Frames(Dataset):
    """100,000 samples."""

    def __init__(self, root):
        self.clips = []  # expect
        for folder in os.listdir(root):
            self.clips.append(sorted(os.listdir(os.path.join(root, folder))))

    def __getitem__(self, index):
        return [Image.open(frame) for frame in self.clips[index]]


class Neighbours(Dataset):
    """As many neighbours for each frame as the options say. 100,000 samples."""

    def __init__(self, root, length=3):
        self.samples = []  # expect advice
        self.lists = []  # expect advice
        self.chosen = [[name + kind for kind in ("a", "b")] for name in os.listdir(root)]  # expect advice
        half = (length - 1) // 2
        shifts = list(range(-half, half + 1))
        shifts.pop(half)
        for folder in os.listdir(root):
            frames = sorted(os.listdir(folder))
            for number in range(half, len(frames) - half):
                sample = {"frame": frames[number], "others": []}
                others = []
                for shift in shifts:
                    sample["others"].append(frames[number + shift])
                    others.append(frames[number + shift])
                self.samples.append(sample)
                self.lists.append(others)

    def __getitem__(self, index):
        return self.samples[index], self.lists[index], self.chosen[index]


class Neighbourhoods(Dataset):
    """As many as there are, or as many as the record says. 100,000 samples."""

    def __init__(self, root):
        self.samples = []  # expect
        self.lists = []  # expect advice
        self.numbers = []  # expect advice
        self.waited = []  # expect advice
        for folder in os.listdir(root):
            frames = sorted(os.listdir(folder))
            for frame in frames:
                sample = {"frame": frame, "others": []}
                others = []
                for other in frames:
                    sample["others"].append(other + frame)
                for other in open(frame):
                    others.append(other)
                size = os.path.getsize(frame)
                waited = []
                while size:
                    waited.append(size)
                    size -= 1000
                self.samples.append(sample)
                self.lists.append(others)
                self.numbers.append(list(range(os.path.getsize(frame))))
                self.waited.append(waited)

    def __getitem__(self, index):
        return self.samples[index], self.lists[index], self.numbers[index], self.waited[index]


class Broad(Dataset):
    """A record of ten texts takes more than 1 kB. 100,000 samples."""

    def __init__(self, root):
        self.samples = []  # expect
        self.fewer = []  # expect advice
        for name in os.listdir(root):
            a, b, c, d, e = (f"{root}/{kind}/{name}" for kind in ("image", "depth", "mask", "flow", "text"))
            self.samples.append((name, a, b, c, d, e, a + ".0", b + ".0", c + ".0"))
            self.fewer.append((name, a, b, c))

    def __getitem__(self, index):
        return self.samples[index], self.fewer[index]


class Numbered(Dataset):
    """The code says how many. 100,000 samples."""

    def __init__(self):
        self.pairs = [(number, -number) for number in range(5_000_000)]  # expect advice
        self.grid = []  # expect
        for row in range(0, 200_000):
            for column in range(50):
                self.grid.append(row * column)
        self.rows = [number * number for number in range(200_000)]  # expect advice
        self.few = [number * number for number in range(5_000)]
        self.many = np.array([number * number for number in range(5_000_000)])

    def __getitem__(self, index):
        return self.pairs[index], self.grid[index], self.rows[index], self.few[index], self.many[index]


class InOneOfTwo(Dataset):
    """100,000 samples."""

    def __init__(self, path):
        self.coco = json.load(open(path))  # expect
        self.coco["images"] = sorted(self.coco["images"], key=len)
        self.other = json.load(open(path))  # expect advice

    def __getitem__(self, index):
        found = self.coco["annotations"][index] if "annotations" in self.coco else self.coco["images"][index]
        name = "yes" if self.other["flags"][index] else "no"
        return [segment["id"] for segment in found["segments"]], name


# --- of unknown size ------------------------------------------------------------------------------


class Paths(Dataset):
    """100,000 samples."""

    def __init__(self, root):
        self.paths = sorted(Path(root).glob("*.png"))  # expect advice
        self.sizes = [path.stat().st_size for path in self.paths]  # expect advice

    def __getitem__(self, index):
        return Image.open(self.paths[index]), self.sizes[index]


class Listed(Dataset):
    """A record of three texts for each line of a list. 100,000 samples."""

    def __init__(self, root, names):
        self.files = []  # expect advice
        for name in [line.strip() for line in open(names)]:
            image = os.path.join(root, name.split()[0])
            label = os.path.join(root, name.split()[1])
            self.files.append({"image": image, "label": label, "name": name})

    def __getitem__(self, index):
        file = self.files[index]
        return Image.open(file["image"]), Image.open(file["label"]), file["name"]


class Columns(Dataset):
    """Lines of no more words than are unpacked, and rows of a table. 100,000 samples."""

    def __init__(self, path, table):
        with open(path) as file:
            self.pairs = [line.split() for line in file]  # expect advice
            self.texts = [line.split("|") for line in file]  # expect advice
        with open(table) as file:
            self.rows = list(csv.reader(file))  # expect advice

    def __getitem__(self, index):
        audio, text = self.pairs[index]
        return audio, text, self.texts[index], self.rows[index][-1]


class Names(Dataset):
    """Parsed, but texts. 100,000 samples."""

    def __init__(self, path, root):
        self.root = root
        with open(path) as file:
            self.names = json.load(file)  # expect advice
        with open(path) as file:
            self.paths = [entry["path"] for entry in json.load(file)]  # expect advice

    def __getitem__(self, index):
        return Image.open(os.path.join(self.root, self.names[index])), Image.open(self.paths[index])


class OfFolders(Dataset):
    """Flat lists, one for each of some keys. 100,000 samples."""

    def __init__(self, lists, root):
        self.paths = OrderedDict()  # expect advice
        self.files = OrderedDict()  # expect advice
        self.boxes = OrderedDict()  # expect
        self.words = OrderedDict()  # expect advice
        self.order = json.load(open(root))  # expect advice
        for key, path in json.load(open(lists)).items():
            self.paths[key] = open(path).readlines()
            self.paths[key] = [os.path.join(root, line.strip()) for line in self.paths[key]]
            self.files[key] = [os.path.basename(line) for line in open(path)]
            self.boxes[key] = [[float(number) for number in line.split()] for line in open(path)]
            self.words[key] = [line.strip() for line in open(path)]

    def __getitem__(self, index):
        for key, start in self.starts.items():
            if index >= start:
                folder, first = key, start
        path = self.paths[folder][index - first]
        key, number = self.order[index]
        words = [self.words[key][place] for place in range(len(self.words[key]))]
        return path, self.files[key][number], self.boxes[folder][index - first], words


# --- beside what is decoded -----------------------------------------------------------------------


class Scene(Dataset):
    """Its training keeps all the images that the records name. 100,000 samples."""

    def __init__(self, path, split, transform):
        self.split = split
        self.transform = transform
        self.rays = []
        self.read(path)

    def read(self, path):
        self.meta = json.load(open(path))  # expect advice
        if self.split == "train":
            for frame in self.meta["frames"]:
                image = Image.open(frame["path"])
                image = image.resize((400, 400))
                image = self.transform(image).view(4, -1).permute(1, 0)
                image = image[:, :3] * image[:, -1:] + (1 - image[:, -1:])
                self.rays += [image]
            self.rays = torch.cat(self.rays, 0)

    def __getitem__(self, index):
        if self.split == "train":
            return self.rays[0]
        return [row for row in self.meta["frames"][index]["matrix"]]


class SceneOfArrays(Scene):
    """100,000 samples."""

    def read(self, path):
        self.meta = json.load(open(path))  # expect advice
        self.rays = [np.asarray(np.load(self.meta["frames"][n]["path"])) for n in range(len(self.meta["frames"]))]


class Tested(Scene):
    """Training has no images of these. 100,000 samples."""

    def read(self, path):
        self.meta = json.load(open(path))  # expect
        if self.split != "train":
            for frame in self.meta["frames"]:
                self.rays += [self.transform(Image.open(frame["path"]))]


class Cached(Scene):
    """Images are kept where somebody asks for it. 100,000 samples."""

    def read(self, path, cached=False):
        self.meta = json.load(open(path))  # expect
        if cached:
            for frame in self.meta["frames"]:
                self.rays += [self.transform(Image.open(frame["path"]))]


class Measured(Scene):
    """Of each image no more than its size is kept, and of each record a matrix. 100,000 samples."""

    def read(self, path):
        self.meta = json.load(open(path))  # expect
        for frame in self.meta["frames"]:
            image = Image.open(frame["path"])
            width, height = image.size
            self.rays += [image.size]
            self.rays += [(width, height, np.array(image).mean())]
            self.rays.append(np.array(frame["matrix"]))


class Sounds(Scene):
    """100,000 samples."""

    def read(self, path):
        self.meta = json.load(open(path))  # expect advice
        for frame in self.meta["frames"]:
            sound, rate = soundfile.read(frame["path"])
            self.rays.append((sound, rate))


class Rates(Scene):
    """100,000 samples."""

    def read(self, path):
        self.meta = json.load(open(path))  # expect
        for frame in self.meta["frames"]:
            sound, rate = soundfile.read(frame["path"])
            self.rays.append(rate)


class OfOthers(Scene):
    """Images, but of other things than the records. 100,000 samples."""

    def read(self, path, logos):
        self.meta = json.load(open(path))  # expect
        for logo in logos:
            self.rays += [self.transform(Image.open(logo))]


class Lazily(Scene):
    """Images are kept as they come. 100,000 samples."""

    def read(self, path):
        self.meta = json.load(open(path))  # expect

    def __getitem__(self, index):
        for frame in self.meta["frames"]:
            self.rays += [self.transform(Image.open(frame["path"]))]
        return [row for row in self.meta["frames"][index]["matrix"]]


# --- few, or without reference counts -------------------------------------------------------------


class Arrays(Dataset):
    def __init__(self, path):
        with open(path) as file:
            records = [json.dumps(record).encode() for record in json.load(file)]
        self.ends = np.cumsum([len(record) for record in records])
        self.records = np.frombuffer(b"".join(records), dtype=np.uint8)

    def __getitem__(self, index):
        start = self.ends[index - 1] if index else 0
        return json.loads(self.records[start : self.ends[index]].tobytes())


class Splits(Dataset):
    def __init__(self, path):
        with open(path) as file:
            self.entries = json.load(file)["train"]["count"]
        self.seeds = [number for number in range(99_999)]

    def __len__(self):
        return self.entries

    def __getitem__(self, index):
        return self.seeds[index]


class Batches(Dataset):
    """Each entry of one list once, some at a time: in all no more than the list. 100,000 samples."""

    def __init__(self, path, size):
        entries = sorted(json.load(open(path)), key=len)
        batches, own, windows = [], [], []
        start = 0
        while start < len(entries):
            end = start
            part, others, window = [], [], []
            while len(part) < size and end < len(entries):
                part.append(entries[end])
                end += 1
            lines = sorted(open(entries[start]).readlines())
            number = start
            while number < len(lines):
                others.append(lines[number])
                number += 1
            back = 0
            while back < size:
                window.append(entries[back])
                back += 1
            batches.append([part, size])
            own.append([others, size])
            windows.append([window, size])
            start = end
        self.batches = batches  # expect advice
        self.own = own  # expect
        self.windows = windows  # expect advice

    def __getitem__(self, index):
        return self.batches[index], self.own[index], self.windows[index]
