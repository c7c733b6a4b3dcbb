"""A data set for validation alone, and one for both."""

import glob

from PIL import Image
from torch.utils.data import DataLoader, Dataset


class Held(Dataset):
    def __init__(self, folder):
        self.paths = glob.glob(folder)  # expect advice

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        return Image.open(self.paths[index])


class Photos(Dataset):
    def __init__(self, folder):
        self.paths = glob.glob(folder)  # expect

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        return Image.open(self.paths[index])


def main(model):
    train_loader = DataLoader(Photos("train/*.jpg"), batch_size=8, shuffle=True, num_workers=4)
    val_loader = DataLoader(Held("val/*.jpg"), batch_size=8, num_workers=4)
    test_loader = DataLoader(Photos("test/*.jpg"), batch_size=8, num_workers=4)
    for images in train_loader:
        model(images).backward()
    for images in (*val_loader, *test_loader):
        model(images)
