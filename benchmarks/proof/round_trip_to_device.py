"""Batches of 7.1 MB beside a network of 7 convolutions, which come back from the device as they were, or stay."""

from __future__ import annotations

from torch.utils.data import DataLoader
from training import begun, since

NEEDS = ("cuda",)
CHECK = ""
EFFECT = "takes {figure} times as long for a training step: {faulty} ms, not {mended} ms"
COMPARE = "ratio"


def faulty() -> float:
    model, dataset, start = begun()
    total = 0.0
    for (images,) in DataLoader(dataset, batch_size=64, num_workers=4, pin_memory=True):
        model(images.cuda(non_blocking=True)).mean().backward()
        seen = images.cuda(non_blocking=True)
        total += seen.cpu().numpy()[0, 0, 0, 0]
    return since(start)


def mended() -> float:
    model, dataset, start = begun()
    total = 0.0
    for (images,) in DataLoader(dataset, batch_size=64, num_workers=4, pin_memory=True):
        model(images.cuda(non_blocking=True)).mean().backward()
        total += images.numpy()[0, 0, 0, 0]
    return since(start)
