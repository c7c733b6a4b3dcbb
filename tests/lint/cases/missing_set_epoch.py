import torch
import torch.distributed as dist
from accelerate import Accelerator
from torch.utils.data import BatchSampler, DataLoader, RandomSampler
from torch.utils.data.distributed import DistributedSampler
from tqdm import trange


# --- trained on epoch after epoch -----------------------------------------------------------------


def same_function(model, optimizer, dataset, epochs):
    sampler = DistributedSampler(dataset)  # expect
    loader = DataLoader(dataset, batch_size=8, sampler=sampler)
    for epoch in range(epochs):
        for images, labels in loader:
            model(images, labels).backward()
            optimizer.step()


def without_a_name(model, dataset, epochs):
    loader = DataLoader(dataset, sampler=DistributedSampler(dataset, shuffle=True, drop_last=True))  # expect
    for epoch in range(epochs):
        for batch in loader:
            model(batch).backward()


def only_when_distributed(model, dataset, epochs):
    if dist.is_initialized():
        train_sampler = DistributedSampler(dataset)  # expect
    else:
        train_sampler = RandomSampler(dataset)
    train_loader = DataLoader(dataset, sampler=train_sampler, num_workers=4)
    for _ in trange(epochs):
        for step, batch in enumerate(train_loader):
            loss = model(batch)
            loss.backward()


def until_it_ends(model, dataset, steps):
    loader = DataLoader(dataset, sampler=DistributedSampler(dataset))  # expect
    batches = iter(loader)
    for _ in range(steps):
        try:
            batch = next(batches)
        except StopIteration:
            batches = iter(loader)
            batch = next(batches)
        model(batch).backward()


def endlessly(loader):
    batches = iter(loader)
    while True:
        try:
            yield next(batches)
        except StopIteration:
            batches = iter(loader)


def from_a_generator(model, dataset, steps):
    train_sampler = DistributedSampler(dataset)  # expect
    valid_sampler = DistributedSampler(dataset)
    train_batches = endlessly(DataLoader(dataset, sampler=train_sampler))
    valid_batches = endlessly(DataLoader(dataset, sampler=valid_sampler))
    for _ in range(steps):
        model(next(train_batches)).backward()
        model(next(valid_batches))


def once_through(loader):
    for batch in loader:
        yield batch["image"]


def only_looked_at(model, dataset, steps):
    batches = endlessly(DataLoader(dataset, sampler=DistributedSampler(dataset)))
    for _ in range(steps):
        print(model(next(batches)))


def one_pass_only(model, dataset):
    loader = DataLoader(dataset, sampler=DistributedSampler(dataset))
    for images in once_through(loader):
        model(images).backward()


def or_none(model, dataset, epochs, distributed):
    sampler = DistributedSampler(dataset) if distributed else None  # expect
    loader = DataLoader(dataset, shuffle=(sampler is None), sampler=sampler)
    for epoch in range(epochs):
        for batch in loader:
            model(batch).backward()


def in_batches(model, dataset, epochs):
    sampler = DistributedSampler(dataset)  # expect
    batches = BatchSampler(sampler, batch_size=8, drop_last=True)
    loader = DataLoader(dataset, batch_sampler=batches)
    for epoch in range(epochs):
        for batch in loader:
            model(batch).backward()


def build(dataset, batch_size):
    sampler = torch.utils.data.distributed.DistributedSampler(dataset)  # expect
    return DataLoader(dataset, batch_size=batch_size, sampler=sampler)


def train_one_epoch(model, loader, optimizer):
    for batch in loader:
        step(model, batch, optimizer)


def step(model, batch, optimizer):
    optimizer.zero_grad()
    model(batch).backward()
    optimizer.step()


def main(model, optimizer, dataset, epochs):
    batches = build(dataset, 8)
    for epoch in range(epochs):
        train_one_epoch(model, batches, optimizer)


class Trainer:
    def __init__(self, model, dataset):
        self.model = model
        self.sampler = DistributedSampler(dataset)  # expect
        self.train_data = DataLoader(dataset, sampler=self.sampler)

    def run_epoch(self, epoch):
        for batch in self.train_data:
            self.run_batch(batch)

    def run_batch(self, batch):
        self.model(batch).backward()

    def train(self, epochs):
        for epoch in range(epochs):
            self.run_epoch(epoch)


class Weighted(DistributedSampler):
    def __init__(self, dataset, weight):
        super().__init__(dataset)
        self.weight = weight


def subclass(model, dataset, epochs):
    loader = DataLoader(dataset, sampler=Weighted(dataset, 2))  # expect
    epoch = 0
    while epoch < epochs:
        for batch in loader:
            model(batch).backward()
        epoch += 1


# --- nothing to set -------------------------------------------------------------------------------


def in_order(model, dataset, epochs):
    loader = DataLoader(dataset, sampler=DistributedSampler(dataset, shuffle=False))
    for epoch in range(epochs):
        for batch in loader:
            model(batch).backward()


def perhaps_in_order(model, dataset, epochs, config):
    loader = DataLoader(dataset, sampler=DistributedSampler(dataset, shuffle=config.shuffle))
    for epoch in range(epochs):
        for batch in loader:
            model(batch).backward()


def one_pass(model, dataset):
    loader = DataLoader(dataset, sampler=DistributedSampler(dataset))
    for batch in loader:
        model(batch).backward()


def evaluates(model, dataset, epochs):
    loader = DataLoader(dataset, sampler=DistributedSampler(dataset))
    correct = 0
    for epoch in range(epochs):
        with torch.no_grad():
            for images, labels in loader:
                correct += (model(images) == labels).sum().item()
    return correct


def built_anew(model, dataset, epochs):
    for epoch in range(epochs):
        sampler = DistributedSampler(dataset, seed=epoch)
        for batch in DataLoader(dataset, sampler=sampler):
            model(batch).backward()


def prepared(model, dataset, epochs):
    accelerator = Accelerator()
    loader = DataLoader(dataset, sampler=DistributedSampler(dataset))
    model, loader = accelerator.prepare(model, loader)
    for epoch in range(epochs):
        for batch in loader:
            accelerator.backward(model(batch))


def other_samplers(model, dataset, epochs):
    loader = DataLoader(dataset, sampler=RandomSampler(dataset))
    for epoch in range(epochs):
        for batch in loader:
            model(batch).backward()


class OwnOrder(DistributedSampler):
    def __iter__(self):
        return iter(torch.randperm(len(self.dataset)).tolist())


def shuffles_itself(model, dataset, epochs):
    loader = DataLoader(dataset, sampler=OwnOrder(dataset))
    for epoch in range(epochs):
        for batch in loader:
            model(batch).backward()


def handed_to_a_trainer(trainer, dataset):
    loader = DataLoader(dataset, sampler=DistributedSampler(dataset))
    trainer.fit(loader)


class Module:
    def __init__(self, dataset):
        self.dataset = dataset

    def train_dataloader(self):
        return DataLoader(self.dataset, sampler=DistributedSampler(self.dataset))


def validation(model, dataset, epochs):
    val_sampler = DistributedSampler(dataset)
    val_loader = DataLoader(dataset, sampler=val_sampler)
    for epoch in range(epochs):
        for batch in val_loader:
            model(batch).backward()


SAMPLERS = {"random": RandomSampler, "distributed": DistributedSampler}


def picked_by_name(model, optimizer, dataset, epochs, name):
    sampler = SAMPLERS[name](dataset)  # expect
    loader = DataLoader(dataset, batch_size=8, sampler=sampler)
    for epoch in range(epochs):
        for images, labels in loader:
            model(images, labels).backward()
            optimizer.step()
