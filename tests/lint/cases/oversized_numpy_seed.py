import random

import numpy
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, get_worker_info


def directly(worker_id):
    np.random.seed(torch.initial_seed())  # expect
    random.seed(torch.initial_seed())
    torch.manual_seed(torch.initial_seed())


def through_a_name(worker_id):
    seed = torch.initial_seed()
    numpy.random.seed(seed)  # expect


def of_worker_info(worker_id):
    info = get_worker_info()
    np.random.seed(info.seed)  # expect
    np.random.seed(get_worker_info().seed + worker_id)  # expect


class Lazy(Dataset):
    seeded = False

    def __getitem__(self, index):
        if not self.seeded:
            np.random.seed(torch.utils.data.get_worker_info().seed)  # expect
            self.seeded = True
        return np.random.rand()


# --- silent ----------------------------------------------------------------------------


def cut(worker_id):
    np.random.seed(torch.initial_seed() % 2**32)
    np.random.seed(torch.initial_seed() & 0xFFFFFFFF)
    np.random.seed((torch.initial_seed() + worker_id) % (2**32 - 1))


def cut_on_the_way(worker_id):
    seed = torch.initial_seed()
    seed = seed % 2**31
    np.random.seed(seed)
    base = torch.initial_seed() % 2**30
    np.random.seed(base + worker_id)


def small(worker_id):
    np.random.seed(worker_id)
    np.random.seed(get_worker_info().id)


def in_main():
    torch.manual_seed(7)
    np.random.seed(torch.initial_seed())


def loaders(dataset):
    in_main()
    for start in (directly, through_a_name, of_worker_info, cut, cut_on_the_way, small):
        yield DataLoader(dataset, num_workers=2, worker_init_fn=start)
    yield DataLoader(Lazy(), num_workers=2)
