from torch.utils.data import Dataset


class Rows(Dataset):
    def __init__(self, path):
        self.rows = open(path).readlines()

    def __iter__(self):
        return self

    def __getitem__(self, index):
        return self.rows[index]


class Kept(Dataset):
    def __init__(self, path):
        self.rows = open(path).readlines()  # expect advice

    def __getitem__(self, index):
        return self.rows[index]
