import argparse
import os
import random
import time
from functools import partial

import albumentations
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, get_worker_info
from torchvision import transforms


class Noisy(Dataset):
    def __getitem__(self, index):
        return self.shift(index)

    def shift(self, index):
        return index + np.random.rand()


class Cropped(Dataset):
    def __getitem__(self, index):
        return index + random.randint(0, 8)


class Quiet(Dataset):
    def __getitem__(self, index):
        return index


class Lazy(Dataset):
    def __init__(self):
        self.seeded = False

    def __getitem__(self, index):
        if not self.seeded:
            info = get_worker_info()
            if info is not None:
                torch.manual_seed(info.id)  # expect
                np.random.seed(info.id)  # told with the seed above
                self.seeded = True
        return np.random.rand() * torch.rand(1)


def by_state(worker_id):
    np.random.seed(np.random.get_state()[1][0] + worker_id)  # expect


def by_state_through_a_name(worker_id):
    base = np.random.get_state()[1][0]
    random.seed(base + worker_id)  # expect


def by_id(worker_id):
    np.random.seed(1234 + worker_id)  # expect


def by_id_alone(worker_id):
    random.seed(worker_id)  # expect


def with_base(worker_id, base):
    np.random.seed(base + worker_id)  # expect


def loaders(make_dataset):
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    yield DataLoader(make_dataset(), num_workers=4, worker_init_fn=by_state)
    yield DataLoader(make_dataset(), num_workers=4, worker_init_fn=by_state_through_a_name)
    yield DataLoader(Noisy(), num_workers=4, worker_init_fn=by_id)
    yield DataLoader(Cropped(), num_workers=4, worker_init_fn=by_id_alone)
    yield DataLoader(Noisy(), num_workers=4, worker_init_fn=partial(with_base, base=args.seed))
    yield DataLoader(Lazy(), num_workers=4)


# --- silent ----------------------------------------------------------------------------


def by_torch(worker_id):
    np.random.seed(torch.initial_seed() % 2**32)
    random.seed(torch.initial_seed() + worker_id)


def by_worker_info(worker_id):
    np.random.seed((get_worker_info().seed + worker_id) % 2**32)


def by_a_random_word(worker_id):
    state = np.random.get_state()[1]
    np.random.seed(state[np.random.randint(len(state))] + worker_id)


def by_id_for_quiet(worker_id):
    np.random.seed(99 + worker_id)


def by_id_of_persistent(worker_id):
    np.random.seed(77 + worker_id)


def by_id_for_another_generator(worker_id):
    random.seed(55 + worker_id)
    torch.manual_seed(55 + worker_id)


def by_id_of_none(worker_id):
    np.random.seed(44 + worker_id)


class LazyOfAnother(Lazy):
    def __getitem__(self, index):
        if not self.seeded:
            self.seeded = True
            random.seed(get_worker_info().id)
        return np.random.rand()


def by_epoch(worker_id, epoch):
    np.random.seed(epoch * 1000 + worker_id)


def good_loaders(epochs):
    yield DataLoader(Noisy(), num_workers=4, worker_init_fn=by_torch)
    yield DataLoader(Noisy(), num_workers=4, worker_init_fn=by_worker_info)
    yield DataLoader(Noisy(), num_workers=4, worker_init_fn=by_a_random_word)
    yield DataLoader(Quiet(), num_workers=4, worker_init_fn=by_id_for_quiet)
    yield DataLoader(Noisy(), num_workers=4, persistent_workers=True, worker_init_fn=by_id_of_persistent)
    yield DataLoader(Noisy(), num_workers=4, worker_init_fn=by_id_for_another_generator)
    yield DataLoader(Noisy(), num_workers=0, worker_init_fn=by_id_of_none)
    yield DataLoader(LazyOfAnother(), num_workers=4)
    for epoch in range(epochs):
        yield DataLoader(Noisy(), num_workers=4, worker_init_fn=partial(by_epoch, epoch=epoch))


# --- for evaluation -------------------------------------------------------------------------------


def for_evaluation(worker_id):
    np.random.seed(np.random.get_state()[1][0] + worker_id)  # expect


def for_both(worker_id):
    np.random.seed(np.random.get_state()[1][0] + worker_id)  # expect


def id_for_evaluation(worker_id):
    np.random.seed(worker_id)  # expect


def evaluate(model):
    test_loader = DataLoader(Noisy(), num_workers=4, worker_init_fn=for_evaluation)
    val_loader = DataLoader(Noisy(), num_workers=4, worker_init_fn=for_both)
    eval_loader = DataLoader(Noisy(), num_workers=4, worker_init_fn=id_for_evaluation)
    for loader in (test_loader, val_loader, eval_loader):
        for batch in loader:
            model(batch)


def train(model):
    train_loader = DataLoader(Noisy(), num_workers=4, worker_init_fn=for_both)
    for batch in train_loader:
        model(batch)


# --- torchvision draws from torch's generator ------------------------------------------------------


class Jittered(Dataset):
    def __init__(self):
        self.augment = transforms.Compose([transforms.ToTensor(), transforms.ColorJitter(0.4)])

    def __getitem__(self, index):
        return self.augment(index)


class Placed(Dataset):
    def __getitem__(self, index):
        return transforms.RandomCrop.get_params(index, (8, 8))


class Given(Dataset):
    def __init__(self, transform):
        self.transform = transform

    def __getitem__(self, index):
        return self.transform(index)


class Resized(Dataset):
    def __init__(self):
        self.augment = transforms.Compose([transforms.Resize(8), transforms.ToTensor()])

    def __getitem__(self, index):
        return self.augment(index)


class Flipped(Dataset):
    """Draws from numpy's generator."""

    def __init__(self):
        self.augment = albumentations.HorizontalFlip()

    def __getitem__(self, index):
        return self.augment(image=index)


def torch_by_id(worker_id):
    torch.manual_seed(worker_id)  # expect


def torch_by_id_for_params(worker_id):
    torch.manual_seed(worker_id + 8)  # expect


def torch_by_id_for_given(worker_id):
    torch.manual_seed(worker_id)  # expect
    random.seed(worker_id)


def numpy_by_id_for_jittered(worker_id):
    np.random.seed(worker_id)


def torch_by_id_for_resized(worker_id):
    torch.manual_seed(worker_id)


def torch_by_id_for_flipped(worker_id):
    torch.manual_seed(worker_id)


def torch_by_id_of_persistent(worker_id):
    torch.manual_seed(worker_id)


def torch_by_torch(worker_id):
    torch.manual_seed(torch.initial_seed() + worker_id)


def one_of_two(worker_id):
    torch.manual_seed(worker_id)
    np.random.seed(worker_id)  # expect


def vision_loaders():
    flips = transforms.RandomHorizontalFlip()
    yield DataLoader(Jittered(), num_workers=4, worker_init_fn=torch_by_id)
    yield DataLoader(Placed(), num_workers=4, worker_init_fn=torch_by_id_for_params)
    yield DataLoader(Given(flips), num_workers=4, worker_init_fn=torch_by_id_for_given)
    yield DataLoader(Jittered(), num_workers=4, worker_init_fn=numpy_by_id_for_jittered)
    yield DataLoader(Resized(), num_workers=4, worker_init_fn=torch_by_id_for_resized)
    yield DataLoader(Flipped(), num_workers=4, worker_init_fn=torch_by_id_for_flipped)
    yield DataLoader(Jittered(), num_workers=4, worker_init_fn=torch_by_id_of_persistent, persistent_workers=True)
    yield DataLoader(Jittered(), num_workers=4, worker_init_fn=torch_by_torch)
    yield DataLoader(Noisy(), num_workers=4, worker_init_fn=one_of_two)


def by_rank_and_seed(worker_id, num_workers, rank, seed):
    worker_seed = num_workers * rank + worker_id + seed
    np.random.seed(worker_seed)  # expect
    random.seed(worker_seed)


def by_given_seed(worker_id, seed=None):
    if seed is not None:
        np.random.seed(seed + worker_id)  # expect


def by_whatever_is_given(worker_id, seed):
    np.random.seed(worker_id + seed)


def by_epoch(worker_id, seed):
    np.random.seed(worker_id + seed)


def by_changing_attribute(worker_id, seed):
    np.random.seed(worker_id + seed)


def by_environment(worker_id):
    np.random.seed(int(os.environ["RANK"]) * 1000 + worker_id)  # expect


def by_environment_or_default(worker_id):
    np.random.seed(int(os.environ.get("RANK", 0)) * 1000 + worker_id)  # expect


def by_rank_of_the_group(worker_id):
    rank = torch.distributed.get_rank() if torch.distributed.is_initialized() else 0
    np.random.seed(rank * 1000 + worker_id)  # expect


def by_time(worker_id):
    np.random.seed(int(time.time()) + worker_id)


def by_configured_persistence(worker_id, seed):
    np.random.seed(worker_id + seed)  # expect


def by_persistence_by_default(worker_id, seed):
    np.random.seed(worker_id + seed)


def scalar_then_state(worker_id):
    np.random.seed(torch.initial_seed() % 2**32)
    np.random.seed(np.random.get_state()[1][0] + worker_id)


def array_then_state(worker_id):
    np.random.seed([torch.initial_seed() % 2**32, worker_id])
    np.random.seed(np.random.get_state()[1][0] + worker_id)  # expect


def scalar_in_one_case_then_state(worker_id):
    if worker_id:
        np.random.seed(torch.initial_seed() % 2**32)
    np.random.seed(np.random.get_state()[1][0] + worker_id)  # expect


def same_scalar_then_state(worker_id):
    np.random.seed(1234)
    np.random.seed(np.random.get_state()[1][0] + worker_id)  # expect


def bound_when_made(config, seed=None):
    rank = torch.distributed.get_rank()
    init = partial(by_rank_and_seed, num_workers=4, rank=rank, seed=seed) if seed is not None else None
    yield DataLoader(Noisy(), num_workers=4, worker_init_fn=init)
    yield DataLoader(Noisy(), num_workers=4, worker_init_fn=partial(by_given_seed, seed=config.seed))
    yield DataLoader(Noisy(), num_workers=4, worker_init_fn=by_environment)
    yield DataLoader(Noisy(), num_workers=4, worker_init_fn=by_environment_or_default)
    yield DataLoader(Noisy(), num_workers=4, worker_init_fn=by_rank_of_the_group)
    yield DataLoader(Noisy(), num_workers=4, worker_init_fn=by_time)
    for function in (scalar_then_state, array_then_state, scalar_in_one_case_then_state, same_scalar_then_state):
        yield DataLoader(Noisy(), num_workers=4, worker_init_fn=function)
    for start in range(config.starts):
        yield DataLoader(Noisy(), num_workers=4, worker_init_fn=partial(by_whatever_is_given, seed=start))


def of_an_epoch(epoch):
    return DataLoader(Noisy(), num_workers=4, worker_init_fn=partial(by_epoch, seed=1000 * epoch))


def over_epochs(model):
    for epoch in range(90):
        for batch in of_an_epoch(epoch):
            model(batch).backward()


class Rebuilding:
    def __init__(self, config):
        self.seed = config.seed
        self.config = config

    def loader(self):
        self.seed += 1
        return DataLoader(Noisy(), num_workers=4, worker_init_fn=partial(by_changing_attribute, seed=self.seed))

    def kept(self):
        init = partial(by_persistence_by_default, seed=self.config.seed)
        keep = self.config.get("persistent_workers", True)
        return DataLoader(Noisy(), num_workers=4, worker_init_fn=init, persistent_workers=keep)

    def not_kept(self):
        init = partial(by_configured_persistence, seed=self.config.seed)
        keep = self.config.get("persistent_workers", False)
        return DataLoader(Noisy(), num_workers=4, worker_init_fn=init, persistent_workers=keep)


def nested(seed):
    def by_id_and_seed(worker_id):
        np.random.seed(seed + worker_id)  # expect

    yield DataLoader(Noisy(), num_workers=4, worker_init_fn=by_id_and_seed)
    yield DataLoader(Noisy(), num_workers=4, worker_init_fn=lambda one: np.random.seed(seed + one))  # expect


def nested_for_an_epoch(seed, epoch):
    def by_id_and_epoch(worker_id):
        np.random.seed(1000 * epoch + seed + worker_id)

    return DataLoader(Noisy(), num_workers=4, worker_init_fn=by_id_and_epoch)


def nested_over_epochs(model, seed):
    for epoch in range(90):
        for batch in nested_for_an_epoch(seed, epoch):
            model(batch).backward()


def nested_with_persistent_workers(seed):
    def by_id_and_seed(worker_id):
        np.random.seed(seed + worker_id)

    return DataLoader(Noisy(), num_workers=4, worker_init_fn=by_id_and_seed, persistent_workers=True)
