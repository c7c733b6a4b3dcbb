"""100 batches of 38 MB, copied to the device by the thread that made them."""

from __future__ import annotations

import time

import torch

NEEDS = ("cuda",)
CHECK = ""
EFFECT = "takes {figure} times as long to bring a batch to the device: {faulty} ms, not {mended} ms"
COMPARE = "ratio"
BATCHES = 100


def begun() -> tuple[list[torch.Tensor], torch.nn.Module, float]:
    """Pageable batches, a model that costs next to nothing, and the time."""
    batches = [torch.randn(64, 3, 224, 224) for _ in range(4)] * (BATCHES // 4)
    model = torch.nn.Flatten().cuda()
    model(batches[0].cuda())
    torch.cuda.synchronize()
    return batches, model, time.perf_counter()


def since(start: float) -> float:
    """Milliseconds of a batch, once the device is done."""
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / BATCHES * 1e3


def faulty() -> float:
    batches, model, start = begun()
    for images in batches:
        images = images.pin_memory().to("cuda", non_blocking=True)
        model(images)
    return since(start)


def mended() -> float:
    batches, model, start = begun()
    for images in batches:
        images = images.to("cuda", non_blocking=True)
        model(images)
    return since(start)
