import torch
from torch.utils.data import DataLoader


def start(worker):
    info = torch.utils.data.get_worker_info()
    info.dataset.masks.rng.seed(info.seed % 2**32)


def make_loader(dataset):
    return DataLoader(dataset, batch_size=4, num_workers=4, worker_init_fn=start)
