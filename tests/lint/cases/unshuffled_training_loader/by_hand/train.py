import random

from PIL import Image
from torch.utils.data import DataLoader, Dataset


class Photos(Dataset):
    def __init__(self, paths):
        self.paths = paths
        random.shuffle(self.paths)

    def __getitem__(self, index):
        return Image.open(self.paths[index])


def fit(model, paths, optimizer, epochs):
    loader = DataLoader(Photos(paths), batch_size=32, num_workers=4)
    for epoch in range(epochs):
        for batch in loader:
            model(batch).backward()
            optimizer.step()
