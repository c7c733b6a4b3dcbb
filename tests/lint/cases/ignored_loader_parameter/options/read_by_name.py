import argparse

from torch.utils.data import DataLoader

parser = argparse.ArgumentParser()
parser.add_argument("--num_workers", type=int, default=8)
parser.add_argument("--n_cpu", type=int, default=8)
args = parser.parse_args()
threads = getattr(args, "num_workers", 0)
settings = args.__dict__
loader = DataLoader(range(threads))
