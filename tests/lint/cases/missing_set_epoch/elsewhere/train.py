"""Somebody else sets the epoch, by whatever way."""

from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


def train(model, dataset, epochs, callbacks):
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, sampler=sampler)
    for epoch in range(epochs):
        for callback in callbacks:
            callback.before(epoch, loader)
        for batch in loader:
            model(batch).backward()
