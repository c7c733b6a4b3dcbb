"""Whether loaders that iterate in their own way keep their batches: what is said of such as do, and such as do not.

``python benchmarks/memory_keeping.py --runs 10``; with ``--libraries`` those of MONAI and timm too, where installed.
"""

from __future__ import annotations

import argparse
import queue
import statistics
import threading
import time
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import DataLoader, Dataset

from pytest_dataloader.probe.loader.batch_retention import KEPT_BYTES, kept_bytes_per_batch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Pictures(Dataset[Any]):
    """Random ones, of 12 bytes a pixel."""

    def __init__(self, side: int, length: int = 400) -> None:
        self.side, self.length = side, length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, at: int) -> Any:
        return {"picture": torch.rand(3, self.side, self.side), "label": at, "name": f"picture {at}"}


class Ahead(DataLoader[Any]):
    """A thread takes batches ahead."""

    def __iter__(self) -> Any:
        made: queue.Queue[Any] = queue.Queue(2)
        batches = super().__iter__()

        def work() -> None:
            for batch in batches:
                made.put(batch)
            made.put(None)

        threading.Thread(target=work, daemon=True).start()
        while (batch := made.get()) is not None:
            yield batch


class Counting(DataLoader[Any]):
    """Keeps a number of each batch, as integers."""

    def __iter__(self) -> Any:
        for number, batch in enumerate(super().__iter__()):
            self.last = number, time.time()
            yield batch


class Renamed(DataLoader[Any]):
    """Gives batches other keys."""

    def __iter__(self) -> Any:
        for batch in super().__iter__():
            yield {f"input/{key}": value for key, value in batch.items()}


class History(DataLoader[Any]):
    """Keeps the last 20 batches."""

    def __iter__(self) -> Any:
        self.recent: list[Any] = getattr(self, "recent", [])
        for batch in super().__iter__():
            self.recent = [*self.recent[-19:], batch]
            yield batch


def keeping(part: Callable[[Any], Any]) -> type[DataLoader[Any]]:
    """Keeps a part of each batch."""

    class Keeping(DataLoader[Any]):
        def __iter__(self) -> Any:
            self.kept: list[Any] = getattr(self, "kept", [])
            for batch in super().__iter__():
                self.kept.append(part(batch))
                yield batch

    return Keeping


def _loaders(side: int) -> Iterator[tuple[str, bool, DataLoader[Any]]]:
    kinds: dict[str, tuple[bool, type[DataLoader[Any]]]] = {
        "ahead": (False, Ahead),
        "counting": (False, Counting),
        "renamed": (False, Renamed),
        "history": (False, History),
        "keeps batches": (True, keeping(lambda batch: batch)),
        "keeps labels": (True, keeping(lambda batch: batch["label"])),
        "keeps names": (True, keeping(lambda batch: batch["name"])),
        "keeps means": (True, keeping(lambda batch: batch["picture"].mean())),
    }
    for name, (faulty, kind) in kinds.items():
        yield f"{name}, {side} px", faulty, kind(Pictures(side), batch_size=8, shuffle=True)


def _of_libraries() -> Iterator[tuple[str, bool, DataLoader[Any]]]:
    from monai.data import Dataset as Items
    from monai.data import ThreadDataLoader
    from monai.transforms import Compose, RandFlipd, ScaleIntensityd

    volumes = [{"image": torch.rand(1, 30, 30, 30)} for _ in range(200)]
    flips = Compose([ScaleIntensityd("image"), RandFlipd("image", prob=0.5)])
    yield "MONAI", False, ThreadDataLoader(Items(volumes, flips), batch_size=4, num_workers=0, shuffle=True)
    yield "MONAI, pictures", False, ThreadDataLoader(Pictures(100), batch_size=4, num_workers=0)
    try:
        from timm.data.loader import MultiEpochsDataLoader
    except (ImportError, RuntimeError):  # a torchvision of another torch
        return
    yield "timm", False, MultiEpochsDataLoader(Pictures(160), batch_size=20)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--libraries", action="store_true")
    asked = parser.parse_args()
    wrong = total = 0
    loaders = [each for side in (8, 64, 160) for each in _loaders(side)]
    for name, faulty, loader in [*loaders, *(_of_libraries() if asked.libraries else ())]:
        seconds, kept = [], []
        for _ in range(asked.runs):
            began = time.monotonic()
            kept.append(kept_bytes_per_batch(loader) or 0.0)
            seconds.append(time.monotonic() - began)
        bad = sum((each >= KEPT_BYTES) != faulty for each in kept)
        wrong, total = wrong + bad, total + len(kept)
        spread = f"{min(kept):,.0f} to {max(kept):,.0f} bytes a batch"
        print(
            f"{name:24} {'keeps' if faulty else 'clean'}  wrong {bad}  {spread:36} {statistics.median(seconds):.2f} s"
        )
    print(f"{wrong} of {total} wrong")


if __name__ == "__main__":
    main()
