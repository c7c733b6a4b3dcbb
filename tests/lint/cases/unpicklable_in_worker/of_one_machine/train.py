import sys

sys.path.insert(0, "/home/ann/code")

from data import make_loader


def train(model, dataset, steps):
    loader = make_loader(dataset, 4)
    batches = iter(loader)
    for _ in range(steps):
        model(batches.next())


if __name__ == "__main__":
    train(print, list(range(8)), 2)
