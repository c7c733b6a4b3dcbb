import random

import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset


class Photos(Dataset):
    def __init__(self, paths):
        self.paths = paths

    def __getitem__(self, index):
        return Image.open(self.paths[index])


class Contrasts(Dataset):
    """Another dataset, which draws its negatives."""

    def __init__(self, paths, negatives):
        self.paths = paths
        random.shuffle(negatives)

    def __getitem__(self, index):
        return Image.open(self.paths[index])


class Shuffled(Photos):
    def __init__(self, paths):
        super().__init__(random.sample(paths, len(paths)))


def mixed(images):
    return images + images[torch.randperm(len(images))]


def fit(model, paths, optimizer, epochs):
    loader = DataLoader(Photos(paths), batch_size=32, num_workers=4)  # expect
    for epoch in range(epochs):
        for batch in loader:
            model(mixed(batch), batch[torch.randperm(len(batch))]).backward()
            optimizer.step()


def fit_contrasts(model, paths, optimizer, epochs):
    loader = DataLoader(Contrasts(paths, list(paths)), batch_size=32, num_workers=4)
    for epoch in range(epochs):
        for batch in loader:
            model(batch).backward()
            optimizer.step()


def fit_shuffled(model, paths, optimizer, epochs):
    loader = DataLoader(Shuffled(paths), batch_size=32, num_workers=4)
    for epoch in range(epochs):
        for batch in loader:
            model(batch).backward()
            optimizer.step()
