"""A network of 7 convolutions, of whose batches of 64 each result is read, one by one or all at once."""

from __future__ import annotations

import torch
from torch.utils.data import DataLoader
from training import begun, since

NEEDS = ("cuda",)
CHECK = ""
EFFECT = "takes {figure} times as long for a batch: {faulty} ms, not {mended} ms"
COMPARE = "ratio"


def faulty() -> float:
    model, dataset, start = begun()
    found = []
    with torch.no_grad():
        for (images,) in DataLoader(dataset, batch_size=64, num_workers=4, pin_memory=True):
            labels = model(images.cuda(non_blocking=True)).argmax(dim=1)
            found.extend(label.item() for label in labels)
    return since(start)


def mended() -> float:
    model, dataset, start = begun()
    found = []
    with torch.no_grad():
        for (images,) in DataLoader(dataset, batch_size=64, num_workers=4, pin_memory=True):
            labels = model(images.cuda(non_blocking=True)).argmax(dim=1)
            found.extend(labels.tolist())
    return since(start)
