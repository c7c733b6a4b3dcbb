import random
from random import Random

import numpy as np
import torch
from PIL import Image
from numpy.random import RandomState, default_rng
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info
from torchvision import transforms

RNG = np.random.default_rng(0)  # expect
UNUSED = np.random.default_rng(0)


class OnSelf(Dataset):
    def __init__(self, size):
        self.size = size
        self.rng = default_rng(7)  # expect

    def __getitem__(self, index):
        return index + self.rng.integers(self.size)


class Legacy(Dataset):
    def __init__(self):
        self.state = RandomState()  # expect

    def __getitem__(self, index):
        return self.crop(index)

    def crop(self, index):
        return index + self.state.randint(3)


class Python(Dataset):
    def __init__(self, rng=None):
        self.random = Random(1) if rng is None else rng  # expect

    def __getitem__(self, index):
        return index if self.random.random() < 0.5 else -index


class Aliased(Dataset):
    def __init__(self, deterministic):
        self.deterministic = deterministic
        self.generator = np.random.default_rng()  # expect

    def __getitem__(self, index):
        rng = np.random.default_rng(index) if self.deterministic else self.generator
        return rng.normal()


class OfTorch(Dataset):
    def __init__(self):
        self.gen = torch.Generator()  # expect

    def __getitem__(self, index):
        return torch.rand(2, generator=self.gen)


class OfModule(Dataset):
    def __getitem__(self, index):
        return RNG.normal()


class Flip:
    def __init__(self, p):
        self.p = p
        self._coin = random.Random()  # expect

    def __call__(self, image):
        return -image if self._coin.random() < self.p else image


class WithTransform(Dataset):
    def __init__(self):
        self.flip = Flip(0.5)

    def __getitem__(self, index):
        return self.flip(index)


class SameNameElsewhere:
    """What another class does to an attribute of the same name says nothing."""

    def restart(self):
        self.generator = np.random.default_rng(1)
        self.state.seed(1)


# --- silent ----------------------------------------------------------------------------


class Global(Dataset):
    def __getitem__(self, index):
        return np.random.rand() + random.random() + torch.rand(()).item()


class InTheConstructor(Dataset):
    def __init__(self, size):
        rng = np.random.default_rng(0)
        self.order = rng.permutation(size)
        self.split_rng = np.random.default_rng(1)
        self.split = self.split_rng.permutation(size)

    def __getitem__(self, index):
        return self.order[index]


class FromTheIndex(Dataset):
    def __init__(self, seed):
        self.seed = seed

    def __getitem__(self, index):
        rng = np.random.default_rng((self.seed, index))
        return rng.normal()


class ReseededPerSample(Dataset):
    def __init__(self):
        self.mask_rng = np.random.RandomState()

    def __getitem__(self, index):
        self.mask_rng.seed(index)
        return self.mask_rng.rand()


class RenewedPerEpoch(Dataset):
    def __init__(self):
        self.epoch_rng = np.random.default_rng(0)

    def set_epoch(self, epoch):
        self.epoch_rng = np.random.default_rng(epoch)

    def __getitem__(self, index):
        return self.epoch_rng.normal()


class RenewedByWorker(Dataset):
    def __init__(self):
        self.worker_rng = np.random.default_rng(0)

    def __getitem__(self, index):
        return self.worker_rng.normal()


def start(worker_id):
    info = get_worker_info()
    info.dataset.worker_rng = np.random.default_rng(info.seed)


class Lazy(Dataset):
    def __init__(self):
        self.lazy = None

    def __getitem__(self, index):
        if self.lazy is None:
            self.lazy = np.random.default_rng(torch.initial_seed())
        return self.lazy.normal()


class PerIteration(IterableDataset):
    def __iter__(self):
        rng = random.Random(get_worker_info().seed)
        yield rng.random()


class WithoutWorkers(Dataset):
    def __init__(self):
        self.alone = np.random.default_rng(0)

    def __getitem__(self, index):
        return self.alone.normal()


class Sampler:
    def __init__(self):
        self.order_rng = np.random.default_rng(0)

    def __iter__(self):
        yield from self.order_rng.permutation(8)


def loaders():
    yield DataLoader(RenewedByWorker(), num_workers=2, worker_init_fn=start)
    yield DataLoader(WithoutWorkers(), num_workers=0)
    yield DataLoader(OnSelf(3), num_workers=2)
    yield DataLoader(WithTransform(), num_workers=2)


class Perturbation:
    def __init__(self, p, rng=None):
        self.p = p
        self._rng = random.Random() if rng is None else rng  # expect

    def maybe_apply(self, segment):
        if self._rng.random() < self.p:
            self(segment)


class Gain(Perturbation):
    def __init__(self, p, low, high, rng=None):
        super().__init__(p, rng)
        self.low = low
        self.high = high
        self._rng = random.Random() if rng is None else rng  # expect

    def __call__(self, segment):
        segment.gain = self._rng.uniform(self.low, self.high)


class WithListOfTransforms(Dataset):
    def __init__(self, paths, gain=None):
        self.paths = paths
        perturbations = []
        if gain is not None:
            perturbations.append(Gain(**gain))
        self.perturbations = perturbations

    def __getitem__(self, index):
        segment = open(self.paths[index])
        for one in self.perturbations:
            one.maybe_apply(segment)
        return segment


class Crop:
    def __init__(self):
        self._where = random.Random()  # no dataset keeps one: each sample makes its own

    def __call__(self, image):
        return image[self._where.randrange(3) :]


class Unused:
    def __init__(self):
        self._dice = random.Random()

    def __call__(self, image):
        return image[self._dice.randrange(3) :]


class Named:
    def __init__(self):
        self.rng = random.Random()

    def describe(self):
        return self.rng.random()


class WithListsOfOthers(Dataset):
    def __init__(self):
        self.named = [Named()]
        self.unused = {"train": Unused()}

    def __getitem__(self, index):
        steps = [Crop()]
        for step in steps:
            index = step([index])
        return len(self.named), index


class Jitter:
    def __init__(self):
        self._dice = RandomState()  # expect

    def __call__(self, image):
        return image + self._dice.normal()


class Shift:
    def __init__(self):
        self._far = random.Random()  # expect

    def __call__(self, image):
        return image + self._far.random()


class WithComposed(Dataset):
    def __init__(self, paths, transform):
        self.paths = paths
        self.transform = transform
        self.shift = transforms.Compose([transforms.ToTensor(), Shift()])

    def __getitem__(self, index):
        return self.shift(self.transform(Image.open(self.paths[index])))


def with_composed(paths):
    return WithComposed(paths, transforms.Compose([transforms.Resize(64), Jitter()]))


class Seeded:
    def __call__(self, image):
        return image + random.random()


class Reseeded:
    def __init__(self):
        self._own = random.Random()

    def seed(self, seed):
        self._own.seed(seed)

    def __call__(self, image):
        return image + self._own.random()


class OnlyComposed:
    """No dataset calls it: images are changed in the training loop."""

    def __init__(self):
        self._main = random.Random()

    def __call__(self, image):
        return image + self._main.random()


def in_the_loop(loader):
    change = transforms.Compose([OnlyComposed()])
    return [change(batch) for batch in loader]


class WithHarmless(Dataset):
    def __init__(self, paths):
        self.paths = paths
        self.transform = transforms.Compose([Seeded(), Reseeded()])

    def __getitem__(self, index):
        return self.transform(Image.open(self.paths[index]))


class TriesAnother(Dataset):
    """What is drawn where a sample could not be read is not drawn for every sample."""

    def __init__(self, rows):
        self.rows = rows
        self.places = random.Random(0)
        self.noise = random.Random(0)  # expect

    def __getitem__(self, index):
        while True:
            row = self.rows[index]
            if row is not None:
                return row + self.noise.random()
            index = self.retries.randrange(len(self.rows))


class TriesElsewhere(TriesAnother):
    def __getitem__(self, index):
        try:
            return self.rows[index]
        except IndexError:
            return self.rows[self.places.randrange(len(self.rows))]


class SeededIfAsked(Dataset):
    def __init__(self, rows, seed=None):
        self.rows = rows
        if seed is not None:
            self.draws = random.Random(seed)  # expect
        else:
            self.draws = random

    def __getitem__(self, index):
        return self.rows[index], self.draws.random()


class SeededAsItIs(Dataset):
    def __init__(self, rows, seed=None):
        self.rows = rows
        if seed is not None:
            self.draws = random.Random(seed)  # expect
        else:
            self.draws = random

    def __getitem__(self, index):
        return self.rows[index], self.draws.random()


def seeded(config, rows):
    return SeededIfAsked(rows, **config["data"]), SeededAsItIs(rows, seed=0)


class ValidationCrops(Dataset):
    """The same numbers in each epoch make validations alike."""

    def __init__(self, rows, seed):
        self.rows = rows
        self.draws = np.random.RandomState(seed)  # expect

    def __getitem__(self, index):
        return self.rows[index], self.draws.randint(10)


class CountsWorkers(Dataset):
    def __init__(self, rows):
        self.rows = rows
        self.draws = np.random.default_rng(0)  # expect

    def __getitem__(self, index):
        return self.rows[index], self.draws.random()


def counts_workers(args, rows):
    assert args.dataloader_num_workers == 4
    return CountsWorkers(rows)


class Chained(IterableDataset):
    def __init__(self, parts, seed=0):
        self.parts = parts
        self.orders = np.random.RandomState(seed)  # expect
        self.noise = np.random.RandomState(seed)  # expect

    def __iter__(self):
        for at in self.orders.permutation(len(self.parts)):
            for row in self.parts[at]:
                yield row + self.noise.normal()
