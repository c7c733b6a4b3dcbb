"""A module that others import: never run as a script."""

from torch.utils.data import DataLoader

WARM = DataLoader(range(10), num_workers=2)
for sample in WARM:
    print("warm", sample)


def make_loader(workers=2):
    return DataLoader(range(10), num_workers=workers)
