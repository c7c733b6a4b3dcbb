from functools import partial

import torch
from torch.utils import data
from torch.utils.data import DataLoader
from torchdata.stateful_dataloader import StatefulDataLoader

from shapes import Feed, Stage

device = torch.device("cuda")


def named(dataset):
    return DataLoader(dataset, num_workers=4, pin_memory=True, pin_memory_device="cuda")  # expect


def over_several_lines(dataset):
    return data.DataLoader(
        dataset,
        num_workers=4,
        pin_memory=True,
        pin_memory_device=str(device),  # expect
        drop_last=True,
    )


def the_only_argument(dataset):
    return DataLoader(dataset, pin_memory_device="cuda:0")  # expect


def of_a_subclass(dataset):
    return Repeated(dataset, num_workers=2, pin_memory=True, pin_memory_device=f"cuda:{0}")  # expect


class Repeated(DataLoader):
    pass


def chosen(dataset, debug):
    loader_class = DataLoader if debug else Repeated
    return loader_class(dataset, num_workers=2, pin_memory_device="cuda", pin_memory=True)  # expect


def in_a_dict(dataset):
    options = {"num_workers": 4, "pin_memory": True, "pin_memory_device": "cuda"}
    return DataLoader(dataset, **options)  # expect


def in_a_partial(dataset):
    make = partial(DataLoader, num_workers=4, pin_memory_device="cuda")  # expect
    return make(dataset)


def left_at_its_default(dataset):
    return DataLoader(dataset, num_workers=4, pin_memory=True, pin_memory_device="")


def pinned(dataset):
    return DataLoader(dataset, num_workers=4, pin_memory=True)


def with_state(dataset):
    return StatefulDataLoader(dataset, num_workers=4, pin_memory=True)


def of_something_else(dataset):
    stage = Stage(dataset, pin_memory_device="cuda")
    return Feed(stage, pin_memory=True, pin_memory_device=device)


def in_another_dict():
    return dict(num_workers=4, pin_memory_device="")
