"""An object of a class without pin_memory() is not pinned."""

from dataclasses import dataclass

import torch
from torch.utils.data import DataLoader


@dataclass
class Batch:
    obs: torch.Tensor
    act: torch.Tensor

    def to(self, device):
        return Batch(self.obs.to(device), self.act.to(device))


def collate(samples):
    return Batch(torch.stack([s[0] for s in samples]), torch.stack([s[1] for s in samples]))


def train(model, dataset, opt):
    loader = DataLoader(
        dataset, batch_size=32, collate_fn=collate, num_workers=8, pin_memory=True, persistent_workers=True
    )
    for batch in loader:
        batch = batch.to("cuda")
        loss = model(batch.obs, batch.act)
        loss.backward()
        opt.step()
