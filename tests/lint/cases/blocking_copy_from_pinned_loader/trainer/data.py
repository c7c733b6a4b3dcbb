import torch
from torch.utils.data import DataLoader


def build_loaders(train_set, val_set, workers):
    use_cuda = torch.cuda.is_available()
    train = DataLoader(train_set, batch_size=32, shuffle=True, num_workers=workers, pin_memory=use_cuda)
    val = DataLoader(val_set, batch_size=32, num_workers=workers)
    return train, val
