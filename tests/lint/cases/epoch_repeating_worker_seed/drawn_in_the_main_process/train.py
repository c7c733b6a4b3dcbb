import numpy as np
from torch.utils.data import DataLoader, Dataset


def seed_worker(worker_id):
    np.random.seed(np.random.get_state()[1][0] + worker_id)


class Sounds(Dataset):
    def __init__(self, paths):
        self.paths = np.array(paths)

    def __getitem__(self, index):
        return np.load(self.paths[index])


def train(model, paths, epochs):
    np.random.seed(0)
    paths = np.array(paths)[np.random.permutation(len(paths))]
    loader = DataLoader(Sounds(paths), num_workers=4, worker_init_fn=seed_worker)
    for _ in range(epochs):
        for batch in loader:
            model(batch).backward()
