import argparse
import random
from functools import partial

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, get_worker_info

SEED = 1234


def literal(worker_id):
    np.random.seed(42)  # expect
    random.seed(SEED)  # expect


def with_option(seed, worker_id):
    random.seed(worker_id + seed)


def ignoring_the_id(_):
    seed = SEED + 1
    torch.manual_seed(seed)  # expect
    np.random.seed(seed)  # expect


class Holder:
    def start(self, worker_id):
        np.random.seed(7)  # expect


def loaders(dataset):
    yield DataLoader(dataset, num_workers=4, worker_init_fn=literal)
    yield DataLoader(dataset, num_workers=4, worker_init_fn=ignoring_the_id)
    yield DataLoader(dataset, num_workers=4, worker_init_fn=Holder().start)
    yield DataLoader(dataset, num_workers=4, worker_init_fn=lambda worker_id: np.random.seed(0))  # expect


# --- silent ----------------------------------------------------------------------------


def by_id(worker_id):
    np.random.seed(SEED + worker_id)


def by_torch(worker_id):
    seed = torch.initial_seed() % 2**32
    np.random.seed(seed)
    random.seed(seed)


def by_worker_info(_):
    info = get_worker_info()
    np.random.seed(info.seed % 2**32)
    random.seed(info.id)


def fresh(worker_id):
    random.seed()
    np.random.seed(None)


def by_something(worker_id):
    np.random.seed(make_seed())


def make_seed():
    return random.randrange(100)


def in_main():
    random.seed(SEED)
    np.random.seed(SEED)
    torch.manual_seed(SEED)


def without_workers(worker_id):
    np.random.seed(42)


class Deterministic(Dataset):
    def __init__(self):
        random.seed(SEED)

    def __getitem__(self, index):
        return index


def good_loaders(dataset):
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    in_main()
    yield DataLoader(dataset, num_workers=4, worker_init_fn=by_id)
    yield DataLoader(dataset, num_workers=4, worker_init_fn=by_torch)
    yield DataLoader(dataset, num_workers=4, worker_init_fn=by_worker_info)
    yield DataLoader(dataset, num_workers=4, worker_init_fn=fresh)
    yield DataLoader(dataset, num_workers=4, worker_init_fn=by_something)
    yield DataLoader(dataset, num_workers=4, worker_init_fn=partial(with_option, args.seed))
    yield DataLoader(dataset, num_workers=0, worker_init_fn=without_workers)
    yield DataLoader(Deterministic(), num_workers=4)


def bound_but_for_the_id(worker_id, rank, seed):
    np.random.seed(rank + seed)  # expect


def bound_to_nobody_knows_what(worker_id, seed):
    np.random.seed(seed)


def bound_to_one(worker_id, seed):
    np.random.seed(seed)  # expect


def bound_by_partial(dataset, config, seed=None):
    rank = torch.distributed.get_rank()
    yield DataLoader(dataset, num_workers=4, worker_init_fn=partial(bound_but_for_the_id, rank=rank, seed=config.seed))
    yield DataLoader(dataset, num_workers=4, worker_init_fn=partial(bound_to_nobody_knows_what, seed=config.seed))
    if seed is not None:
        yield DataLoader(dataset, num_workers=4, worker_init_fn=partial(bound_to_one, seed=seed))
