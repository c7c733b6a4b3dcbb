"""Trainers of libraries: some set the epoch of the sampler, some do not."""

import ignite.engine
import lightning.pytorch as pl
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from trainer import TrainerModel


def sharded(dataset, shuffle=True):
    return DataLoader(dataset, sampler=DistributedSampler(dataset, shuffle=shuffle))


def fitted_by_lightning(model, dataset):
    pl.Trainer(max_epochs=9).fit(model, sharded(dataset))


def run_by_ignite(model, optimizer, dataset, dev_set):
    def step(engine, batch):
        optimizer.zero_grad()
        model(batch).backward()
        optimizer.step()

    def score(engine, batch):
        return model(batch)

    loader = DataLoader(dataset, sampler=DistributedSampler(dataset))  # expect
    ignite.engine.Engine(step).run(loader, max_epochs=9)
    once = DataLoader(dataset, sampler=DistributedSampler(dataset))
    ignite.engine.Engine(step).run(once)
    in_order = DataLoader(dataset, sampler=DistributedSampler(dataset, shuffle=False))
    ignite.engine.Engine(step).run(in_order, max_epochs=9)
    scored = DataLoader(dev_set, sampler=DistributedSampler(dev_set))
    ignite.engine.Engine(score).run(scored, max_epochs=9)


class Voice(TrainerModel):
    def get_sampler(self, dataset, gpus):
        return DistributedSampler(dataset) if gpus > 1 else None  # expect

    def get_data_loader(self, config, assets, is_eval, samples, verbose, num_gpus, rank=None):
        if is_eval and not config.run_eval:
            return None
        sampler = self.get_sampler(samples, num_gpus)
        return DataLoader(samples, sampler=sampler, shuffle=sampler is None, num_workers=config.workers)
