import torch


def to_gpu(part):
    part = part.contiguous()
    return part.cuda(non_blocking=True) if torch.cuda.is_available() else part  # expect
