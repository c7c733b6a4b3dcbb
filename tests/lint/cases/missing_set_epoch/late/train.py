"""The epoch is set, before or after the loader was iterated."""

from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


def behind(model, dataset, epochs):
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, sampler=sampler)
    for epoch in range(epochs):
        for batch in loader:
            model(batch).backward()
        loader.sampler.set_epoch(epoch)  # expect


def behind_by_its_name(model, dataset, epochs):
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, sampler=sampler)
    for epoch in range(epochs):
        for batch in loader:
            model(batch).backward()
        if sampler is not None:
            sampler.set_epoch(epoch)  # expect


def ahead_for_the_next(model, dataset, epochs):
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, sampler=sampler)
    for epoch in range(epochs):
        for batch in loader:
            model(batch).backward()
        sampler.set_epoch(epoch + 1)


def first_thing(model, dataset, epochs):
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, sampler=sampler)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for batch in loader:
            model(batch).backward()


def before_and_behind(model, dataset, epochs):
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, sampler=sampler)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for batch in loader:
            model(batch).backward()
        sampler.set_epoch(epoch)


def of_another(model, dataset, other, epochs):
    sampler, second = DistributedSampler(dataset), DistributedSampler(other)
    loader = DataLoader(dataset, sampler=sampler)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for batch in loader:
            model(batch).backward()
        second.set_epoch(epoch)
