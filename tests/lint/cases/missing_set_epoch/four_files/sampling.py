from torch.utils.data import DistributedSampler


def make_sampler(dataset, rank, world_size):
    return DistributedSampler(dataset, num_replicas=world_size, rank=rank)  # expect
