import random

import numpy as np
from torch.utils.data import DataLoader, Dataset


def seed_worker(worker_id):
    np.random.seed(np.random.get_state()[1][0] + worker_id)


def crop(sound, length):
    start = int(random.random() * (len(sound) - length))
    return sound[start : start + length]


class Sounds(Dataset):
    def __init__(self, paths):
        self.paths = np.array(paths)

    def __getitem__(self, index):
        return crop(np.load(self.paths[index]), 16_000)


def make_loader(paths):
    return DataLoader(Sounds(paths), num_workers=4, worker_init_fn=seed_worker)
