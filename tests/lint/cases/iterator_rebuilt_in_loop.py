import argparse
import itertools

import torch
from torch.utils import data as torchdata
from torch.utils.data import DataLoader, IterableDataset
from tqdm import tqdm


# --- anew for each batch --------------------------------------------------------------------------


def each_step(model, dataset, steps):
    loader = DataLoader(dataset, batch_size=8, shuffle=True, num_workers=2)
    for step in range(steps):
        images, labels = next(iter(loader))  # expect
        model(images, labels)


def endless(model, dataset):
    loader = torchdata.DataLoader(dataset)
    while True:
        batch = next(iter(loader))  # expect
        model(batch)


def through_a_name(model, dataset, steps):
    loader = DataLoader(dataset, num_workers=2)
    for step in tqdm(range(steps)):
        batches = iter(loader)  # expect
        model(next(batches))


def dunder(model, dataset, steps):
    loader = DataLoader(dataset, num_workers=2)
    for step in range(steps):
        model(iter(loader).__next__())  # expect


def second_loader(model, dataset, extra):
    labelled = DataLoader(dataset, num_workers=2)
    unlabelled = DataLoader(extra, num_workers=2)
    for images, labels in labelled:
        model(images, labels, next(iter(unlabelled)))  # expect


def in_a_comprehension(dataset, count):
    loader = DataLoader(dataset, shuffle=True)
    return [next(iter(loader)) for _ in range(count)]  # expect


class Trainer:
    def __init__(self, dataset):
        self.loader = DataLoader(dataset, num_workers=4)

    def fit(self, steps):
        for step in range(steps):
            self.step(self.draw())

    def draw(self):
        return next(iter(self.loader))  # expect

    def step(self, batch):
        batch.sum().backward()


def parameter(loader, model, steps):
    for step in range(steps):
        model(next(iter(loader)))  # expect


def calls_it(model, dataset):
    parameter(DataLoader(dataset, num_workers=2), model, 10)


def most_steps(model, dataset, extra, phase, steps):
    loader = DataLoader(dataset, num_workers=2)
    other = DataLoader(extra, num_workers=2)
    for step in range(steps):
        if step % 100 != 0:
            model(next(iter(loader)))  # expect
        if phase == "train":
            model(next(iter(other)))  # expect
        if step >= 10 and step != 50:
            model(next(iter(other)))  # expect
        if step % 1 == 0:
            model(next(iter(other)))  # expect


def sampled_every_time(model, loader, step, every):
    if step % every == 0:
        model.save(step)
    model(next(iter(loader)))  # expect


def called_now_and_always(model, dataset, extra, steps, every):
    loader = DataLoader(extra, num_workers=2)
    for step, batch in enumerate(DataLoader(dataset)):
        model(batch)
        if step % every == 0:
            sampled_every_time(model, loader, step, every)
        sampled_every_time(model, loader, step, every)


# --- every n steps ----------------------------------------------------------------------------------


def every_nth(model, dataset, extra, steps, every):
    loader = DataLoader(dataset, num_workers=2)
    other = DataLoader(extra, num_workers=2)
    for step, batch in enumerate(loader):
        model(batch)
        if step % every == 0:
            model(next(iter(other)))
        if step > 0 and (step + 1) % 100 == 0:
            shown = iter(other)
            model(next(shown))
        if step % 100:
            continue
        model(next(iter(other)))


def sample(model, loader, done):
    model(next(iter(loader)), done)


def show(model, loader, done):
    sample(model, loader, done)


def sampled_every_nth(model, dataset, extra, epochs):
    parser = argparse.ArgumentParser()
    parser.add_argument("--sample_interval", type=int, default=100)
    opt = parser.parse_args()
    loader = DataLoader(dataset)
    other = DataLoader(extra, num_workers=2)
    for epoch in range(epochs):
        for number, batch in enumerate(loader):
            model(batch)
            done = epoch * len(loader) + number
            if done % opt.sample_interval == 0:
                show(model, other, done)


def sample_when_due(model, loader, step):
    if step % 50 != 0:
        return
    model(next(iter(loader)))


def asked_each_step(model, dataset, steps):
    loader = DataLoader(dataset, num_workers=2)
    for step in range(steps):
        sample_when_due(model, loader, step)


# --- once -------------------------------------------------------------------------------------------


def first_batch_of(dataset, model):
    loader = DataLoader(dataset, num_workers=2)
    return model(next(iter(loader)))


def of_each_dataset(model, datasets):
    for dataset in datasets:
        first_batch_of(dataset, model)


def before_the_loop(model, dataset, steps):
    loader = DataLoader(dataset, num_workers=2)
    batches = iter(loader)
    example = next(iter(loader))
    for step in range(steps):
        model(next(batches), example)


def restarted_when_exhausted(model, dataset, steps):
    loader = DataLoader(dataset, num_workers=2)
    batches = iter(loader)
    for step in range(steps):
        try:
            batch = next(batches)
        except StopIteration:
            batches = iter(loader)
            batch = next(batches)
        model(batch)


def restarted_when_due(model, dataset, steps):
    loader = DataLoader(dataset, num_workers=2)
    for step in range(steps):
        if step % len(loader) == 0:
            batches = iter(loader)
        model(next(batches))


def each_epoch(model, dataset, epochs):
    loader = DataLoader(dataset, num_workers=2)
    for epoch in range(epochs):
        batches = iter(loader)
        for _ in range(len(loader)):
            model(next(batches))


def batch_size_of_each_epoch(model, dataset, epochs):
    loader = DataLoader(dataset, num_workers=2)
    for epoch in range(epochs):
        size = len(next(iter(loader))[0])
        for batch in loader:
            model(batch, size)


class Logged:
    def __init__(self, dataset):
        self.loader = DataLoader(dataset)

    def run_epoch(self, epoch):
        size = len(next(iter(self.loader))[0])
        for batch in self.loader:
            batch.sum().backward()
        return size

    def train(self, epochs):
        for epoch in range(epochs):
            self.run_epoch(epoch)




def of_each_of_some(model, train, test):
    loaders = {"train": DataLoader(train), "test": DataLoader(test)}
    return {name: 0 for name in loaders}


def warm_up(model, dataset):
    model(next(iter(DataLoader(dataset))))


def shared_iterator(model, dataset, steps):
    loader = DataLoader(dataset, num_workers=2)
    for step in range(steps):
        batches = iter(loader)
        first, second = next(batches), next(batches)
        model(first, second)


# --- no loader ------------------------------------------------------------------------------------


def dictionaries(tables, model):
    for table in tables:
        first = next(iter(table.values()))
        key = next(iter(table))
        device = next(iter(model.parameters())).device
        yield first, key, device


def lists(rows):
    names = ["a", "b"]
    for row in rows:
        yield next(iter(names)), next(iter(row))


def unknown(loader, steps):
    for step in range(steps):
        yield next(iter(loader))


def counting(steps):
    for step in range(steps):
        yield next(iter(itertools.count()))


def tensors(steps):
    for step in range(steps):
        yield next(iter(torch.arange(3)))


def builtin_shadowed(dataset, steps, iter):
    loader = DataLoader(dataset)
    for step in range(steps):
        yield next(iter(loader))


def looked_at_once_an_epoch(model, dataset, held_out, device):
    loader = DataLoader(dataset, num_workers=4)
    held_out = DataLoader(held_out, num_workers=4)
    for _ in range(100):
        learn_from_all(model, loader)
        batch = next(iter(held_out))
        model.show(batch)


def learn_from_all(model, loader):
    for batch in loader:
        model(batch).backward()


def stepping_and_validated_now_and_then(model, dataset, held_out):
    loader = DataLoader(dataset, num_workers=4)
    held_out = DataLoader(held_out, num_workers=4)
    for step in range(100_000):
        model(next(iter(loader))).backward()  # expect
        if step % 1000 == 0:
            learn_from_all(model, held_out)


class Stream(IterableDataset):
    def __init__(self):
        self.signal = None

    def set_signal(self, signal):
        self.signal = signal

    def __iter__(self):
        yield self.signal


def handed_to_another(model, images, dataset):
    stream = Stream()
    loader = DataLoader(dataset, batch_size=1)
    for image in images:
        stream.set_signal(image)
        batch = next(iter(loader))  # expect
        model(batch, image)


# --- steps that evaluate now and then ---------------------------------------------------------------


def evaluates_every_n_steps(model, dataset, held_out, steps, every):
    loader = DataLoader(dataset, num_workers=2)
    for step in range(steps):
        model(next(iter(loader))).backward()  # expect
        if step % every == 0 and step != 0:
            for batch in DataLoader(held_out):
                model(batch)


def a_sample_of_each_epoch(model, dataset, epochs):
    loader = DataLoader(dataset, num_workers=2)
    for _ in range(epochs):
        model.show(next(iter(loader)))
        for batch in loader:
            model(batch).backward()


# --- the first batch of each of several loaders -----------------------------------------------------


def first_of(loader):
    return next(iter(loader))


def one_batch_of_each(model, datasets):
    loaders = [DataLoader(dataset, num_workers=2) for dataset in datasets]
    firsts = [next(iter(loader)) for loader in loaders]
    for loader in loaders:
        model(next(iter(loader)))
    for loader in loaders:
        model(first_of(loader))
    return firsts
