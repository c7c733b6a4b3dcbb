import data
import once


def build(module, settings, *args):
    return getattr(module, settings["type"])(*args)  # expect


def train(model, loader, epochs):
    for _ in range(epochs):
        for batch in loader:
            model(batch).backward()


def main(model, settings, dataset, epochs):
    train(model, build(data, settings, dataset, 4), epochs)
    for batch in once.__dict__[settings["test"]](dataset):
        model(batch)
