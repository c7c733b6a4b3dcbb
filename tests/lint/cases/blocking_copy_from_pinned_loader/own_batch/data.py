from __future__ import annotations
from dataclasses import dataclass

import torch
from torch.utils.data import DataLoader


@dataclass
class Batch:
    obs: torch.Tensor
    act: torch.Tensor
    info: list

    def pin_memory(self) -> Batch:
        return Batch(**{k: v if k == "info" else v.pin_memory() for k, v in self.__dict__.items()})

    def to(self, device: torch.device) -> Batch:
        return Batch(**{k: v if k == "info" else v.to(device) for k, v in self.__dict__.items()})


def collate(samples):
    return Batch(torch.stack([s[0] for s in samples]), torch.stack([s[1] for s in samples]), [s[2] for s in samples])


def train(model, dataset, opt):
    loader = DataLoader(
        dataset, batch_size=32, collate_fn=collate, num_workers=8, pin_memory=True, persistent_workers=True
    )
    for batch in loader:
        batch = batch.to(torch.device("cuda"))  # expect
        loss = model(batch.obs, batch.act)
        loss.backward()
        opt.step()
