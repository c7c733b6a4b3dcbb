import argparse

import torch
from torch.utils.data import DataLoader, DistributedSampler


def direct(val_dataset, test_set):
    val_loader = DataLoader(val_dataset, batch_size=32, drop_last=True)  # expect
    test_loader = DataLoader(test_set, 32, False, num_workers=4, drop_last=True)  # expect
    return val_loader, test_loader


def measured(model, dataset):
    eval_loader = DataLoader(
        dataset,
        batch_size=32,
        drop_last=True,  # expect
    )
    with torch.no_grad():
        return sum(model(batch).sum() for batch in eval_loader)


def build(dataset, drop):
    return DataLoader(dataset, batch_size=32, drop_last=drop)


train_loader = build(make("train"), True)
valid_loader = build(make("valid"), True)  # expect


def make_loader(dataset):
    return DataLoader(dataset, batch_size=32, drop_last=True)  # expect


test_loader = make_loader(make("test"))


def provider(dataset, flag, size):
    if flag == "test":
        shuffle = False
        drop_last = True  # expect
    elif flag == "pred":
        shuffle = False
        drop_last = False
    else:
        shuffle = True
        drop_last = True
    return DataLoader(dataset, batch_size=size, shuffle=shuffle, drop_last=drop_last)


class Provider:
    def __init__(self, options):
        self.data = make(options)
        if options.distributed and options.is_train:
            self.sampler = DistributedSampler(self.data)
            self.loader = DataLoader(self.data, 32, sampler=self.sampler, drop_last=True)
        elif options.distributed or not options.is_train:
            self.loader = DataLoader(self.data, 32, drop_last=True)  # expect
        else:
            self.loader = DataLoader(self.data, 32, drop_last=True)


def providers(train_options, val_options):
    train_provider, val_provider = Provider(train_options), Provider(val_options)
    return train_provider.loader, val_provider.loader


def thawed(val_set, freeze_train, frozen):
    if freeze_train and not frozen:
        val_loader = DataLoader(val_set, batch_size=32, drop_last=True)  # expect
        return val_loader


# --- traps ---------------------------------------------------------------------------------


def training(train_set, dataset):
    train_loader = DataLoader(train_set, batch_size=32, drop_last=True)
    loader = DataLoader(dataset, batch_size=32, drop_last=True)
    return train_loader, loader


def kept(val_dataset, args):
    plain = DataLoader(val_dataset, batch_size=32)
    kept = DataLoader(val_dataset, batch_size=32, drop_last=False)
    asked = DataLoader(val_dataset, batch_size=32, drop_last=args.drop_last)
    return plain, kept, asked


def of_one(test_set):
    return DataLoader(test_set, batch_size=1, drop_last=True), DataLoader(test_set, drop_last=True)


def one_at_a_time(dataset, flag, size):
    if flag == "test":
        drop_last = True
        size = 1
    else:
        drop_last = False
    return DataLoader(dataset, batch_size=size, drop_last=drop_last)


def tuned_on(model, val_set, optimizer):
    for batch in DataLoader(val_set, batch_size=32, drop_last=True):
        model(batch).backward()
        optimizer.step()


def decided(dataset, split):
    return DataLoader(dataset, batch_size=32, drop_last=split == "train")


def shared(train_set, val_set):
    for name, dataset in {"train": train_set, "val": val_set}.items():
        yield name, DataLoader(dataset, batch_size=32, drop_last=True)


def of_flag(dataset, is_train):
    if is_train:
        return DataLoader(dataset, batch_size=32, drop_last=True)
    return DataLoader(dataset, batch_size=1)


shown_valid_loader = of_flag(make("valid"), False)


def of_other_flag(dataset, train):
    if train:
        loader = DataLoader(dataset, batch_size=32, shuffle=True, drop_last=True)
    else:
        loader = DataLoader(dataset, batch_size=32, drop_last=True)  # expect
    return loader


def endless(dataset):
    loader = DataLoader(dataset, batch_size=32, shuffle=True, drop_last=True)
    while True:
        yield from loader


val_batches = endless(make("val"))


class Wrapped(DataLoader):
    def __init__(self, mode="train", **options):
        super().__init__(**options)


def tests_of(dataset):
    options = {"batch_size": 8, "drop_last": True}
    test_loader = Wrapped("test", dataset=dataset, **options)
    return [batch for batch in test_loader]


# --- one sample a batch by default: nothing is dropped ------------------------------------


def one_at_a_time(val_set, test_set):
    parser = argparse.ArgumentParser()
    parser.add_argument("--val-batch", type=int, default=1)
    parser.add_argument("--test-batch", type=int, default=8)
    args = parser.parse_args()
    val_loader = DataLoader(val_set, batch_size=args.val_batch, drop_last=True)
    test_loader = DataLoader(test_set, batch_size=args.test_batch, drop_last=True)  # expect
    return val_loader, test_loader
