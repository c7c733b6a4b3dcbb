import zipfile

from torch.utils.data import DataLoader, Dataset


class Archived(Dataset):
    def __init__(self, path):
        self.path = path
        self.file = None
        self.names = self.archive().namelist()

    def archive(self):
        if self.file is None:
            self.file = zipfile.ZipFile(self.path)
        return self.file

    def __getstate__(self):
        return dict(self.__dict__, file=None)

    def __getitem__(self, index):
        return self.archive().read(self.names[index])


def make_loader(dataset, **options):
    return DataLoader(dataset, **options)
