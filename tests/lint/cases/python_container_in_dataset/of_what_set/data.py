"""What data set a class is of is told by its name, by the texts in it, or where its objects are made."""

import json
import os

import numpy as np
import torch
from torch.utils.data import Dataset


class Records(Dataset):
    def __init__(self, path):
        self.entries = json.load(open(path))  # expect

    def __getitem__(self, index):
        return torch.tensor(self.entries[index]["boxes"])


class OtherRecords(Dataset):
    """As they are, pretrained on ImageNet or not; ``self.api`` is what `coco.loadAnns` gives."""

    def __init__(self, path):
        # self.entries = json.load(open("coco/instances_train2017.json"))
        self.entries = json.load(open(path))  # expect advice

    def __getitem__(self, index):
        return torch.tensor(self.entries[index]["boxes"])


class AnyOfSeveral(Dataset):
    def __init__(self, path):
        if os.path.basename(os.path.dirname(path)) in ["mvtec", "coco", 'visa']:
            self.entries = json.load(open(path))  # expect advice

    def __getitem__(self, index):
        return torch.tensor(self.entries[index]["boxes"])


class ForAnOption(Dataset):
    def __init__(self, path):
        self.entries = json.load(open(path))  # expect

    def __getitem__(self, index):
        return torch.tensor(self.entries[index]["boxes"])


class ForAnotherOption(Dataset):
    def __init__(self, path):
        self.entries = json.load(open(path))  # expect advice

    def __getitem__(self, index):
        return torch.tensor(self.entries[index]["boxes"])


class MiniImageNetBoxes(Dataset):
    def __init__(self, path):
        self.entries = json.load(open(path))  # expect advice

    def __getitem__(self, index):
        return torch.tensor(self.entries[index]["boxes"])


class SyntheticCocoBoxes(Dataset):
    def __init__(self, path):
        self.entries = json.load(open(path))  # expect advice

    def __getitem__(self, index):
        return torch.tensor(self.entries[index]["boxes"])


class VisualGenomeBoxes(Dataset):
    def __init__(self, path):
        self.entries = json.load(open(path))  # expect

    def __getitem__(self, index):
        return torch.tensor(self.entries[index]["boxes"])


class ImageNetPaths(Dataset):
    def __init__(self, root):
        self.paths = [os.path.join(root, name) for name in os.listdir(root)]  # expect

    def __getitem__(self, index):
        return self.paths[index]


class ImageNetIndex(Dataset):
    """What the first run lists, the others read from an array."""

    def __init__(self, root, index):
        if os.path.exists(index):
            paths = np.load(index)["paths"]
        else:
            paths = [os.path.join(root, name) for name in os.listdir(root)]
        self.paths = paths  # expect advice

    def __getitem__(self, index):
        return self.paths[index]


def read_numbers(path):
    found = []
    for line in open(path):
        found.append(int(line))
    return found


class ImageNetNumbers(Dataset):
    """A number takes less than a text."""

    def __init__(self, path):
        self.numbers = read_numbers(path)  # expect advice

    def __getitem__(self, index):
        return self.numbers[index]


class ImageNetRepeated(Dataset):
    """One object, as often as there are images, is one object."""

    def __init__(self, root, effects, paths):
        self.paths = np.array(os.listdir(root))
        self.effects = [effects for _ in os.listdir(root)]
        self.zeros = [0 for _ in os.listdir(root)]

    def __getitem__(self, index):
        return self.paths[index], self.effects[index], self.zeros[index]


class ImageNetOrPairs(Dataset):
    """What is filled for one kind is not read for another."""

    def __init__(self, path, kind):
        self.kind = kind
        if kind == "pairs":
            self.samples = json.load(open(path))
        elif kind in ("boxes", "masks"):
            self.samples = json.load(open(path))  # expect

    def __getitem__(self, index):
        if self.kind == "boxes":
            return torch.tensor(self.samples[index]["boxes"])
        return None


class Conversations(Dataset):
    """Whose images those are, and how they are normalised, tells not how many records there are."""

    def __init__(self, path, normalize_type="imagenet", pretrained: str = "imagenet"):
        self.entries = json.load(open(path))  # expect advice
        self.kind = normalize_type == "imagenet", pretrained

    def __getitem__(self, index):
        return "COCO_train2014_{}.jpg".format(self.entries[index]["id"])


class ImageNetV2(Dataset):
    """ImageNetV2 has 10,000 images in each of three parts, https://arxiv.org/abs/1902.10811, for models trained on ImageNet: imagenetv2-val."""

    def __init__(self, root):
        self.paths = list(os.listdir(root))  # expect advice

    def __getitem__(self, index):
        return self.paths[index]


class KittiBoxes(Dataset):
    """A small set, by its name, whatever its code mentions."""

    def __init__(self, path="coco/boxes.json"):
        self.entries = json.load(open(path))  # expect advice

    def __getitem__(self, index):
        return torch.tensor(self.entries[index]["boxes"])


class AnyBoxes(Dataset):
    """As large as the smallest of those that derive from it."""

    def __init__(self, path):
        self.entries = json.load(open(path))  # expect advice

    def __getitem__(self, index):
        return torch.tensor(self.entries[index]["boxes"])


class CocoBoxes(AnyBoxes):
    pass


class UrbanBoxes(AnyBoxes):
    pass


class HeldBack(Dataset):
    def __init__(self, root="imagenet/val"):
        self.paths = list(os.listdir(root))  # expect advice

    def __getitem__(self, index):
        return self.paths[index]


class Distorted(Dataset):
    def __init__(self, root="data/imagenet_64_c"):
        self.paths = list(os.listdir(root))  # expect advice

    def __getitem__(self, index):
        return self.paths[index]


class LearntFrom(Dataset):
    def __init__(self, root="imagenet/train"):
        self.paths = list(os.listdir(root))  # expect

    def __getitem__(self, index):
        return self.paths[index]
