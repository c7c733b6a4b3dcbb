"""A package that another file imports."""

from torch.utils.data import DataLoader

LOADER = DataLoader(range(10), num_workers=2)
for sample in LOADER:
    print("warm", sample)
