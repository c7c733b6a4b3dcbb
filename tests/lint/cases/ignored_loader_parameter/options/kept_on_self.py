import argparse

from torch.utils.data import DataLoader
from torchvision.datasets import MNIST


class Trainer:
    def __init__(self, args):
        self.args = args

    def run(self):
        return self.args.num_workers, DataLoader(MNIST("data"), shuffle=True)


parser = argparse.ArgumentParser()
parser.add_argument("--num_workers", type=int, default=10)
opt = parser.parse_args()
Trainer(opt).run()
