import argparse

import torch.utils.data as data
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)


class Files(Dataset):
    def __getitem__(self, index):
        return index

    def __len__(self):
        return 8


class Stream(IterableDataset):
    def __iter__(self):
        yield from range(8)


def sampler_and_shuffle(files, weights):
    sampler = WeightedRandomSampler(weights, 8)
    a = DataLoader(files, shuffle=True, sampler=sampler)  # expect
    b = DataLoader(files, 4, True, SubsetRandomSampler([1, 2]))  # expect
    return a, b


def keywords(files):
    kwargs = {"sampler": RandomSampler(files)}
    kwargs["shuffle"] = True
    return DataLoader(files, batch_size=4, **kwargs)  # expect


def batch_sampler(files):
    batches = BatchSampler(RandomSampler(files), batch_size=4, drop_last=True)
    a = DataLoader(files, batch_sampler=batches, batch_size=4)  # expect
    b = DataLoader(files, batch_sampler=batches, drop_last=True)  # expect
    c = data.DataLoader(files, batch_sampler=batches, shuffle=True)  # expect
    d = DataLoader(files, batch_sampler=batches, batch_size=None)  # expect
    return a, b, c, d


def unbatched(files):
    return DataLoader(files, batch_size=None, drop_last=True)  # expect


def iterable():
    stream = Stream()
    a = DataLoader(stream, batch_size=4, shuffle=True)  # expect
    b = DataLoader(stream, sampler=RandomSampler(range(8)))  # expect
    return a, b


# --- silent ----------------------------------------------------------------------------


def legal(files):
    batches = BatchSampler(RandomSampler(files), batch_size=4, drop_last=True)
    yield DataLoader(files, batch_sampler=batches)
    yield DataLoader(files, batch_sampler=batches, batch_size=1, shuffle=False, drop_last=False)
    yield DataLoader(files, sampler=RandomSampler(files), shuffle=False)
    yield DataLoader(files, sampler=None, shuffle=True)
    yield DataLoader(files, batch_size=None, shuffle=True)
    yield DataLoader(Stream(), batch_size=4, shuffle=False)
    yield DataLoader(Stream(), batch_size=None)


def correlated(files, distributed, train):
    sampler = DistributedSampler(files) if distributed else None
    yield DataLoader(files, shuffle=(sampler is None), sampler=sampler)
    yield DataLoader(files, shuffle=train and sampler is None, sampler=sampler)
    yield DataLoader(files, shuffle=False if sampler else train, sampler=sampler)


def correlated_branches(files, distributed):
    if distributed:
        sampler = DistributedSampler(files)
        shuffle = False
    else:
        sampler = None
        shuffle = True
    return DataLoader(files, shuffle=shuffle, sampler=sampler)


def a_flag_set_beside_the_sampler(files, distributed):
    shuffle = True
    sampler = None
    if distributed:
        sampler = DistributedSampler(files)
        shuffle = False
    return DataLoader(files, shuffle=shuffle, sampler=sampler)


def keywords_of_a_nested_call(files):
    yield DataLoader(files, sampler=DistributedSampler(files, shuffle=True))
    yield DataLoader(files, batch_sampler=BatchSampler(RandomSampler(files), batch_size=4, drop_last=True))


def perhaps_iterable(streaming):
    dataset = Stream() if streaming else Files()
    return DataLoader(dataset, shuffle=not streaming)


def from_the_command_line(files, sampler):
    parser = argparse.ArgumentParser()
    parser.add_argument("--shuffle", default=True, type=bool)
    args = parser.parse_args()
    yield DataLoader(files, shuffle=args.shuffle, sampler=RandomSampler(files))
    yield DataLoader(files, shuffle=True, sampler=sampler)


def unknown(files, make_sampler, **options):
    yield DataLoader(files, shuffle=True, sampler=make_sampler(files))
    yield DataLoader(files, shuffle=True, **options)


def taken_out(files, options):
    """Whoever calls it may ask for an order, which the sampler decides here."""
    options.pop("shuffle", None)
    return DataLoader(files, sampler=RandomSampler(files), **options)


def left_in(files, options):
    options.pop("drop_last", None)
    return DataLoader(files, sampler=RandomSampler(files), **options)  # expect


def taken_out_of_its_own(files, **options):
    del options["shuffle"]
    return DataLoader(files, sampler=RandomSampler(files), **options)


def both(files):
    options = {"batch_size": 4, "shuffle": True, "drop_last": True}
    return (
        taken_out(files, options),
        left_in(files, {"shuffle": True, "drop_last": True}),
        taken_out_of_its_own(files, batch_size=4, shuffle=True),
    )
