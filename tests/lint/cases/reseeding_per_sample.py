import random

import numpy as np
import torch
from torch.utils.data import Dataset, IterableDataset, get_worker_info


class EverySample(Dataset):
    def __getitem__(self, index):
        random.seed(get_worker_info().seed)  # expect
        return random.random()


class ThroughAMethod(Dataset):
    def __getitem__(self, index):
        self.reseed()
        return np.random.rand()

    def reseed(self):
        info = get_worker_info()
        if info is not None:
            np.random.seed(info.seed % 2**32)  # expect


class FromTorch(Dataset):
    def __getitem__(self, index):
        torch.manual_seed(torch.initial_seed())  # expect
        return torch.rand(())


# --- silent ----------------------------------------------------------------------------


class Once(Dataset):
    def __init__(self):
        self.seeded = False

    def __getitem__(self, index):
        if not self.seeded:
            random.seed(get_worker_info().seed)
            self.seeded = True
        return random.random()


class FromTheIndex(Dataset):
    def __getitem__(self, index):
        random.seed(index)
        np.random.seed((get_worker_info().seed + index) % 2**32)
        return random.random()


class SameForImageAndMask(Dataset):
    def __getitem__(self, index):
        seed = np.random.randint(2**31)
        random.seed(seed)
        image = random.random()
        random.seed(seed)
        return image, random.random()


class PerEpoch(IterableDataset):
    def __iter__(self):
        random.seed(get_worker_info().seed)
        yield random.random()


class Plain:
    def __getitem__(self, index):
        random.seed(get_worker_info().seed)
        return random.random()


class Own(Dataset):
    def __getitem__(self, index):
        rng = random.Random(get_worker_info().seed + index)
        return rng.random()


SEED = 7


class WithAConstant(Dataset):
    def __getitem__(self, index):
        np.random.seed(42)  # expect
        return np.random.rand()


class WithItsOwnConstant(Dataset):
    def __init__(self, names, seed=SEED):
        self.names = np.array(names)
        self.seed = seed

    def __getitem__(self, index):
        random.seed(SEED)  # expect
        torch.manual_seed(self.seed + 1)  # expect
        return random.random(), torch.rand(())


# --- silent ----------------------------------------------------------------------------


class AlikeInEvaluation(Dataset):
    def __init__(self, train):
        self.train = train

    def __getitem__(self, index):
        if not self.train:
            np.random.seed(0)
        return np.random.rand()


class LeavesThemAsTheyWere(Dataset):
    def __getitem__(self, index):
        before = random.getstate()
        random.seed(0)
        order = random.sample(range(100), 100)
        random.setstate(before)
        return order[index]


class Partitioned(Dataset):
    def __getitem__(self, index):
        np.random.seed(0)
        return np.random.permutation(100)[index]


class OfSubset(Dataset):
    def __init__(self, seed):
        self.seed = seed

    def __getitem__(self, index):
        torch.manual_seed(self.seed + index)
        return torch.rand(())


class AtTheFirstOfAnEpoch(Dataset):
    def __getitem__(self, index):
        if index == 0:
            self.restart(7)
        return np.random.rand()

    def restart(self, seed):
        np.random.seed(seed)
