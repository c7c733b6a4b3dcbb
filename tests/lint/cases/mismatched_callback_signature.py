import functools
import random
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch.utils.data import DataLoader, default_collate


def without_id():  # expect
    np.random.seed(torch.initial_seed() % 2**32)


def with_rank(worker_id, rank, *, seed):  # expect
    random.seed(seed + rank + worker_id)


def padded(samples, length):  # expect
    return torch.nn.utils.rnn.pad_sequence(samples)[:length]


def reversed_order(length, samples):
    return torch.stack(samples)[:length]


class Batches:
    def collate(self, samples, device):  # expect
        return torch.stack(samples).to(device)

    @staticmethod
    def of_nothing():  # expect
        return None

    def loaders(self, dataset):
        yield DataLoader(dataset, collate_fn=self.collate)
        yield DataLoader(dataset, collate_fn=self.of_nothing)
        yield DataLoader(dataset, collate_fn=Batches.unbound)

    def unbound(self, samples):  # expect
        return torch.stack(samples)


class Pad:
    def __init__(self, length):
        self.length = length

    def __call__(self, samples, targets):  # expect
        return samples[: self.length], targets


class Crop:
    def __init__(self, length, side):
        self.length = length

    def __call__(self, samples):
        return samples[: self.length]


def loaders(dataset):
    yield DataLoader(dataset, num_workers=4, worker_init_fn=without_id)
    yield DataLoader(dataset, num_workers=4, worker_init_fn=with_rank)
    yield DataLoader(dataset, collate_fn=padded)
    yield DataLoader(dataset, collate_fn=partial(reversed_order, length=4))  # expect
    yield DataLoader(dataset, collate_fn=partial(reversed_order, size=4))  # expect
    yield DataLoader(dataset, collate_fn=partial(reversed_order, 4, []))  # expect
    yield DataLoader(dataset, collate_fn=Pad(4))
    yield DataLoader(dataset, collate_fn=Crop)  # expect
    yield DataLoader(dataset, num_workers=2, worker_init_fn=lambda: random.seed(0))  # expect


def built(dataset, collate):
    return DataLoader(dataset, batch_size=8, collate_fn=collate)


def from_builder(dataset):
    return built(dataset, lambda samples, lengths: samples)  # expect


# --- silent ----------------------------------------------------------------------------


def by_id(worker_id):
    random.seed(torch.initial_seed() % 2**32)


def by_default(worker_id, seed=1, *, rank=0):
    random.seed(seed + rank + worker_id)


def anything(*args, **kwargs):
    return default_collate(*args)


def keyword_only(samples, *, length):
    return torch.stack(samples)[:length]


def only_without_workers():
    random.seed(0)


def takes_more(function):
    @functools.wraps(function)
    def wrapped(samples):
        return function(samples, 4)

    return wrapped


@takes_more
def decorated(samples, length):
    return torch.stack(samples)[:length]


def two(samples, length):
    return torch.stack(samples)[:length]


@dataclass
class Collate:
    length: int

    def __call__(self, samples):
        return torch.stack(samples)[: self.length]


class Held:
    collate = two

    def __init__(self, length):
        self.length = length

    def fit(self, samples, *extra):
        return samples

    @classmethod
    def of_class(cls, samples):
        return samples

    @staticmethod
    def static(samples):
        return samples

    @property
    def chosen(self):
        return by_id

    def loaders(self, dataset, options):
        yield DataLoader(dataset, collate_fn=self.fit)
        yield DataLoader(dataset, collate_fn=self.of_class)
        yield DataLoader(dataset, collate_fn=Held.of_class)
        yield DataLoader(dataset, collate_fn=self.static)
        yield DataLoader(dataset, collate_fn=Held.static)
        yield DataLoader(dataset, collate_fn=self.chosen)
        yield DataLoader(dataset, collate_fn=self.collate)
        yield DataLoader(dataset, collate_fn=partial(self.fit, []))
        yield DataLoader(dataset, collate_fn=partial(two, **options))
        yield DataLoader(dataset, collate_fn=partial(two, *options))


class Abstract:
    def collate(self):
        raise NotImplementedError

    def loader(self, dataset):
        return DataLoader(dataset, collate_fn=self.collate)


class Concrete(Abstract):
    def collate(self, samples):
        return samples


class Paired(DataLoader):
    def __iter__(self):
        for samples in self.dataset:
            yield self.collate_fn(samples, 4)


def good_loaders(dataset):
    yield DataLoader(dataset, num_workers=4, worker_init_fn=by_id)
    yield DataLoader(dataset, num_workers=4, worker_init_fn=by_default)
    yield DataLoader(dataset, num_workers=4, worker_init_fn=partial(with_two, rank=2))
    yield DataLoader(dataset, num_workers=0, worker_init_fn=only_without_workers)
    yield DataLoader(dataset, collate_fn=anything)
    yield DataLoader(dataset, collate_fn=None)
    yield DataLoader(dataset, collate_fn=list)
    yield DataLoader(dataset, collate_fn=lambda samples: samples)
    yield DataLoader(dataset, collate_fn=lambda samples, length=4: samples[:length])
    yield DataLoader(dataset, collate_fn=partial(keyword_only, length=4))
    yield DataLoader(dataset, collate_fn=partial(reversed_order, 4))
    yield DataLoader(dataset, collate_fn=partial(partial(two, length=3), length=4))
    yield DataLoader(dataset, collate_fn=decorated)
    yield DataLoader(dataset, collate_fn=Collate(4))
    yield Paired(dataset, collate_fn=two)


def with_two(worker_id, rank):
    random.seed(worker_id + rank)
