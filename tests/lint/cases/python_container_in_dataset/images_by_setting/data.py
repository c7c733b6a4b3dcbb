"""Images are kept where a setting asks for that: there may be many samples."""

import glob

from PIL import Image
from torch.utils.data import DataLoader, Dataset


class Photos(Dataset):
    def __init__(self, folder, keep=False):
        self.paths = glob.glob(folder)  # expect
        self.images = [None] * len(self.paths)
        if keep:
            for at, path in enumerate(self.paths):
                self.images[at] = Image.open(path).convert("RGB")

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        return self.images[index] or Image.open(self.paths[index])


def make_loader(folder, keep):
    return DataLoader(Photos(folder, keep), batch_size=8, num_workers=4)
