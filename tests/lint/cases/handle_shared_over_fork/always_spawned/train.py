import importlib
import json

import torch
from data import make_loader


def train(name, path):
    dataset = getattr(importlib.import_module("data"), name)(path)
    for batch in make_loader(dataset, **json.load(open("options.json"))):
        print(batch)


if __name__ == "__main__":
    torch.multiprocessing.set_start_method("spawn")
    train("Archived", "photos.zip")
