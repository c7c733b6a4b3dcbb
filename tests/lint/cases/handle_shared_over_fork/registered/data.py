import h5py
from torch.utils.data import Dataset

from registry import DATASETS, PREVIEWS


@DATASETS.register()
class Rows(Dataset):
    def __init__(self, path):
        self.file = h5py.File(path)  # expect

    def __getitem__(self, index):
        return self.file["rows"][index]


@DATASETS.register("columns")
class Columns(Dataset):
    def __init__(self, path):
        self.file = h5py.File(path)  # expect

    def __getitem__(self, index):
        return self.file["columns"][index]


@PREVIEWS.register()
class Preview(Dataset):
    def __init__(self, path):
        self.file = h5py.File(path)

    def __getitem__(self, index):
        return self.file["rows"][index]


@PREVIEWS.register(name="other")
class OtherPreview(Dataset):
    def __init__(self, path):
        self.file = h5py.File(path)

    def __getitem__(self, index):
        return self.file["rows"][index]
