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


# --- what a nested function reads of the one around it ------------------------------------------------


def starting_with(seed):
    def start(worker_id):
        worker_seed = seed
        if seed is not None:
            np.random.seed(worker_seed)  # expect
            random.seed(worker_seed)  # expect

    return start


def starting_with_a_number(config):
    base = config.seed * 2

    def start(worker_id):
        np.random.seed(base + 1)  # expect

    return start


def starting_with_whatever(seed):
    def start(worker_id):
        np.random.seed(seed)  # None asks for a fresh one

    return start


def starting_by_id(seed):
    def start(worker_id):
        worker_seed = seed + worker_id
        np.random.seed(worker_seed)

    return start


def starting_with_one_of_many(seeds):
    seed = seeds[0]
    seed += 1

    def start(worker_id):
        np.random.seed(seed + 1)

    return start


def starting_with_a_count():
    count = 0

    def advance():
        nonlocal count
        count += 1

    def start(worker_id):
        np.random.seed(count + 1)

    advance()
    return start


def starting_with_what_is_tested_elsewhere(seed, other):
    def start(worker_id):
        if other is not None:
            np.random.seed(seed)

    return start


def nested_loaders(dataset, config):
    yield DataLoader(dataset, num_workers=4, worker_init_fn=starting_with(config.seed))
    yield DataLoader(dataset, num_workers=4, worker_init_fn=starting_with_a_number(config))
    yield DataLoader(dataset, num_workers=4, worker_init_fn=starting_with_whatever(config.seed))
    yield DataLoader(dataset, num_workers=4, worker_init_fn=starting_by_id(config.seed))
    yield DataLoader(dataset, num_workers=4, worker_init_fn=starting_with_one_of_many(config.seeds))
    yield DataLoader(dataset, num_workers=4, worker_init_fn=starting_with_a_count())
    yield DataLoader(dataset, num_workers=4, worker_init_fn=starting_with_what_is_tested_elsewhere(config.seed, dataset))


class Rebuilt:
    """Loaders of an epoch each."""

    def loader(self, dataset, epoch):
        def start(worker_id):
            np.random.seed(epoch + 1)

        return DataLoader(dataset, num_workers=4, worker_init_fn=start)

    def train(self, model, dataset):
        for epoch in range(90):
            for batch in self.loader(dataset, epoch):
                model(batch).backward()


def rebuilt_in_a_loop(model, dataset, seed):
    for epoch in range(90):
        start = 1000 * epoch

        def init(worker_id):
            np.random.seed(start + 1)

        for batch in DataLoader(dataset, num_workers=4, worker_init_fn=init):
            model(batch).backward()


def rebuilt_by_a_hook(dataset, current_epoch):
    def init(worker_id):
        np.random.seed(current_epoch + 1)

    return DataLoader(dataset, num_workers=4, worker_init_fn=init)


class Module:
    def train_dataloader(self):
        return rebuilt_for(self.dataset, self.trainer.current_epoch, self.trainer.max_epochs)


def rebuilt_for(dataset, number, most):
    def init(worker_id):
        np.random.seed(number + 1)
        random.seed(most + 1)  # expect

    return DataLoader(dataset, num_workers=4, worker_init_fn=init)
