import h5py
from torch.utils.data import Dataset


class Volumes(Dataset):
    def __init__(self, path):
        self.file = h5py.File(path, "r")

    def __len__(self):
        return len(self.file["images"])

    def __getitem__(self, index):
        return self.file["images"][index]


class Loaded(Dataset):
    def __init__(self, path):
        self.file = h5py.File(path, "r")  # expect

    def __len__(self):
        return len(self.file["images"])

    def __getitem__(self, index):
        return self.file["images"][index]
