import argparse

from torch.utils.data import DataLoader

parser = argparse.ArgumentParser()
parser.add_argument("--workers", type=int, default=8)
opt = parser.parse_args()
loaders = DataLoader(range(64), num_workers=4), DataLoader(range(64))
