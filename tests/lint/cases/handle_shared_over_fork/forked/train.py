import importlib

from data import make_loader


def train(name, path):
    dataset = getattr(importlib.import_module("data"), name)(path)
    for batch in make_loader(dataset):
        print(batch)


if __name__ == "__main__":
    train("Archived", "photos.zip")
