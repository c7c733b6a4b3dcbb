"""Nobody in this file says the word that the sampler waits for."""

from torch.utils.data import BatchSampler, DataLoader, DistributedSampler, RandomSampler
from torch.utils.data.distributed import DistributedSampler as Sampler


def train(model, dataset, epochs):
    sampler = DistributedSampler(dataset)  # expect
    loader = DataLoader(dataset, batch_size=4, sampler=sampler)
    for _ in range(epochs):
        for batch in loader:
            model(batch).backward()


def one_epoch(model, loader):
    for batch in loader:
        loss = model(batch)
        loss.backward()


def through_functions(model, dataset, epochs):
    loader = DataLoader(dataset, sampler=Sampler(dataset, shuffle=True))  # expect
    for _ in range(epochs):
        one_epoch(model, loader)


def when_distributed(model, dataset, epochs, distributed):
    sampler = DistributedSampler(dataset) if distributed else None  # expect
    loader = DataLoader(dataset, shuffle=sampler is None, sampler=sampler)
    for _ in range(epochs):
        one_epoch(model, loader)


# --- silent ----------------------------------------------------------------------------


def in_order(model, dataset, epochs):
    sampler = DistributedSampler(dataset, shuffle=False)
    loader = DataLoader(dataset, sampler=sampler)
    for _ in range(epochs):
        one_epoch(model, loader)


def once(model, dataset):
    sampler = DistributedSampler(dataset)
    for batch in DataLoader(dataset, sampler=sampler):
        model(batch).backward()


def evaluate(model, dataset, epochs):
    val_sampler = DistributedSampler(dataset)
    val_loader = DataLoader(dataset, sampler=val_sampler)
    for _ in range(epochs):
        for batch in val_loader:
            model.score(batch)


def other_samplers(model, dataset, epochs):
    random = DataLoader(dataset, sampler=RandomSampler(dataset))
    batches = DataLoader(dataset, batch_sampler=BatchSampler(RandomSampler(dataset), 4, False))
    for _ in range(epochs):
        one_epoch(model, random)
        one_epoch(model, batches)


def prepared(model, dataset, epochs, accelerator):
    loader = accelerator.prepare(DataLoader(dataset, sampler=DistributedSampler(dataset)))
    for _ in range(epochs):
        one_epoch(model, loader)
