import torch
from torch.utils.data import Dataset

from masks.sample import Masks
from masks.training.loading import make_loader


class Sparse(Masks):
    def __call__(self, shape):
        return torch.from_numpy(self.rng.random(shape))


class Slices(Dataset):
    def __init__(self, count):
        self.count = count
        self.masks = Sparse()

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return self.masks((8, 8))


def main():
    for batch in make_loader(Slices(100)):
        print(batch)
