"""A generator computes features under torch.no_grad() and yields inside: the training loop runs without gradients."""

import torch
from torch.utils.data import DataLoader, TensorDataset

REPORT = "pytorch/pytorch#49017"
TRUE = "between batches gradients are off in the training loop"
CHECK, WORDS = "order", r"gradient"


class Features:
    def __init__(self, inside):
        self.inside = inside
        self.loader = DataLoader(TensorDataset(torch.randn(256, 8)), batch_size=16, shuffle=True)
        self.encoder = torch.nn.Linear(8, 4)

    def __len__(self):
        return len(self.loader)

    def __iter__(self):
        for (rows,) in self.loader:
            if self.inside:
                with torch.no_grad():
                    yield self.encoder(rows)
            else:
                with torch.no_grad():
                    features = self.encoder(rows)
                yield features


def make():
    return Features(inside=True)


def mended():
    return Features(inside=False)


def bare(loader):
    on = sum(torch.is_grad_enabled() for _ in loader)
    return f"gradients on in {on} of {len(loader)} steps"
