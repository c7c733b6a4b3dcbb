from types import SimpleNamespace

import torch
from omegaconf import OmegaConf
from torch.utils.data import DataLoader, DistributedSampler, IterableDataset, RandomSampler
from torch.utils.data import DataLoader as TorchDataLoader

from shapes import MpLoader, batches_of, config, loaders


def batch_size(dataset):
    loader = DataLoader(dataset, batch_size=32)
    loader.batch_size = 16  # expect
    return loader


def sampler(dataset):
    loader = DataLoader(dataset)
    loader.sampler = DistributedSampler(dataset)  # expect
    loader.batch_sampler = batches_of(dataset)  # expect
    return loader


def the_rest(dataset, other):
    loader = DataLoader(dataset)
    loader.dataset = other  # expect
    loader.drop_last = True  # expect
    loader.persistent_workers = True  # expect
    return loader


def halved(dataset):
    loader = DataLoader(dataset, batch_size=32)
    loader.batch_size //= 2  # expect
    return loader


def by_name(dataset):
    loader = DataLoader(dataset, batch_size=32)
    setattr(loader, "batch_size", 16)  # expect
    return loader


def of_an_annotated_parameter(train_loader: DataLoader, distributed: bool):
    if distributed:
        train_loader.sampler = DistributedSampler(train_loader.dataset)  # expect
    return train_loader


class Trainer:
    def __init__(self, dataset):
        self.loader = DataLoader(dataset, batch_size=4)

    def reweigh(self, dataset):
        self.loader.sampler = RandomSampler(dataset)  # expect


class Repeating(DataLoader):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.batch_sampler = Forever(self.batch_sampler)  # expect
        self.repeated = True


def of_a_subclass(dataset):
    loader = Repeating(dataset)
    loader.dataset = list(dataset)  # expect


# --- traps ----------------------------------------------------------------------------------


class Forever:
    def __init__(self, sampler):
        self.sampler = sampler
        self.batch_sampler = sampler
        self.dataset = None


class Switched(DataLoader):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._DataLoader__initialized = False
        self.batch_sampler = Forever(self.batch_sampler)
        self._DataLoader__initialized = True


class Early(DataLoader):
    def __init__(self, dataset, **kwargs):
        self.dataset = dataset
        self.batch_size = 1
        super().__init__(dataset, **kwargs)


class Recreated(DataLoader):
    def __init__(self, dataset, batch_size=1, **kwargs):
        if kwargs.get("collate_fn") is gather:
            super().__init__(dataset, batch_size=batch_size, **kwargs)
            return
        self.dataset = list(dataset)
        super().__init__(self.dataset, batch_size=None, collate_fn=gather, **kwargs)


class Around(DataLoader):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        object.__setattr__(self, "batch_sampler", Forever(self.batch_sampler))


class Lenient(DataLoader):
    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)

    def widen(self):
        self.batch_size = 64


class Feed:
    def __init__(self, loader):
        self.loader = loader
        self.dataset = loader.dataset
        self.batch_size = loader.batch_size
        self.sampler = loader.sampler


class Stream(IterableDataset):
    def __init__(self, batch_size):
        self.batch_size = batch_size
        self.drop_last = False


def other_attributes(dataset, collate, init):
    loader = DataLoader(dataset, batch_size=32)
    loader.collate_fn = collate
    loader.worker_init_fn = init
    loader.pin_memory = True
    loader.timeout = 5
    loader.name = "train"
    loader.dataset.transform = None
    loader.sampler.shuffle = False
    loader.batch_sampler.batch_size = 8
    loader.batch_sampler.sampler = RandomSampler(dataset)
    object.__setattr__(loader, "dataset", dataset)
    return loader


def other_classes(dataset):
    cfg = OmegaConf.create({"dataloader": {}})
    cfg.dataloader.batch_size = 16
    config.train_dataloader.batch_size = 16
    config.train_dataloader.dataset = dataset
    wrapped = MpLoader(DataLoader(dataset), torch.device("cuda"))
    wrapped.sampler = None
    box = SimpleNamespace()
    box.dataset = dataset
    box.sampler = RandomSampler(dataset)
    train_loader = loaders["train"]
    train_loader.batch_size = 4
    feed = Feed(DataLoader(dataset))
    feed.batch_size = 4
    feed.loader = DataLoader(dataset)
    return box, cfg


def an_unknown_parameter(loader, dataset):
    loader.dataset = dataset
    loader.batch_size = 4


def one_or_the_other(dataset, fast):
    loader = Feed(DataLoader(dataset)) if fast else DataLoader(dataset)
    loader.batch_size = 4
    return loader


class Mangled:
    class DataLoader(TorchDataLoader):
        """Of torch's own name, so that Python mangles the switch into torch's."""

        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.__initialized = False
            self.batch_sampler = Endless(self.batch_sampler)
            self.__initialized = True

    class Loader(TorchDataLoader):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.__initialized = False
            self.batch_sampler = Endless(self.batch_sampler)  # expect
            self.__initialized = True


def gather(batch):
    return batch
