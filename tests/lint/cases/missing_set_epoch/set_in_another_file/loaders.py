from data import Photos
from sampling import make_sampler
from torch.utils.data import DataLoader


def make_loader(rank, world_size):
    dataset = Photos()
    return DataLoader(dataset, batch_size=4, sampler=make_sampler(dataset, rank, world_size))
