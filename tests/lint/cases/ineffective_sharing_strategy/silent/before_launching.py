import torch.multiprocessing as mp


def launch(function, world_size):
    mp.set_sharing_strategy("file_system")
    mp.spawn(function, nprocs=world_size)
