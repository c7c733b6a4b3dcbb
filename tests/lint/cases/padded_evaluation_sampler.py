"""Distributed samplers for training and for evaluation."""

import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, DistributedSampler, Sampler, SequentialSampler
from torch.utils.data.distributed import DistributedSampler as Distributed


class Padless(Sampler):
    def __init__(self, dataset, rank, ranks):
        self.own = range(rank, len(dataset), ranks)

    def __iter__(self):
        return iter(self.own)


class PadlessDistributed(DistributedSampler):
    def __init__(self, dataset):
        super().__init__(dataset, shuffle=False)
        self.total_size = len(dataset)


def named_by_sampler(first, second, args):
    if args.distributed:
        sampler_train = DistributedSampler(first)
        sampler_val = DistributedSampler(second, shuffle=False)  # expect
    else:
        sampler_train, sampler_val = None, SequentialSampler(second)
    return sampler_train, sampler_val


def named_by_dataset(train_set, testset, rank, ranks):
    one = DistributedSampler(train_set, num_replicas=ranks, rank=rank, shuffle=True)
    other = torch.utils.data.distributed.DistributedSampler(testset, num_replicas=ranks, rank=rank)  # expect
    return one, other


def named_by_key(datasets):
    return Distributed(datasets["validation"], drop_last=False)  # expect


def named_by_loader(images, labels):
    sampler = DistributedSampler(images, shuffle=False)  # expect
    val_loader = DataLoader(images, sampler=sampler, batch_size=8)
    return val_loader, labels


def named_by_loader_through_batches(images, loaders):
    sampler = DistributedSampler(images, shuffle=False)  # expect
    loaders["eval"] = DataLoader(images, batch_sampler=BatchSampler(sampler, 8, False))


def inline(dataset_eval):
    return DataLoader(dataset_eval, sampler=DistributedSampler(dataset_eval, shuffle=False))  # expect


def conditional(valset, distributed_run):
    chosen = DistributedSampler(valset) if distributed_run else None  # expect
    return DataLoader(valset, sampler=chosen, shuffle=False)


def one_line(a, b):
    train_sampler, val_sampler = DistributedSampler(a), DistributedSampler(b)  # expect
    return train_sampler, val_sampler


class Module:
    def train_dataloader(self):
        return DataLoader(self.data, sampler=DistributedSampler(self.data))

    def val_dataloader(self):
        return DataLoader(self.held_out, sampler=DistributedSampler(self.held_out))  # expect


# --- silent -------------------------------------------------------------------------------


def dropping(val_dataset, drop):
    first = DistributedSampler(val_dataset, shuffle=False, drop_last=True)
    second = DistributedSampler(val_dataset, shuffle=False, drop_last=drop)
    return first, second


def dropping_loader(val_dataset):
    sampler = DistributedSampler(val_dataset, shuffle=False)
    return DataLoader(val_dataset, sampler=sampler, batch_size=4, drop_last=True)


def made_for_evaluation(val_dataset, rank, ranks):
    return Padless(val_dataset, rank, ranks), PadlessDistributed(val_dataset)


def training(dataset, train_data):
    sampler = DistributedSampler(dataset)
    return DataLoader(train_data, sampler=sampler)


def either(dataset, is_train):
    sampler = DistributedSampler(dataset, shuffle=is_train)
    return DataLoader(dataset, sampler=sampler)


def shared(dataset, rank):
    sampler = DistributedSampler(dataset, rank=rank)
    train_loader = DataLoader(dataset, sampler=sampler)
    test_loader = DataLoader(dataset, sampler=sampler)
    return train_loader, test_loader


def part_of_training(train_val_dataset):
    return DistributedSampler(train_val_dataset)


def other_ranks(val_dataset):
    return SequentialSampler(val_dataset), DataLoader(val_dataset)


def test_that_ranks_share(numbers: Dataset):
    samplers = [DistributedSampler(numbers, num_replicas=2, rank=rank) for rank in range(2)]
    assert len(samplers[0]) == len(samplers[1])


def another_class(val_dataset, samplers):
    return samplers.DistributedSampler(val_dataset)


def said_at_run_time(dataset_val, ranks):
    if len(dataset_val) % ranks != 0:
        print("some samples count twice")
    return DistributedSampler(dataset_val, num_replicas=ranks, shuffle=False)


def of_another_length(val_dataset, batches, ranks):
    spare = len(batches) % ranks
    return spare, DistributedSampler(val_dataset, num_replicas=ranks, shuffle=False)  # expect
