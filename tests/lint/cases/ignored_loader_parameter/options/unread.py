import argparse

from torch.utils.data import DataLoader
from torchvision.datasets import MNIST

parser = argparse.ArgumentParser()
parser.add_argument("--batch_size", type=int, default=64, help="samples of a batch")
parser.add_argument("--n_cpu", type=int, default=8, help="processes that load data")  # expect
opt = parser.parse_args()
print(opt)

loader = DataLoader(MNIST("data"), batch_size=opt.batch_size, shuffle=True)
