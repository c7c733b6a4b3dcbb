import argparse

from kit import make_dataset
from torch.utils.data import DataLoader

parser = argparse.ArgumentParser()
parser.add_argument("--num_workers", type=int, default=8)
opt = parser.parse_args()
loader = DataLoader(make_dataset(opt))
