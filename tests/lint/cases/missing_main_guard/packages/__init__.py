"""The checkout itself as a package, which nothing in it imports."""

from torch.utils.data import DataLoader

from .kit import LOADER

images = next(iter(DataLoader(LOADER.dataset, num_workers=2)))  # expect
