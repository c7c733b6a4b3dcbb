import argparse

from torch.utils.data import DataLoader

parser = argparse.ArgumentParser()
parser.add_argument("--cpu", action="store_true")
parser.add_argument("--worker_name", default="one")
opt = parser.parse_args()
loader = DataLoader(range(64))
