"""Fabric has no hooks: the script asks for the loader and goes over it in an iterator of its own."""

import lightning as L


class Cycle:
    def __init__(self, iterable):
        self.iterable, self.inner = iterable, None

    def __next__(self):
        if self.inner is None:
            self.inner = iter(self.iterable)
        try:
            return next(self.inner)
        except StopIteration:
            self.inner = iter(self.iterable)
            return next(self.inner)


def finetune(data: L.LightningDataModule, model, optimizer, steps):
    fabric = L.Fabric()
    loader = fabric.setup_dataloaders(data.train_dataloader())
    batches = Cycle(loader)
    for _ in range(steps):
        fabric.backward(model(next(batches)))
        optimizer.step()
