import argparse
import configparser
import multiprocessing
import multiprocessing as mp
import os
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import Pool, cpu_count

import torch
from torch.utils.data import DataLoader


def directly(dataset):
    yield DataLoader(dataset, num_workers=os.cpu_count())  # expect
    yield DataLoader(dataset, num_workers=multiprocessing.cpu_count())  # expect
    yield DataLoader(dataset, num_workers=cpu_count())  # expect


def through_a_name(dataset):
    workers = mp.cpu_count()  # expect
    return DataLoader(dataset, num_workers=workers)


def capped(dataset, batch_size, world_size, wanted):
    workers = min([os.cpu_count() // world_size, batch_size, wanted])  # expect advice
    return DataLoader(dataset, batch_size=batch_size, num_workers=workers)


def capped_by_eight(dataset):
    return DataLoader(dataset, num_workers=min(8, os.cpu_count()))  # expect advice


def capped_by_a_choice(dataset, wanted):
    yield DataLoader(dataset, num_workers=5 if cpu_count() > 4 else cpu_count())  # expect
    yield DataLoader(dataset, num_workers=os.cpu_count() if os.cpu_count() <= 8 else 8)  # expect
    yield DataLoader(dataset, num_workers=os.cpu_count() if os.cpu_count() > 8 else 8)  # expect
    yield DataLoader(dataset, num_workers=4 if wanted > 4 else cpu_count())  # expect


def shared_out(dataset, world_size):
    return DataLoader(dataset, num_workers=os.cpu_count() // world_size)  # expect


def at_least(dataset):
    return DataLoader(dataset, num_workers=max(2, os.cpu_count() - 2))  # expect


def in_keywords(dataset):
    options = {"batch_size": 4, "num_workers": os.cpu_count() or 1}  # expect
    return DataLoader(dataset, **options)


def builder(dataset, workers):
    return DataLoader(dataset, num_workers=workers)


def caller(dataset):
    return builder(dataset, workers=os.cpu_count())  # expect


def option(dataset):
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=os.cpu_count())  # expect
    args = parser.parse_args()
    return DataLoader(dataset, num_workers=args.workers)


class Trainer:
    def __init__(self, dataset):
        self.workers = cpu_count()  # expect
        self.dataset = dataset

    def loader(self):
        return DataLoader(self.dataset, num_workers=self.workers)


# --- silent ----------------------------------------------------------------------------


def affinity_first(dataset):
    try:
        workers = len(os.sched_getaffinity(0))
    except AttributeError:
        workers = os.cpu_count()
    return DataLoader(dataset, num_workers=workers)


def affinity_where_there_is_one(dataset):
    workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return DataLoader(dataset, num_workers=workers)


def other_uses(paths, decode):
    print("CPUs:", os.cpu_count())
    torch.set_num_threads(os.cpu_count())
    with Pool(cpu_count()) as pool:
        pool.map(decode, paths)
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        pool.map(decode, paths)


def a_pool_option(paths, decode):
    parser = argparse.ArgumentParser()
    parser.add_argument("--num-workers", type=int, default=os.cpu_count())
    args = parser.parse_args()
    with Pool(args.num_workers) as pool:
        pool.map(decode, paths)


def a_pool_that_is_called_workers(dataset, decode):
    num_workers = os.cpu_count()
    Pool(num_workers).map(decode, range(len(dataset)))
    return DataLoader(dataset, num_workers=4)


def compared_only(dataset, wanted):
    if wanted > os.cpu_count():
        raise ValueError(wanted)
    return DataLoader(dataset, num_workers=wanted)


def where_the_configuration_has_none(dataset, config):
    try:
        workers = config.getint("data", "workers")
    except configparser.NoOptionError:
        workers = multiprocessing.cpu_count()  # expect
    return DataLoader(dataset, num_workers=workers)


def by_default_of_the_configuration(dataset, cfg):
    return DataLoader(dataset, num_workers=cfg.get("workers", os.cpu_count()))  # expect


def instead_of_a_setting(dataset, cfg):
    return DataLoader(dataset, num_workers=cfg.data.workers or os.cpu_count())  # expect


def instead_of_an_option_that_is_a_number(dataset):
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=4)
    return DataLoader(dataset, num_workers=parser.parse_args().workers or os.cpu_count())  # expect


def instead_of_an_option_that_is_none(dataset):
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int)
    return DataLoader(dataset, num_workers=parser.parse_args().workers or os.cpu_count())  # expect


def of_the_surroundings(dataset):
    try:
        workers = int(os.environ["WORKERS"])
    except KeyError:
        workers = os.cpu_count()  # expect
    return DataLoader(dataset, num_workers=workers)


def of_the_surroundings_or_all(dataset):
    return DataLoader(dataset, num_workers=int(os.environ.get("WORKERS", os.cpu_count())))  # expect


def where_something_else_fails(dataset, config):
    try:
        config.check()
    except ValueError:
        return DataLoader(dataset, num_workers=os.cpu_count())  # expect


def capped_twice(dataset):
    half = min(8, os.cpu_count() // 2)  # expect advice
    yield DataLoader(dataset, num_workers=min(os.cpu_count(), half))  # expect advice


def half_of_those_or_of_one(dataset):
    return DataLoader(dataset, num_workers=(os.cpu_count() or 1) // 2)  # expect
