import argparse

from torch.utils.data import DataLoader, Dataset


class Photos(Dataset):
    def __init__(self, folder):
        self.folder = folder

    def __getitem__(self, index):
        return index


parser = argparse.ArgumentParser()
parser.add_argument("--folder", default="/data/ann/photos")
folder = parser.parse_args().folder
loader = DataLoader(Photos(folder), num_workers=2)
for epoch in range(3):
    batches = iter(loader)  # expect advice
    for _ in range(len(loader)):
        print(batches.next())
