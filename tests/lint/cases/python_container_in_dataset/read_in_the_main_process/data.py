import glob

from torch.utils.data import Dataset


class Spectra(Dataset):
    def __init__(self, folder):
        self.paths = glob.glob(folder + "/*.npy")

    def __getitem__(self, index):
        return self.paths[index]

    def __len__(self):
        return len(self.paths)


class Waves(Dataset):
    def __init__(self, folder):
        self.paths = glob.glob(folder + "/*.wav")  # expect

    def __getitem__(self, index):
        return self.paths[index]

    def __len__(self):
        return len(self.paths)


class Scores(Dataset):
    def __init__(self, folder):
        self.paths = glob.glob(folder + "/*.txt")  # expect

    def __getitem__(self, index):
        return self.paths[index]

    def __len__(self):
        return len(self.paths)


if __name__ == "__main__":
    for score in Scores("here"):
        print(score)
