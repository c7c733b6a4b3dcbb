from torch.utils.data import DataLoader, RandomSampler
from torch.utils.data.distributed import DistributedSampler


def load(dataset, world_size, rank):
    if world_size > 1:
        sampler = DistributedSampler(dataset, world_size, rank)  # expect
    else:
        sampler = RandomSampler(dataset)
    loader = DataLoader(dataset, sampler=sampler, num_workers=4)
    return loader, None
