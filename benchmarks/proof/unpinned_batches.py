"""A network of 7 convolutions, trained on batches of 7.1 MB from a loader that pins, or from one that does not."""

from __future__ import annotations

from torch.utils.data import DataLoader
from training import begun, since

NEEDS = ("cuda",)
CHECK = ""
EFFECT = "takes {figure} times as long for a training step: {faulty} ms, not {mended} ms"
COMPARE = "ratio"


def faulty() -> float:
    model, dataset, start = begun()
    for (images,) in DataLoader(dataset, batch_size=64, num_workers=4):
        model(images.cuda()).mean().backward()
    return since(start)


def mended() -> float:
    model, dataset, start = begun()
    for (images,) in DataLoader(dataset, batch_size=64, num_workers=4, pin_memory=True):
        model(images.cuda(non_blocking=True)).mean().backward()
    return since(start)
