"""Loaders of jobs of one and of several processes."""

import os

import torch
import torch.distributed as dist
from accelerate import Accelerator
from torch import nn
from torch.nn.parallel import DataParallel
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler, Subset, WeightedRandomSampler

SEVERAL = False


def wrapped_here(model, data, optimizer):
    model = DDP(model)
    loader = DataLoader(data, batch_size=8, shuffle=True, num_workers=4)  # expect
    for batch in loader:
        model(batch).mean().backward()
        optimizer.step()


def step(model, batch, optimizer):
    loss = model(batch).sum()
    loss.backward()
    optimizer.step()


def wrapped_on_demand(args, model, data, optimizer):
    if args.world_size > 1:
        model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[args.rank])
    batches = DataLoader(data, args.batch_size // args.world_size, shuffle=True)  # expect
    for _ in range(args.epochs):
        for batch in batches:
            step(model, batch, optimizer)


class Trainer:
    def __init__(self, model, data, rank):
        self.model = DDP(model, device_ids=[rank])
        self.loader = DataLoader(data, shuffle=True)  # expect
        self.held_out = DataLoader(data, shuffle=True)

    def train(self, epochs):
        for _ in range(epochs):
            for batch in self.loader:
                self.model(batch).mean().backward()

    def evaluate(self):
        return sum(self.model(batch).mean() for batch in self.held_out)


def train_epoch(loader, network, scaler):
    for batch in loader:
        scaler.scale(network(batch)).backward()


def passed_to_a_function(data, network, scaler):
    network = DDP(network)
    train_epoch(DataLoader(data, 8, True), network, scaler)  # expect


def accelerated(model, data, optimizer):
    accelerator = Accelerator()
    loader = DataLoader(data, shuffle=True)  # expect
    model, optimizer = accelerator.prepare(model, optimizer)
    for batch in loader:
        accelerator.backward(model(batch))
        optimizer.step()


# --- silent -------------------------------------------------------------------------------


def one_process(model, data, optimizer):
    loader = DataLoader(data, shuffle=True)
    for batch in loader:
        model(batch).mean().backward()
        optimizer.step()


def several_devices_of_one_process(model, data):
    model = DataParallel(model)
    for batch in DataLoader(data, shuffle=True):
        model(batch).mean().backward()


def sampled(model, data):
    model = DDP(model)
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        model(batch).mean().backward()


def sampled_on_demand(args, model, data):
    if args.distributed:
        model = DDP(model)
        sampler = DistributedSampler(data)
    else:
        sampler = None
    for batch in DataLoader(data, sampler=sampler, shuffle=(sampler is None)):
        model(batch).mean().backward()


def two_loaders(args, model, data):
    model = DDP(model)
    if args.distributed:
        loader = DataLoader(data, sampler=DistributedSampler(data))
    else:
        print("one process")
        loader = DataLoader(data, shuffle=True)
    for batch in loader:
        model(batch).mean().backward()


def single_process_branch(args, model, data):
    model = DDP(model) if args.gpus > 1 else model
    if args.gpus == 1:
        for batch in DataLoader(data, shuffle=True):
            model(batch).mean().backward()


def weighted(model, data, weights):
    model = DDP(model)
    for batch in DataLoader(data, sampler=WeightedRandomSampler(weights, 100)):
        model(batch).mean().backward()


class Session:
    def __init__(self, model, is_ddp):
        self.is_ddp = is_ddp
        self.model = model

    def build(self):
        return DDP(self.model) if self.is_ddp else self.model

    def build_by_steps(self):
        model = self.model
        if self.is_ddp:
            model = DDP(model)
        return model




def with_processes(model, data):
    network = Session(model, is_ddp=True).build_by_steps()
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        network(batch).mean().backward()




def sliced_by_hand(model, data):
    model = DDP(model)
    own = Subset(data, range(dist.get_rank(), len(data), dist.get_world_size()))
    for batch in DataLoader(own, shuffle=True):
        model(batch).mean().backward()


class Graphs(DataLoader):
    def __init__(self, dataset, batch_size=1, shuffle=False, **rest):
        super().__init__(dataset, batch_size, shuffle, **rest)


def split_before_a_subclass(model, data, rank, count):
    model = DDP(model)
    chosen = torch.arange(len(data))
    chosen = chosen.split(count)[rank]
    part = data[chosen]
    for batch in Graphs(part, batch_size=8, shuffle=True):
        model(batch).mean().backward()


def whole_in_a_subclass(model, data, world_size):
    model = DDP(model)
    for batch in Graphs(data, batch_size=64 // world_size, shuffle=True):  # expect
        model(batch).mean().backward()


class Shard(Dataset):
    def __init__(self, paths):
        self.paths = paths[dist.get_rank() :: dist.get_world_size()]

    def __getitem__(self, index):
        return torch.load(self.paths[index])


def dataset_that_asks(model, paths):
    model = DDP(model)
    data = Shard(paths)
    for batch in DataLoader(data, shuffle=True):
        model(batch).mean().backward()


def sharded_by_library(model, data, rank):
    model = DDP(model)
    data = data.shard(num_shards=4, index=rank)
    for batch in DataLoader(data, shuffle=True):
        model(batch).mean().backward()


def evaluated(model, data):
    model = DDP(model)
    total = 0
    for batch in DataLoader(data, shuffle=True):
        total += model(batch).mean().item()
    return total


def prepared(model, data, optimizer):
    accelerator = Accelerator()
    loader = DataLoader(data, shuffle=True)
    for batch in loader:
        print(batch.shape)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        accelerator.backward(model(batch))


def prepared_in_a_list(model, data):
    accelerator = Accelerator()
    parts = [model, DataLoader(data, shuffle=True)]
    model, loader = accelerator.prepare(*parts)
    for batch in loader:
        accelerator.backward(model(batch))


def prepared_alone(model, data):
    accelerator = Accelerator()
    loader = accelerator.prepare_data_loader(DataLoader(data, shuffle=True))
    for batch in loader:
        accelerator.backward(model(batch))


def chosen_elsewhere(model, data, shuffle):
    model = DDP(model)
    for batch in DataLoader(data, shuffle=shuffle):
        model(batch).mean().backward()


def model_of_another(model: nn.Module, data, optimizer):
    for batch in DataLoader(data, shuffle=True):
        step(model, batch, optimizer)


def both_by_one_function(model, train_set, test_set, epochs):
    model = DDP(model)
    training = DataLoader(train_set, shuffle=True)  # expect
    held_out = DataLoader(test_set, shuffle=True)
    for _ in range(epochs):
        go_over(model, training, train=True)
        go_over(model, held_out, train=False)


def go_over(model, loader, train):
    for batch in loader:
        loss = model(batch).mean()
        if train:
            loss.backward()


def a_second_stage(model, data, optimizer, epochs):
    model = DDP(model)
    loader = DataLoader(data, sampler=DistributedSampler(data))
    for epoch in range(epochs):
        if epoch == 10:
            loader = DataLoader(data, shuffle=True)  # expect
        for batch in loader:
            model(batch).backward()
            optimizer.step()


def no_replicas(model, data):
    learn(model, DataLoader(data, shuffle=True))


def replicas(model, data):
    learn(DDP(model), DataLoader(data, sampler=DistributedSampler(data)))


def learn(model, loader):
    for batch in loader:
        model(batch).backward()


def several_processes_where_the_environment_says_so(model, data, optimizer):
    world_size = int(os.environ.get("WORLD_SIZE", 1))
    rank = int(os.environ.get("RANK", "0"))
    sampler = None
    if world_size > 1:
        model = DDP(model, device_ids=[rank])
        sampler = DistributedSampler(data, num_replicas=world_size, rank=rank)
    loader = DataLoader(data, batch_size=8, shuffle=sampler is None, sampler=sampler)
    for batch in loader:
        step(model, batch, optimizer)
