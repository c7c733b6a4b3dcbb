"""A classifier of ten classes, trained for three epochs on 5,000 records that are stored by class."""

from __future__ import annotations

import torch
from torch.utils.data import DataLoader, TensorDataset

CHECK = "order"
EFFECT = "is wrong for {figure} more of 100 new records: for {faulty}, not {mended}"
COMPARE = "difference"
CLASSES, EACH = 10, 500


def records(seed: int) -> TensorDataset:
    """Points around ten centres, sorted by class."""
    centres = torch.randn(CLASSES, 16, generator=torch.Generator().manual_seed(0))
    labels = torch.arange(CLASSES).repeat_interleave(EACH)
    noise = torch.randn(len(labels), 16, generator=torch.Generator().manual_seed(seed))
    return TensorDataset(centres[labels] + noise, labels)


def errors(train_loader: DataLoader[tuple[torch.Tensor, ...]]) -> float:
    """Percent on other points, after three epochs."""
    torch.seed()  # each round has weights and an order of its own
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, CLASSES))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        for points, labels in train_loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(points), labels).backward()
            optimizer.step()
    points, labels = records(2).tensors
    return 100 * float((model(points).argmax(1) != labels).float().mean())


def faulty() -> float:
    train_loader = DataLoader(records(1), batch_size=32)
    return errors(train_loader)


def mended() -> float:
    train_loader = DataLoader(records(1), batch_size=32, shuffle=True)
    return errors(train_loader)
