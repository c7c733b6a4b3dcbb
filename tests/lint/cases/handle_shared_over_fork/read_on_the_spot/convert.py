import numpy as np
from data import Loaded, Volumes
from torch.utils.data import DataLoader


def convert(path):
    for number, volume in enumerate(Volumes(path)):
        np.save(f"{number}.npy", volume)


def load(path):
    return DataLoader(Loaded(path), num_workers=4)
