"""A script that goes over its data once, and one that trains on them."""

import glob

from PIL import Image
from torch.utils.data import DataLoader, Dataset


class Unlabelled(Dataset):
    def __init__(self, folder):
        self.paths = glob.glob(folder)  # expect advice

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        return Image.open(self.paths[index])


class Trained(Dataset):
    def __init__(self, folder):
        self.paths = glob.glob(folder)  # expect

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        return Image.open(self.paths[index])


class Repeated(Dataset):
    def __init__(self, folder):
        self.paths = glob.glob(folder)  # expect

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        return Image.open(self.paths[index])


def extract(model, folder):
    for images in DataLoader(Unlabelled(folder), batch_size=8, num_workers=4):
        print(model(images))


def train_once(model, folder, optimizer):
    for images in DataLoader(Trained(folder), batch_size=8, num_workers=4):
        model(images).backward()
        optimizer.step()


def go_over_again(model, folder, rounds):
    batches = DataLoader(Repeated(folder), batch_size=8, num_workers=4)
    for _ in range(rounds):
        for images in batches:
            print(model(images))
