"""There are no workers unless a user asks for some."""

import argparse

import glob

from PIL import Image
from torch.utils.data import DataLoader, Dataset


class Photos(Dataset):
    def __init__(self, folder):
        self.paths = glob.glob(folder)  # expect advice

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        return Image.open(self.paths[index])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=0)
    args = parser.parse_args()
    return DataLoader(Photos("photos/*.jpg"), batch_size=64, num_workers=args.workers)
