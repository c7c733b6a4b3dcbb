import argparse

import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset, RandomSampler, TensorDataset


def without_shuffle(dataset, batch_size, shuffle=False):  # expect
    return DataLoader(dataset, batch_size=batch_size, num_workers=4)


def without_workers(dataset, num_workers=0, pin_memory=True):  # expect
    return DataLoader(dataset, batch_size=16, pin_memory=pin_memory)


def fixed_size(dataset, *, batch_size):  # expect
    return DataLoader(dataset, batch_size=2, shuffle=True)


def without_collate(dataset, collate_fn=None):  # expect
    return DataLoader(dataset, batch_size=2)


class Base:
    def make(self, names, batch_size, shuffle=False):
        raise NotImplementedError

    def training(self, names):
        return self.make(names, 32, shuffle=True)

    def validation(self, names):
        return self.make(names, 32)


class Derived(Base):
    def make(self, names, batch_size, shuffle=False):  # expect
        return DataLoader(TensorDataset(torch.tensor(names)), batch_size=batch_size)


class Indexed(Dataset):
    def __getitem__(self, index):
        return index


class Streamed(IterableDataset):
    def __iter__(self):
        yield 1


def main():
    dataset = Indexed()
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=8)
    args = parser.parse_args()
    yield without_shuffle(dataset, 8, True)
    yield without_shuffle(dataset, 8)
    yield without_workers(dataset, num_workers=args.workers)
    yield fixed_size(dataset, batch_size=64)
    yield without_collate(dataset, collate_fn=list)
    yield from (Derived().training([1]), Derived().validation([1]))


# --- silent ----------------------------------------------------------------------------


def passes_on(dataset, batch_size, shuffle=False, num_workers=0):
    return DataLoader(dataset, batch_size, shuffle, num_workers=num_workers)


def by_sampler(dataset, shuffle):
    sampler = RandomSampler(dataset)
    return DataLoader(dataset, batch_size=8, sampler=sampler)


def by_batch_sampler(dataset, batch_size, drop_last):
    batches = BatchSampler(RandomSampler(dataset), 8, drop_last=True)
    return DataLoader(dataset, batch_sampler=batches)


def reads_all(dataset, batch_size, num_workers):
    options = {name: value for name, value in locals().items() if name != "dataset"}
    return DataLoader(dataset, **options)


def reads_within(dataset, num_workers, batch_size):
    def build():
        return DataLoader(dataset, batch_size=batch_size, num_workers=num_workers)

    return build()


def in_another_place(dataset, num_workers, batch_size):
    torch.set_num_threads(num_workers)
    return DataLoader(dataset, batch_size=batch_size)


def asked_for_what_it_is(dataset, shuffle=True, num_workers=4):
    return DataLoader(dataset, shuffle=True, num_workers=4)


def nobody_asks(dataset, batch_size=1, shuffle=True):
    return DataLoader(dataset, batch_size=8)


def from_settings(dataset, settings, batch_size=1):
    return DataLoader(dataset, batch_size=settings.batch_size)


def of_something_else(dataset, context, timeout=5, rank=0):
    return DataLoader(dataset, batch_size=8)


def collates_itself(dataset, collate_fn=None):
    return DataLoader(dataset, batch_size=8, collate_fn=list)


def streams(dataset, shuffle=False):
    return DataLoader(dataset, batch_size=8)


def streams_or_not(dataset, shuffle=False):
    return DataLoader(dataset, batch_size=8)


class Interface:
    def make(self, dataset, shuffle=False):
        return DataLoader(dataset, shuffle=shuffle)


class Stored(Interface):
    def make(self, dataset, shuffle=False):
        return DataLoader(dataset, batch_size=8)


def callers(dataset, settings):
    yield streams(Streamed(), shuffle=True)
    yield streams_or_not(dataset, shuffle=True)
    yield passes_on(dataset, 8, shuffle=True, num_workers=2)
    yield by_sampler(dataset, shuffle=True)
    yield by_batch_sampler(dataset, 8, drop_last=True)
    yield reads_all(dataset, 8, 4)
    yield reads_within(dataset, 8, 4)
    yield in_another_place(dataset, 8, 4)
    yield asked_for_what_it_is(dataset, shuffle=True, num_workers=4)
    yield asked_for_what_it_is(dataset)
    yield nobody_asks(dataset)
    yield nobody_asks(dataset, batch_size=8)
    yield from_settings(dataset, settings, batch_size=settings.batch_size)
    yield of_something_else(dataset, None, rank=3)
    yield collates_itself(dataset, collate_fn=list)
    yield Stored().make(dataset, shuffle=False)
