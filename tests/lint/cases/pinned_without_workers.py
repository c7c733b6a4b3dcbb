import argparse

import torch
from torch.utils.data import DataLoader

from shapes import consume, options

device = torch.device("cuda")


def absent(model, dataset):
    loader = DataLoader(dataset, batch_size=32, pin_memory=True)  # expect
    for images, labels in loader:
        model(images.to(device), labels.to(device))


def copied_beside_the_host(model, dataset):
    loader = DataLoader(dataset, batch_size=32, pin_memory=True)  # expect
    for images, labels in loader:
        model(images.to(device, non_blocking=True), labels.to(device, non_blocking=True))


def one_copy_beside_the_host(model, dataset):
    loader = DataLoader(dataset, batch_size=32, pin_memory=True)  # expect
    for images, labels in loader:
        model(images.to(device, non_blocking=True), labels.to(device))


def zero(model, dataset):
    loader = DataLoader(dataset, batch_size=32, num_workers=0, pin_memory=True)  # expect
    for batch in loader:
        batch = {key: value.cuda() for key, value in batch.items()}
        model(batch)


def by_position(model, dataset):
    loader = DataLoader(dataset, 32, True, None, None, 0, pin_memory=True)  # expect
    for images in loader:
        model(images.cuda())


def pinned_when_it_matters(model, dataset):
    loader = DataLoader(dataset, pin_memory=torch.cuda.is_available())  # expect
    for images in loader:
        model(images.to(device))


def in_a_dict(model, dataset):
    kwargs = dict(batch_size=8, pin_memory=True)
    loader = DataLoader(dataset, **kwargs)  # expect
    for images in loader:
        model(images.to(device))


class Trainer:
    def __init__(self, model, dataset, rank):
        self.model = model
        self.rank = rank
        self.data = prepare(dataset)

    def run(self):
        for source, target in self.data:
            self.model(source.to(self.rank), target.to(self.rank))


def prepare(dataset):
    return DataLoader(  # expect
        dataset,
        batch_size=8,
        pin_memory=True,
        shuffle=False,
    )


# --- traps ----------------------------------------------------------------------------------


def with_workers(model, dataset):
    loader = DataLoader(dataset, num_workers=4, pin_memory=True)
    for images in loader:
        model(images.to(device, non_blocking=True))


def workers_of_the_caller(model, dataset, workers, **kwargs):
    for images in DataLoader(dataset, num_workers=workers, pin_memory=True):
        model(images.to(device))
    for images in DataLoader(dataset, pin_memory=True, **kwargs):
        model(images.to(device))
    for images in DataLoader(dataset, pin_memory=True, **options()):
        model(images.to(device))


def workers_of_the_command_line(model, dataset):
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=0)
    args = parser.parse_args()
    for images in DataLoader(dataset, num_workers=args.workers, pin_memory=True):
        model(images.to(device))


def workers_of_a_parameter(model, dataset, num_workers=0):
    for images in DataLoader(dataset, num_workers=num_workers, pin_memory=True):
        model(images.to(device))


class Settings:
    num_workers = 0
    batch_size = 8

    def __init__(self, **kwargs):
        for key, value in kwargs.items():
            setattr(self, key, value)


def workers_over_a_default(model, dataset):
    settings = Settings(num_workers=4)
    for images in DataLoader(dataset, num_workers=settings.num_workers, pin_memory=True):
        model(images.to(device))


def the_default(model, dataset):
    settings = Settings(batch_size=4)
    loader = DataLoader(dataset, num_workers=settings.num_workers, pin_memory=True)  # expect
    for images in loader:
        model(images.to(device))


def sometimes_workers(model, dataset, debug):
    workers = 0 if debug else 4
    for images in DataLoader(dataset, num_workers=workers, pin_memory=True):
        model(images.to(device))


def not_pinned(model, dataset):
    for images in DataLoader(dataset):
        model(images.to(device))
    for images in DataLoader(dataset, num_workers=0, pin_memory=False):
        model(images.to(device))


def pinning_of_the_caller(model, dataset, pin):
    for images in DataLoader(dataset, num_workers=0, pin_memory=pin):
        model(images.to(device))


def stays_on_the_host(model, dataset):
    for images in DataLoader(dataset, pin_memory=True):
        model(images)


def unseen(dataset):
    consume(DataLoader(dataset, pin_memory=True))




def visualize(model, dataset, device):
    for images in DataLoader(dataset, pin_memory=True):  # expect
        model(images.to(device))


def predict_all(model, dataset, device):
    for images in DataLoader(dataset, pin_memory=True):  # expect
        model(moved(images, device))


def learn_from_all(model, dataset, device):
    for images in DataLoader(dataset, pin_memory=True):  # expect
        model(moved(images, device)).backward()


def moved(images, device):
    return images.to(device)
