"""The training loop with faults that dl-lint names."""

from __future__ import annotations

import torch
from data import CaptionedImages, make_train_loader
from torch.utils.data import DataLoader, DistributedSampler


def main(rank: int, world_size: int, epochs: int = 2) -> None:
    device = torch.device("cuda")
    model = torch.nn.Linear(3, 1000).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    # Fault: this sampler shuffles by epoch, and nobody tells it the epoch.
    sampler = DistributedSampler(CaptionedImages(), num_replicas=world_size, rank=rank)
    loader = DataLoader(CaptionedImages(), batch_size=32, sampler=sampler, num_workers=2, persistent_workers=True)
    for _epoch in range(epochs):
        for images, labels, _captions in loader:
            # Fault: pinning here blocks the loop that it was meant to speed up.
            colour = images.pin_memory().to(device, non_blocking=True).float().mean(dim=(2, 3))
            loss = torch.nn.functional.cross_entropy(model(colour / 255), labels.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def look_at_samples(count: int = 10) -> None:
    loader = make_train_loader()
    for _ in range(count):
        # Fault: every pass starts the workers anew to fetch one batch.
        images, labels, captions = next(iter(loader))
        print(images.shape, labels[0], captions[0])


def evaluation_loader() -> DataLoader[tuple[torch.Tensor, int, str]]:
    # Fault: no workers, so there is nothing to persist or to prefetch; torch raises a ValueError here.
    return DataLoader(CaptionedImages(), batch_size=32, persistent_workers=True, prefetch_factor=4)


if __name__ == "__main__":
    main(rank=0, world_size=1)
