"""How many samples there are is told by the words of a class, if at all; nothing here says how many workers."""

import json

import torch
from PIL import Image
from torch.utils.data import Dataset


class Small(Dataset):
    """A set of poses (11,000 train, 1000 test)."""

    def __init__(self, path):
        self.poses = json.load(open(path))  # expect advice

    def __getitem__(self, index):
        pose = self.poses[index]
        return Image.open(pose["path"]), torch.Tensor(pose["joints"])


class SmallButWide(Dataset):
    """60k images, each with a list of boxes."""

    def __init__(self, path):
        self.entries = json.load(open(path))  # expect

    def __getitem__(self, index):
        return torch.tensor(self.entries[index]["boxes"])


class NobodySays(Dataset):
    """Poses with joints, which may be very many: see 3 papers and the year 2014."""

    def __init__(self, path):
        self.poses = json.load(open(path))  # expect advice

    def __getitem__(self, index):
        return torch.Tensor(self.poses[index]["joints"])


class OfSound(Dataset):
    """Notes, each with 100 samples at a sampling rate of 16 kHz."""

    def __init__(self, path):
        self.notes = json.load(open(path))  # expect advice

    def __getitem__(self, index):
        return torch.tensor(self.notes[index]["pitches"])


# --- records of which nobody knows what is in them ------------------------------------------------


class Untold(Dataset):
    def __init__(self, path, transform):
        self.entries = json.load(open(path))  # expect advice
        self.transform = transform

    def __getitem__(self, index):
        return self.transform(self.entries[index]["target"])


class UntoldOfMany(Dataset):
    """1,281,167 images."""

    def __init__(self, path, transform):
        self.entries = json.load(open(path))  # expect
        self.transform = transform

    def __getitem__(self, index):
        return self.transform(self.entries[index]["target"])


class UntoldOfPublic(Dataset):
    def __init__(self, root, transform):
        self.entries = json.load(open(root + "/coco/index.json"))  # expect
        self.transform = transform

    def __getitem__(self, index):
        return self.transform(self.entries[index]["target"])


class PascalVOCBoxes(Dataset):
    def __init__(self, path, transform):
        self.entries = json.load(open(path))  # expect advice
        self.transform = transform

    def __getitem__(self, index):
        return self.transform(list(self.entries[index]["boxes"]))


class MpiiFromCoco(Dataset):
    """Persons in the images of COCO, as MPII lists them. 100,000 samples."""

    def __init__(self, path, transform):
        self.entries = json.load(open(path))  # expect
        self.transform = transform

    def __getitem__(self, index):
        return self.transform(list(self.entries[index]["boxes"]))


class InTheWayOfAnother(Dataset):
    """Boxes, in folders as those of PascalVOC and CamVid."""

    def __init__(self, path, transform):
        self.entries = json.load(open(path))  # expect advice
        self.transform = transform

    def __getitem__(self, index):
        return self.transform(list(self.entries[index]["boxes"]))


class OnlyInItsFormat(Dataset):
    """50,000 samples."""

    def __init__(self, path, transform):
        self.entries = json.load(open(path))  # expect advice
        self.transform = transform
        self.kind = "coco-format"

    def __getitem__(self, index):
        return self.transform(self.entries[index]["target"])


class NamedForMany(Dataset):
    """100,000 samples."""

    def __init__(self, path, transform):
        self.entries = json.load(open(path))  # expect
        self.transform = transform

    def __getitem__(self, index):
        return self.transform(self.entries[index]["captions"])


class GoneThroughElsewhere(Dataset):
    """What a record holds is seen where all are gone through. 100,000 samples."""

    def __init__(self, path, transform):
        self.entries = json.load(open(path))  # expect
        self.transform = transform

    def names(self):
        return {name for _, entry in enumerate(self.entries) for name in entry["who"]}

    def counts(self):
        found = []
        for entry in self.entries:
            found.append(len([one for one in entry["who"]]))
        return found

    def __getitem__(self, index):
        return self.transform(self.entries[index])


class GoneThroughForOneText(Dataset):
    """100,000 samples."""

    def __init__(self, path, transform):
        self.entries = json.load(open(path))  # expect advice
        self.transform = transform

    def texts(self):
        found = []
        for number, entry in enumerate(self.entries):
            found.append(str(number) + entry["text"])
        return found

    def __getitem__(self, index):
        return self.transform(self.entries[index])


class InEitherBranch(Dataset):
    """One attribute, of which one finding is enough; the other place is advice. 100,000 samples."""

    def __init__(self, path, whole):
        entries = json.load(open(path))
        if whole:
            self.entries = [entry for entry in entries]  # expect
        else:
            self.entries = [entry for entry in entries if entry["clear"]]  # expect advice

    def __getitem__(self, index):
        return torch.tensor(self.entries[index]["boxes"])
