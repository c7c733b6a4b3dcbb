import os

from torch.utils.data import DataLoader, Dataset


class Photos(Dataset):
    def __init__(self, root):
        self.paths = os.listdir(root)  # expect

    def __getitem__(self, index):
        return self.paths[index]


def make_loader(dataset, num_workers):
    return DataLoader(dataset, num_workers=num_workers)
