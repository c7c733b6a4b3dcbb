"""Does pinning a batch on the thread that copies it cost more than it brings? Milliseconds of a batch, each way.

    python benchmarks/pinning.py [--batches 60]

Hypothesis: ``x.pin_memory()`` on the training thread is slower than handing the pageable batch to the driver, which
stages it through its own pinned buffer, and both are slower than batches that the loader's thread has pinned. For each
size, number of CPU threads and way: the time of the host until the copy is enqueued, and of all once the device is
done; alone, and before a step of the device that takes about as long as the copy. Needs a CUDA device.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import TYPE_CHECKING

import torch
from torch.utils.data import DataLoader, Dataset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SIZES = {"0.6 MB": 1, "7 MB": 12, "38 MB": 64}
"""Images of 3 x 224 x 224 in a batch."""
REPEATS = 3


class Images(Dataset[torch.Tensor]):
    """Batches as they come from a loader: fresh memory each."""

    def __init__(self, batches: int, size: int) -> None:
        self.batches = batches
        self.image = torch.randn(size, 3, 224, 224)

    def __len__(self) -> int:
        return self.batches

    def __getitem__(self, index: int) -> torch.Tensor:
        return self.image.clone()


def pageable(images: torch.Tensor) -> torch.Tensor:
    return images.to("cuda", non_blocking=True)


def by_hand(images: torch.Tensor) -> torch.Tensor:
    return images.pin_memory().to("cuda", non_blocking=True)


def by_hand_blocking(images: torch.Tensor) -> torch.Tensor:
    return images.pin_memory().to("cuda")


WAYS: dict[str, tuple[Callable[[torch.Tensor], torch.Tensor], bool]] = {
    "pageable": (pageable, False),
    "pinned by hand": (by_hand, False),
    "by hand, blocking": (by_hand_blocking, False),
    "pinned by the loader": (pageable, True),
}


def run(loader: Iterable[torch.Tensor], copy: Callable[[torch.Tensor], torch.Tensor], steps: int) -> tuple[float, ...]:
    """Of a batch, in milliseconds: copying as the host sees it, and all, in the second epoch."""
    factor = torch.randn(2048, 2048, device="cuda")
    host, begun, count = 0.0, 0.0, 0
    for _ in range(2):
        torch.cuda.synchronize()
        host, begun, count = 0.0, time.perf_counter(), 0
        for images in loader:
            before = time.perf_counter()
            copy(images)
            host += time.perf_counter() - before
            for _ in range(steps):
                factor @ factor
            count += 1
    torch.cuda.synchronize()
    return host / count * 1e3, (time.perf_counter() - begun) / count * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--batches", type=int, default=60)
    batches = parser.parse_args().batches
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    all_threads = torch.get_num_threads()
    print("size     workers  threads  step   way                    host ms  all ms  (least to most)")
    for name, size in SIZES.items():
        for workers, threads in ((0, 1), (0, all_threads), (4, 1)):
            torch.set_num_threads(threads)
            for steps in (0, 8):
                for way, (copy, pinned) in WAYS.items():
                    loader = DataLoader(Images(batches, size), batch_size=None, num_workers=workers, pin_memory=pinned)
                    found = [run(loader, copy, steps) for _ in range(REPEATS)]
                    host, whole = (statistics.median(each) for each in zip(*found, strict=True))
                    ends = f"({min(each[1] for each in found):.2f} to {max(each[1] for each in found):.2f})"
                    print(
                        f"{name:7} {workers:8} {threads:8}  {steps:4}   {way:20} {host:9.2f} {whole:7.2f}  {ends}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
