import sys

from data import make


def train(model):
    for batch in make():
        model(batch)


def train_on(model, path):
    for batch in make(listing=path, keep=False):
        model(batch)


def look(model, path):
    for batch in make(workers=0, names=path):
        model(batch)


if __name__ == "__main__":
    look(print, sys.argv[1])
    train_on(print, sys.argv[1])
    train(print)
