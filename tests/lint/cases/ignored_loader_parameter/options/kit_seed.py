import torch


def start(args):
    torch.manual_seed(args.batch_size)


def threads(args):
    torch.set_num_threads(args.num_workers)
