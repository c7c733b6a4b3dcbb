"""What the other script tells its sampler does not reach those of this one."""

from samplers import Weighted
from torch.utils.data import DataLoader, DistributedSampler


def train(model, dataset, epochs):
    sampler = DistributedSampler(dataset)  # expect
    loader = DataLoader(dataset, sampler=sampler)
    for epoch in range(epochs):
        for batch in loader:
            model(batch).backward()


def weighted(model, dataset, epochs):
    loader = DataLoader(dataset, sampler=Weighted(dataset))  # expect
    for epoch in range(epochs):
        for batch in loader:
            model(batch).backward()


def set_by_its_loader(model, dataset, epochs):
    loader = DataLoader(dataset, sampler=Weighted(dataset))
    for epoch in range(epochs):
        if hasattr(loader.sampler, "set_epoch"):
            loader.sampler.set_epoch(epoch)
        for batch in loader:
            model(batch).backward()
