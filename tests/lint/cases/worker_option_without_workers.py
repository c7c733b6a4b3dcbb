import argparse
import os
from dataclasses import dataclass
from functools import partial

import click
import deepspeed
import torch
import torch.utils.data as data
from torch.utils.data import DataLoader

# --- no workers -----------------------------------------------------------------------------------


def literally(dataset):
    DataLoader(dataset, num_workers=0, prefetch_factor=4)  # expect
    DataLoader(dataset, persistent_workers=True)  # expect
    DataLoader(dataset, multiprocessing_context="spawn")  # expect
    DataLoader(dataset, timeout=60)  # expect
    return data.DataLoader(dataset, 32, True, None, None, 0, prefetch_factor=2)  # expect


def prefetches_nothing(dataset):
    return DataLoader(dataset, num_workers=4, prefetch_factor=0)  # expect


def in_a_dict(dataset):
    options = dict(batch_size=8, persistent_workers=True)
    options["pin_memory"] = True
    return DataLoader(dataset, **options)  # expect


def updated(dataset):
    options = {"batch_size": 8, "num_workers": 4}
    options.update(num_workers=0, prefetch_factor=2)
    return DataLoader(dataset, **options)  # expect


def from_a_partial(dataset):
    build = partial(DataLoader, persistent_workers=True)
    return build(dataset, batch_size=4)  # expect


WORKERS = 0


def from_a_constant(dataset):
    return DataLoader(dataset, num_workers=WORKERS, persistent_workers=True)  # expect


def passed(dataset, workers, keep):
    return DataLoader(dataset, num_workers=workers, persistent_workers=keep)  # expect


def passes(dataset):
    return passed(dataset, 0, True)


class Endless(DataLoader):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs, persistent_workers=True)


def subclass(dataset):
    return Endless(dataset, batch_size=4)  # expect


# --- no workers by default ------------------------------------------------------------------------


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--num-workers", "-j", type=int, default=0)
    parser.add_argument("--loader_workers", type=int, default=4)
    parser.add_argument("--prefetch", type=int, default=2)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--read_workers", type=int, default=0)
    parser.add_argument("--guarded_workers", type=int, default=0)
    return parser.parse_args()


def main(args, dataset):
    DataLoader(dataset, num_workers=args.num_workers, persistent_workers=True)  # expect
    DataLoader(dataset, num_workers=args.num_workers, prefetch_factor=args.prefetch)  # expect
    DataLoader(dataset, num_workers=args.loader_workers, persistent_workers=True)
    DataLoader(dataset, num_workers=args.num_workers, persistent_workers=args.keep)
    DataLoader(dataset, num_workers=args.num_workers, persistent_workers=args.num_workers > 0)
    steps = len(dataset) // (8 * args.read_workers)
    return steps


if __name__ == "__main__":
    main(parse(), [])


@click.command()
@click.option("--workers", default=0)
def command(workers):
    return DataLoader([], num_workers=workers, persistent_workers=True)  # expect


@dataclass
class Config:
    workers: int = 0
    busy: int = 8


def configured(config: Config):
    DataLoader([], num_workers=config.busy, persistent_workers=True)
    return DataLoader([], num_workers=config.workers, prefetch_factor=4)  # expect


# --- workers --------------------------------------------------------------------------------------


def some(dataset, workers, count):
    DataLoader(dataset, num_workers=2, prefetch_factor=4, persistent_workers=True, timeout=30)
    DataLoader(dataset, 8, False, None, None, 2, prefetch_factor=4)
    DataLoader(dataset, num_workers=os.cpu_count(), persistent_workers=True)
    DataLoader(dataset, num_workers=max(1, workers), persistent_workers=True)
    return DataLoader(dataset, num_workers=count, persistent_workers=True)


def switched(dataset, workers=0):
    DataLoader(dataset, num_workers=workers, persistent_workers=workers > 0)
    DataLoader(dataset, num_workers=workers, prefetch_factor=2 if workers > 0 else None)
    DataLoader(dataset, num_workers=workers, persistent_workers=bool(workers))
    return DataLoader(dataset, num_workers=workers, timeout=0)


def harmless(dataset):
    DataLoader(dataset, num_workers=0, prefetch_factor=None, persistent_workers=False, timeout=0)
    DataLoader(dataset, num_workers=0, multiprocessing_context=None)
    return DataLoader(dataset)


def together(dataset, use_cuda):
    options = {"num_workers": 1, "persistent_workers": True} if use_cuda else {}
    return DataLoader(dataset, **options)


def added_together(dataset):
    options = {"batch_size": 8}
    if torch.cuda.is_available():
        options.update({"num_workers": 4, "persistent_workers": True})
    return DataLoader(dataset, **options)


def added_under_a_test(dataset, workers=0):
    options = {"num_workers": workers}
    if workers > 0:
        options["prefetch_factor"] = 4
    return DataLoader(dataset, **options)


def unknown(dataset, config, **options):
    DataLoader(dataset, num_workers=config.data.workers, persistent_workers=True)
    return DataLoader(dataset, persistent_workers=True, **options)


def callers_disagree(dataset, workers):
    return DataLoader(dataset, num_workers=workers, persistent_workers=True)


def one(dataset):
    return callers_disagree(dataset, 4)


def other(dataset):
    return callers_disagree(dataset, 0)


def not_a_loader(dataset, Pool):
    return Pool(dataset, persistent_workers=True)


class Settings:
    def __init__(self):
        self.workers = 0

    def loader(self, dataset):
        return DataLoader(dataset, num_workers=self.workers, persistent_workers=True)


class FileSettings(Settings):
    def __init__(self, values):
        super().__init__()
        for key in values:
            self.__dict__[key] = values[key]


class OwnSettings:
    def __init__(self):
        self.workers = 0

    def loader(self, dataset):
        return DataLoader(dataset, num_workers=self.workers, persistent_workers=True)  # expect


class NamedSettings(OwnSettings):
    def __init__(self, values):
        super().__init__()
        self.__dict__["path"] = values


def add_frameworks_options(parser):
    parser = deepspeed.add_config_arguments(parser)
    parser.add_argument("--workers", type=int, default=0)
    return parser


def of_a_parser_that_a_framework_adds_to(dataset):
    args = add_frameworks_options(argparse.ArgumentParser()).parse_args()
    return DataLoader(dataset, num_workers=args.workers, persistent_workers=True)  # expect


def of_a_parser_that_something_else_is_made_of(dataset):
    parser = argparse.ArgumentParser()
    parser.add_argument("--seldom", type=int, default=0)
    args = deepspeed.parse(parser).parse_args()
    return DataLoader(dataset, num_workers=args.seldom_used, persistent_workers=True)
