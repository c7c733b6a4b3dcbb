import numpy as np
from torch.utils.data import DataLoader, Dataset


def seed_worker(worker_id):
    np.random.seed(np.random.get_state()[1][0] + worker_id)  # expect


class Shift:
    def __call__(self, sound):
        return np.roll(sound, np.random.randint(len(sound)))


class Sounds(Dataset):
    def __init__(self, paths, transform):
        self.paths = np.array(paths)
        self.transform = transform

    def __getitem__(self, index):
        return self.transform(np.load(self.paths[index]))


def make_loader(paths, transform):
    return DataLoader(Sounds(paths, transform), num_workers=4, worker_init_fn=seed_worker)
