"""Who calls what was taken by its name is not known."""

from torch.utils.data import DataLoader, DistributedSampler


def tell(sampler, epoch):
    method = getattr(sampler, "set_epoch", None)
    if method is not None:
        method(epoch)


def train(model, dataset, epochs):
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, sampler=sampler)
    for epoch in range(epochs):
        tell(sampler, epoch)
        for batch in loader:
            model(batch).backward()
